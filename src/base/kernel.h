// What a kernel is: a name, a test whether this CPU has it, a planning step and the run.
// Kernels are listed best first in ops/<op>_impls.cc, "ref" last.
#ifndef PORTACL_BASE_KERNEL_H_
#define PORTACL_BASE_KERNEL_H_

#include <cstdint>
#include <memory>

namespace portacl::base {

// What a kernel decided for one set of parameters, once, in the plan. The run only reads it.
struct KernelPlan {
  const char* path = "";        // static string shown to users behind the kernel's name, e.g. "x2"
  int32_t path_id = 0;          // the kernel's own choice of code path
  uint64_t workspace_size = 0;  // bytes, start aligned to 64; independent of grid values
  std::shared_ptr<const void> table;  // the kernel's own: what it found out, made in the plan
};

template <class Params>
struct Kernel {
  const char* name;     // what PORTACL_IMPL and `portacl info` call it: "avx512", "avx2", "ref"
  bool (*available)();  // this CPU can run it
  // Fills `plan`; false where this kernel does not serve the parameters (the next in the list is
  // asked). Sees shapes, strides and dtypes; never dereferences the tensors' addresses.
  bool (*plan)(const Params& params, KernelPlan* plan);
  // Computes; allocates nothing, throws nothing, reads nothing outside the views, writes nothing
  // outside the output views and the workspace. May run many times with different addresses.
  void (*run)(const Params& params, const KernelPlan& plan, void* workspace);
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_KERNEL_H_
