// Loops over whole tensors, in double.
#include "tools/tensor/tensor_math.h"

#include <algorithm>
#include <cmath>

namespace portacl::cli {

HostTensor Constant(DataType dtype, const Shape& shape, double value) {
  HostTensor tensor(dtype, shape, "constant");
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Set(i, value);
  return tensor;
}

HostTensor Copy(const HostTensor& a) { return a.ConvertedTo(a.dtype(), "copy"); }

HostTensor Difference(const HostTensor& a, const HostTensor& b) {
  HostTensor result(a.dtype(), a.shape(), "difference");
  for (int64_t i = 0; i < a.count(); ++i) result.Set(i, a.Get(i) - b.Get(i));
  return result;
}

double Dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) sum += a.Get(i) * b.Get(i);
  return sum;
}

HostTensor AbsoluteDifference(const HostTensor& a, const HostTensor& b) {
  HostTensor result(DataType::kFloat32, a.shape(), "difference");
  for (int64_t i = 0; i < a.count(); ++i) result.Set(i, std::fabs(a.Get(i) - b.Get(i)));
  return result;
}

double LargestMagnitude(const HostTensor& a) {
  double largest = 0;
  for (int64_t i = 0; i < a.count(); ++i) largest = std::max(largest, std::fabs(a.Get(i)));
  return largest;
}

void DescendWeighted(HostTensor& guess, const HostTensor& gradient, const HostTensor& weight) {
  constexpr double kLeastWeight = 1e-3;
  for (int64_t i = 0; i < guess.count(); ++i) {
    const double w = weight.Get(i);
    if (w > kLeastWeight) guess.Set(i, guess.Get(i) - gradient.Get(i) / w);
  }
}

}  // namespace portacl::cli
