// Adds output by output, in row-major order: every destination so gets its sources in that order.
#include "support/api/nearest_oracle.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace portacl_test {
namespace {

std::vector<int64_t> SourcesOf(int64_t in, int64_t out, double scale) {
  std::vector<int64_t> sources(static_cast<size_t>(out));
  for (int64_t o = 0; o < out; ++o) {
    sources[static_cast<size_t>(o)] = NearestSource(o, in, out, scale);
  }
  return sources;
}

// Calls visit(small, large) with the row-major indices of every pair of elements that belong
// together, `large` ascending.
template <class Visit>
void ForEachPair(const Shape& small, const Shape& large, const std::vector<double>& scales,
                 Visit visit) {
  // The axes that there are, and before them axes of one element.
  const size_t missing = 5 - small.size();
  std::array<std::vector<int64_t>, 3> sources = {{{0}, {0}, {0}}};
  std::array<int64_t, 3> extent = {1, 1, 1};
  for (size_t axis = missing; axis < 3; ++axis) {
    const size_t at = axis + 2 - missing;
    extent[axis] = small[at];
    sources[axis] = SourcesOf(small[at], large[at], scales.empty() ? 0.0 : scales[axis - missing]);
  }
  int64_t to = 0;
  for (int64_t channel = 0; channel < large[0] * large[1]; ++channel) {
    for (const int64_t plane : sources[0]) {
      for (const int64_t row : sources[1]) {
        for (const int64_t column : sources[2]) {
          visit(((channel * extent[0] + plane) * extent[1] + row) * extent[2] + column, to++);
        }
      }
    }
  }
}

template <class Sum>
Tensor Accumulate(const Tensor& grad_output, const Shape& shape,
                  const std::vector<double>& scales) {
  std::vector<Sum> sums(static_cast<size_t>(ProductOf(shape)), Sum{0});
  ForEachPair(shape, grad_output.shape(), scales, [&](int64_t small, int64_t large) {
    sums[static_cast<size_t>(small)] += static_cast<Sum>(grad_output.Get(large));
  });
  return Tensor(grad_output.element(), shape).Fill([&](int64_t i) {
    return static_cast<double>(sums[static_cast<size_t>(i)]);
  });
}

}  // namespace

int64_t NearestSource(int64_t o, int64_t in, int64_t out, double scale) {
  double product = 0;
  if (in > (int64_t{1} << 24)) {
    const double ratio =
        scale > 0 ? 1.0 / scale : static_cast<double>(in) / static_cast<double>(out);
    product = (static_cast<double>(o) + 0.5) * ratio;
  } else {
    const float ratio = scale > 0 ? static_cast<float>(1.0 / scale)
                                  : static_cast<float>(in) / static_cast<float>(out);
    product = static_cast<float>((static_cast<double>(o) + 0.5) * static_cast<double>(ratio));
  }
  return static_cast<int64_t>(std::min(std::floor(product), static_cast<double>(in - 1)));
}

Tensor NearestBackward(const Tensor& grad_output, const Shape& grad_input_shape,
                       const std::vector<double>& scales) {
  return grad_output.element() == Element::kDouble
             ? Accumulate<double>(grad_output, grad_input_shape, scales)
             : Accumulate<float>(grad_output, grad_input_shape, scales);
}

Tensor NearestForward(const Tensor& input, const Shape& output_shape,
                      const std::vector<double>& scales) {
  Tensor output(input.element(), output_shape);
  ForEachPair(input.shape(), output_shape, scales,
              [&](int64_t small, int64_t large) { output.Set(large, input.Get(small)); });
  return output;
}

}  // namespace portacl_test
