// The functions on blocks. The compiler vectorises them, for AVX2 if the CPU has it. The bits are
// equal with and without AVX2.
#include "companion/functions.h"

#include <cmath>
#include <type_traits>

namespace portacl::companion {
namespace {

#define PORTACL_INLINE [[gnu::always_inline]] inline

// Integers wrap on overflow.
template <class C>
PORTACL_INLINE C Product(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <class C>
PORTACL_INLINE C Difference(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}

// Each struct has Do(a, b, c, factor), which computes one element.
struct AddScaled {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C factor) {
    if constexpr (std::is_integral_v<C>) {
      return Difference(a, Product(b, Difference(C{0}, factor)));
    } else {
      return std::fma(factor, b, a);
    }
  }
};
struct Multiply {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return Product(a, b);
  }
};
struct Divide {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return a / b;
  }
};
struct Negate {
  template <class C>
  PORTACL_INLINE static C Do(C a, C, C, C) {
    if constexpr (std::is_integral_v<C>) {
      return Difference(C{0}, a);
    } else {
      return -a;
    }
  }
};
struct Magnitude {
  template <class C>
  PORTACL_INLINE static C Do(C a, C, C, C) {
    if constexpr (std::is_integral_v<C>) {
      return a < 0 ? Difference(C{0}, a) : a;
    } else {
      return std::fabs(a);
    }
  }
};
struct RoundUp {
  template <class C>
  PORTACL_INLINE static C Do(C a, C, C, C) {
    return std::ceil(a);
  }
};
struct Finite {
  template <class C>
  PORTACL_INLINE static C Do(C a, C, C, C) {
    if constexpr (std::is_integral_v<C>) {
      return 1;
    } else {
      return std::isfinite(a) ? C{1} : C{0};
    }
  }
};
struct NotEqual {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return a != b ? C{1} : C{0};
  }
};
struct Greater {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return a > b ? C{1} : C{0};
  }
};
struct Less {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return a < b ? C{1} : C{0};
  }
};
struct BitwiseAnd {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return a & b;
  }
};
struct Copy {
  template <class C>
  PORTACL_INLINE static C Do(C a, C, C, C) {
    return a;
  }
};
struct SquaredDifference {
  template <class C>
  PORTACL_INLINE static C Do(C a, C b, C, C) {
    return (a - b) * (a - b);
  }
};
struct LossGradient {
  template <class C>
  PORTACL_INLINE static C Do(C gradient, C self, C target, C factor) {
    return factor * (self - target) * gradient;
  }
};

#undef PORTACL_INLINE

// Pointers to inputs that the function does not read may be null.
template <class F, class C>
[[gnu::always_inline]] inline void Apply(const Block& block) {
  const auto* const __restrict a = static_cast<const C*>(block.in[0]);
  const auto* const __restrict b = static_cast<const C*>(block.in[1] ? block.in[1] : a);
  const auto* const __restrict c = static_cast<const C*>(block.in[2] ? block.in[2] : a);
  auto* const __restrict out = static_cast<C*>(block.out);
  const C factor = *static_cast<const C*>(block.factor);
  const int64_t count = block.count;
  for (int64_t i = 0; i < count; ++i) out[i] = F::Do(a[i], b[i], c[i], factor);
}

template <class F, class C>
void Portable(const Block& block) {
  Apply<F, C>(block);
}

#if defined(__x86_64__)
template <class F, class C>
[[gnu::target("avx2,fma")]] void Avx2(const Block& block) {
  Apply<F, C>(block);
}

bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

template <class F, class C>
BlockFunction Pick() {
#if defined(__x86_64__)
  if (HasAvx2()) return &Avx2<F, C>;
#endif
  return &Portable<F, C>;
}

template <class F>
BlockFunction OfNumbers(Compute compute) {
  switch (compute) {
    case Compute::kFloat:
      return Pick<F, float>();
    case Compute::kDouble:
      return Pick<F, double>();
    case Compute::kInteger:
      return Pick<F, int64_t>();
    case Compute::kUnsigned:
      break;
  }
  return nullptr;
}

template <class F>
BlockFunction OfFloating(Compute compute) {
  if (compute == Compute::kFloat) return Pick<F, float>();
  return compute == Compute::kDouble ? Pick<F, double>() : nullptr;
}

}  // namespace

BlockFunction BlockFunctionOf(Function function, Compute compute) {
  switch (function) {
    case Function::kAdd:
    case Function::kSub:
      return OfNumbers<AddScaled>(compute);
    case Function::kMul:
      return OfNumbers<Multiply>(compute);
    case Function::kDiv:
      return OfFloating<Divide>(compute);
    case Function::kNeg:
      return OfNumbers<Negate>(compute);
    case Function::kAbs:
      return OfNumbers<Magnitude>(compute);
    case Function::kCeil:
      return compute == Compute::kInteger ? Pick<Copy, int64_t>() : OfFloating<RoundUp>(compute);
    case Function::kIsFinite:
      return OfNumbers<Finite>(compute);
    case Function::kNe:
      return OfNumbers<NotEqual>(compute);
    case Function::kGt:
      return OfNumbers<Greater>(compute);
    case Function::kLt:
      return OfNumbers<Less>(compute);
    case Function::kAnd:
      return compute == Compute::kInteger ? Pick<BitwiseAnd, int64_t>() : nullptr;
    case Function::kCopy:
      return OfNumbers<Copy>(compute == Compute::kUnsigned ? Compute::kInteger : compute);
    case Function::kMseLoss:
      return OfFloating<SquaredDifference>(compute);
    case Function::kMseLossBackward:
      return OfFloating<LossGradient>(compute);
    case Function::kSum:
    case Function::kMean:
    case Function::kMax:
    case Function::kMin:
    case Function::kMaskedSelect:
    case Function::kCat:
    case Function::kStack:
      break;
  }
  return nullptr;
}

}  // namespace portacl::companion
