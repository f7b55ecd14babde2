// Highway, restricted to the instruction sets that portacl has kernels for, and the macro that
// lists one kernel per instruction set. A source that is compiled once per instruction set starts
// with
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "cpu/<room>/<op>.cc"  // the file itself, from src/
//   #include "cpu/vector/highway.h"                // must come before any <hwy/...>
//   #include "cpu/vector/simd-inl.h"
//
// and puts its per-target code between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), inside
// `#if PORTACL_HWY_TARGET` and an anonymous namespace inside HWY_NAMESPACE. So functions of two
// operators may have the same names. Its last line is PORTACL_KERNELS.
#ifndef PORTACL_CPU_HIGHWAY_H_
#define PORTACL_CPU_HIGHWAY_H_

// x86: AVX2 and AVX3 (= AVX-512 F, VL, DQ, BW). Arm: NEON, and one vector-length-agnostic SVE.
// PORTACL_NARROW_ONLY: AVX2 and NEON only, for checks that do not depend on the width.
#ifdef PORTACL_NARROW_ONLY
#define PORTACL_WIDE_TARGETS (HWY_AVX3 | HWY_SVE)
#else
#define PORTACL_WIDE_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                    \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   PORTACL_WIDE_TARGETS)

#include <hwy/detect_targets.h>

// True while the compiler compiles for one of portacl's targets. Highway also compiles its static
// target, on x86 without -march scalar code: that is left out, and src/ref serves such machines.
#define PORTACL_HWY_TARGET                                                       \
  (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON || \
   HWY_TARGET == HWY_SVE)

#define PORTACL_KERNEL(name, target, space, Plan, Run)             \
  ::portacl::base::KernelOf<&space::Plan, &space::Run>::Make(name, \
                                                             ::portacl::cpu::HasTarget<target>),

#if HWY_TARGETS & HWY_AVX3
#define PORTACL_KERNEL_AVX3(Plan, Run) PORTACL_KERNEL("avx512", HWY_AVX3, N_AVX3, Plan, Run)
#else
#define PORTACL_KERNEL_AVX3(Plan, Run)
#endif
#if HWY_TARGETS & HWY_AVX2
#define PORTACL_KERNEL_AVX2(Plan, Run) PORTACL_KERNEL("avx2", HWY_AVX2, N_AVX2, Plan, Run)
#else
#define PORTACL_KERNEL_AVX2(Plan, Run)
#endif
#if HWY_TARGETS & HWY_SVE
#define PORTACL_KERNEL_SVE(Plan, Run) PORTACL_KERNEL("sve", HWY_SVE, N_SVE, Plan, Run)
#else
#define PORTACL_KERNEL_SVE(Plan, Run)
#endif
#if HWY_TARGETS & HWY_NEON
#define PORTACL_KERNEL_NEON(Plan, Run) PORTACL_KERNEL("neon", HWY_NEON, N_NEON, Plan, Run)
#else
#define PORTACL_KERNEL_NEON(Plan, Run)
#endif

// Behind the parameters of a lambda that must become part of the function around it.
#define PORTACL_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

// Files that take long are compiled twice, each time for two of the four element types
// (PORTACL_SPLIT_BY_ELEMENT in cmake/library.cmake). If such a file holds a path, it ends with
//
//   // Not in an anonymous namespace.
//   template <class T> void RunElements(const Params&, const Plan&, void* workspace) { ... }
//   PORTACL_PATH_OF_ELEMENTS(Params, Plan)  // RunPath(), which calls RunElements()
#ifdef PORTACL_ELEMENTS_OF_16_BITS
#define PORTACL_OF_ELEMENTS(Declaration, ...)                                \
  extern template Declaration(float __VA_OPT__(, ) __VA_ARGS__);             \
  extern template Declaration(double __VA_OPT__(, ) __VA_ARGS__);            \
  template Declaration(::portacl::base::Float16 __VA_OPT__(, ) __VA_ARGS__); \
  template Declaration(::portacl::base::BFloat16 __VA_OPT__(, ) __VA_ARGS__);
#define PORTACL_RUN_PATH(Params, Plan)
#else
#define PORTACL_OF_ELEMENTS(Declaration, ...)                                       \
  template Declaration(float __VA_OPT__(, ) __VA_ARGS__);                           \
  template Declaration(double __VA_OPT__(, ) __VA_ARGS__);                          \
  extern template Declaration(::portacl::base::Float16 __VA_OPT__(, ) __VA_ARGS__); \
  extern template Declaration(::portacl::base::BFloat16 __VA_OPT__(, ) __VA_ARGS__);
#define PORTACL_RUN_PATH(Params, Plan)                               \
  void RunPath(const Params& p, const Plan& plan, void* workspace) { \
    base::DispatchFloating(p.shape.dtype, [&](auto tag) {            \
      RunElements<typename decltype(tag)::type>(p, plan, workspace); \
    });                                                              \
  }
#endif
#define PORTACL_RUN_ELEMENTS(T, Params, Plan) void RunElements<T>(const Params&, const Plan&, void*)
#define PORTACL_PATH_OF_ELEMENTS(Params, Plan)            \
  PORTACL_OF_ELEMENTS(PORTACL_RUN_ELEMENTS, Params, Plan) \
  PORTACL_RUN_PATH(Params, Plan)

#include "base/dispatch.h"
#include "cpu/machine/machine.h"

// Includes HWY_TARGET_INCLUDE, and so this file, once for every target but the static one.
#include <hwy/foreach_target.h>

#endif  // PORTACL_CPU_HIGHWAY_H_

// Outside the guard: defines the operations of the target being compiled.
#include <hwy/highway.h>

// Defines the kernels that ops/listed_kernels.h declares for an operator, best target first. `Plan`
// and `Run` are functions in each target's namespace; base::KernelOf says which. Use it outside of
// all namespaces. It expands once; for other targets it is empty.
#undef PORTACL_KERNELS
#if HWY_ONCE
#define PORTACL_KERNELS(Name, Plan, Run)                                   \
  namespace portacl::cpu {                                                 \
  std::span<const base::Kernel<ops::Name##Params>> Name##Kernels() {       \
    static constexpr base::Kernel<ops::Name##Params> kKernels[] = {        \
        PORTACL_KERNEL_AVX3(Plan, Run) PORTACL_KERNEL_AVX2(Plan, Run)      \
            PORTACL_KERNEL_SVE(Plan, Run) PORTACL_KERNEL_NEON(Plan, Run)}; \
    return kKernels;                                                       \
  }                                                                        \
  }
#else
#define PORTACL_KERNELS(...)
#endif
