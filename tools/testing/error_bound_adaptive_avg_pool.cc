// Adaptive average pooling and its gradient: averages of windows, and their transpose.
#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundings = 4;  // of a quotient by the extents of a window, and of the result

// On an axis, element i of `small` averages the elements [begin, end) of `large`. 64-bit integers
// are exact for all extents that a case may have.
struct Window {
  Window(int64_t i, int64_t small, int64_t large)
      : begin(i * large / small), end(((i + 1) * large + small - 1) / small) {}
  int64_t begin, end;
};

// Calls visit(element of the pooled plane, element of the image's plane, elements of the window).
template <class Visit>
void ForTerms(const Shape& pooled, const Shape& image, const Visit& visit) {
  const auto extent = [](const Shape& shape, size_t axis) {
    return axis + shape.size() < 5 ? 1 : shape[axis + shape.size() - 3];
  };
  const int64_t outputs = extent(pooled, 0) * extent(pooled, 1) * extent(pooled, 2);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t w = o % extent(pooled, 2), row = o / extent(pooled, 2);
    const Window of_d(row / extent(pooled, 1), extent(pooled, 0), extent(image, 0));
    const Window of_h(row % extent(pooled, 1), extent(pooled, 1), extent(image, 1));
    const Window of_w(w, extent(pooled, 2), extent(image, 2));
    const int64_t count =
        (of_d.end - of_d.begin) * (of_h.end - of_h.begin) * (of_w.end - of_w.begin);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t width = of_w.end - of_w.begin, height = of_h.end - of_h.begin;
      const int64_t at_d = of_d.begin + i / width / height;
      const int64_t at_h = of_h.begin + i / width % height;
      visit(o, (at_d * extent(image, 1) + at_h) * extent(image, 2) + of_w.begin + i % width, count);
    }
  }
}

int64_t PlaneOf(const Shape& shape) {
  int64_t elements = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) elements *= shape[axis];
  return elements;
}

template <class Float>
Exact ExactAs(const Call& call) {
  using Wide = typename WideOf<Float>::Type;
  const bool backward = call.op->backward();
  const Shape image = (backward ? call.output() : call.input()).shape();
  const Shape pooled = (backward ? call.input() : call.output()).shape();
  const std::vector<double> values = call.input().Values();
  std::vector<Sum<Wide>> sums(static_cast<size_t>(call.output().count()));
  for (int64_t plane = 0; plane < image[0] * image[1]; ++plane) {
    ForTerms(pooled, image, [&](int64_t o, int64_t i, int64_t count) {
      const auto of_image = static_cast<size_t>(plane * PlaneOf(image) + i);
      const auto of_pooled = static_cast<size_t>(plane * PlaneOf(pooled) + o);
      const double value = values[backward ? of_pooled : of_image];
      Sum<Wide>& sum = sums[backward ? of_image : of_pooled];
      sum.value += static_cast<Wide>(value) / static_cast<Wide>(count);
      sum.magnitude += std::fabs(value) / static_cast<double>(count);
      ++sum.terms;
    });
  }
  return Finished<Float>(sums, call.source.dtype, kRoundings);
}

}  // namespace

std::vector<Exact> ExactAdaptiveAvgPool(const Call& call) {
  return {call.source.dtype == DataType::kFloat64 ? ExactAs<double>(call) : ExactAs<float>(call)};
}

}  // namespace portacl::golden
