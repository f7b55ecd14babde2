// Computes one destination at a time in the compute type, rounded once. Sums along the first axis
// of the order, then sums these along the next axis, and so on. Neighbouring destinations compute
// shared sums again, so no scratch memory is needed.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dispatch.h"
#include "ops/listed_kernels.h"
#include "ops/resample_params.h"
#include "ref/for_each_index.h"

namespace portacl::ref {
namespace {

using Params = ops::ResampleParams;
using At = std::array<int64_t, 3>;  // d, h, w

std::array<size_t, 3> OrderOf(const Params& p) {
  return p.backward ? std::array<size_t, 3>{0, 1, 2} : std::array<size_t, 3>{2, 1, 0};
}

template <class T>
class Sums {
  static constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  using F = base::ComputeType<T>;
  using Value = std::conditional_t<kBytes, uint32_t, F>;  // of sums along some of the axes

 public:
  // Reads plane (n, c) of the input.
  Sums(const Params& p, int64_t n, int64_t c)
      : p_(p),
        input_(static_cast<const T*>(p.input) + n * p.input_stride[0] + c * p.input_stride[1]),
        axes_{&p.d, &p.h, &p.w},
        order_(OrderOf(p)) {}

  // Returns element `at` of the result.
  T operator()(const At& at) const {
    if constexpr (kBytes) return static_cast<T>(Along(3, at));
    if constexpr (!kBytes) return base::Narrow<T>(Along(3, at));
  }

 private:
  // Sums along the first `count` axes of the order. `at` holds a destination on these axes and a
  // source on the other axes.
  Value Along(size_t count, At at) const {
    if (count == 0) return Element(at);
    const size_t axis = order_[count - 1];
    const ops::ResampleAxis& table = *axes_[axis];
    if (table.identity) return Along(count - 1, at);
    const int64_t first = table.start[at[axis]];
    const int64_t last = table.start[at[axis] + 1];
    if (first == last) return 0;
    if constexpr (kBytes) {
      const auto* const weight = static_cast<const int32_t*>(table.weight);
      Value sum = Value{1} << (table.shift - 1);
      for (int64_t k = first; k < last; ++k) {
        at[axis] = table.source[k];
        sum += static_cast<Value>(ops::FixedWeight(weight, k)) * Along(count - 1, at);
      }
      return static_cast<Value>(std::clamp(static_cast<int32_t>(sum) >> table.shift, 0, 255));
    } else {
      Value sum = p_.backward ? F{0} : -F{0};  // -0 + product keeps the sign of a product that is 0
      for (int64_t k = first; k < last; ++k) {
        at[axis] = table.source[k];
        sum = std::fma(static_cast<const F*>(table.weight)[k], Along(count - 1, at), sum);
      }
      return sum;
    }
  }

  Value Element(const At& at) const {
    const auto& s = p_.input_stride;
    const T element = input_[at[0] * s[2] + at[1] * s[3] + at[2] * s[4]];
    if constexpr (kBytes) return element;
    if constexpr (!kBytes) return base::Widen(element);
  }

  const Params& p_;
  const T* input_;
  std::array<const ops::ResampleAxis*, 3> axes_;
  std::array<size_t, 3> order_;  // axes, in the order of summation
};

template <class T>
void Run(const Params& p) {
  const auto& stride = p.output_stride;
  const int64_t grain = 1 + 1024 / p.w.to;
  ForEachIndex(p.n * p.c * p.d.to * p.h.to, grain, [&](int64_t row) {
    const int64_t h = row % p.h.to;
    const int64_t d = row / p.h.to % p.d.to;
    const int64_t plane = row / p.h.to / p.d.to;
    const int64_t n = plane / p.c;
    const int64_t c = plane % p.c;
    const Sums<T> sums(p, n, c);
    T* const out =
        static_cast<T*>(p.output) + n * stride[0] + c * stride[1] + d * stride[2] + h * stride[3];
    for (int64_t w = 0; w < p.w.to; ++w) out[w * stride[4]] = sums({d, h, w});
  });
}

void RunAnyType(const Params& p) {
  if (p.dtype == base::DType::kUInt8) return Run<uint8_t>(p);
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

}  // namespace

const base::Kernel<Params> kResample = base::ReferenceOf<Params, RunAnyType>::Make();

}  // namespace portacl::ref
