// Layouts and guard bytes.
#include "support/api/tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace portacl_test {
namespace {

// A pattern that is a finite, recognisable number in every type.
LineBytes GuardBytes(size_t size) {
  constexpr size_t kPeriod = 7;
  LineBytes bytes(size);
  for (size_t i = 0; i < std::min(size, kPeriod); ++i) bytes[i] = static_cast<std::byte>(0x35 + i);
  for (size_t done = kPeriod; done < size; done *= 2) {
    std::memcpy(bytes.data() + done, bytes.data(), std::min(done, size - done));
  }
  return bytes;
}

// Strides of a dense tensor whose axes lie in memory in the given order, outermost first; `gap`
// elements are left behind every step of an axis but the innermost.
Shape StridesInOrder(const Shape& shape, const std::vector<size_t>& order, int64_t inner,
                     int64_t gap) {
  Shape strides(shape.size());
  int64_t next = inner;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next = next * std::max<int64_t>(shape[order[i]], 1) + gap;
  }
  return strides;
}

}  // namespace

const char* NameOf(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "Contiguous";
    case Layout::kOffset:
      return "Offset";
    case Layout::kChannelsLast:
      return "ChannelsLast";
    case Layout::kTransposed:
      return "Transposed";
    case Layout::kNegative:
      return "Negative";
    case Layout::kOddPadding:
      return "OddPadding";
    case Layout::kStep3:
      return "Step3";
    case Layout::kExpanded:
      return "Expanded";
  }
  return "?";
}

int64_t ProductOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor::Tensor(Element element, Shape shape, Layout layout)
    : element_(element), shape_(std::move(shape)) {
  std::vector<size_t> order(shape_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (layout == Layout::kChannelsLast && order.size() > 2) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  if (layout == Layout::kTransposed && order.size() > 1) {
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  strides_ = StridesInOrder(shape_, order, layout == Layout::kStep3 ? 3 : 1,
                            layout == Layout::kOddPadding ? 5 : 0);
  if (layout == Layout::kOffset) offset_ = 3;
  if (layout == Layout::kExpanded && shape_.size() > 1) strides_[1] = 0;
  int64_t reach = 0;
  for (size_t i = 0; i < shape_.size(); ++i) {
    reach += (std::max<int64_t>(shape_[i], 1) - 1) * strides_[i];
  }
  if (layout == Layout::kNegative) {
    for (int64_t& stride : strides_) stride = -stride;
    offset_ = reach;
    reach = 0;
  }
  storage_ = size() == 0 ? 0 : offset_ + reach + 1;
  Allocate();
}

Tensor::Tensor(Element element, Shape shape, Shape strides, int64_t offset, int64_t storage)
    : element_(element),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      storage_(storage) {
  Allocate();
}

void Tensor::Allocate() { bytes_ = GuardBytes(storage_bytes() + 2 * kRedZone); }

int64_t Tensor::PositionOf(int64_t index) const {
  int64_t position = offset_;
  for (size_t i = shape_.size(); i-- > 0;) {
    const int64_t extent = std::max<int64_t>(shape_[i], 1);
    position += index % extent * strides_[i];
    index /= extent;
  }
  return position;
}

std::vector<double> Tensor::Values() const {
  std::vector<double> values(static_cast<size_t>(size()));
  for (int64_t i = 0; i < size(); ++i) values[static_cast<size_t>(i)] = Get(i);
  return values;
}

Tensor& Tensor::Fill(const std::function<double(int64_t)>& value_of_index) {
  for (int64_t i = 0; i < size(); ++i) Set(i, value_of_index(i));
  return *this;
}

Tensor& Tensor::Fill(double value) {
  return Fill([value](int64_t) { return value; });
}

Tensor& Tensor::Fill(const std::vector<double>& values) {
  return Fill([&values](int64_t i) { return values[static_cast<size_t>(i)]; });
}

Tensor& Tensor::FillUniform(Random& random, double low, double high) {
  return Fill([&](int64_t) { return random.Uniform(low, high); });
}

Tensor Tensor::Dense() const {
  Tensor dense(element_, shape_);
  for (int64_t i = 0; i < size(); ++i) {
    const std::byte* from = Address(i);
    std::copy(from, from + SizeOf(element_), dense.Address(i));
  }
  return dense;
}

bool Tensor::GuardsIntact() const {
  LineBytes want = GuardBytes(bytes_.size());
  for (int64_t i = 0; i < size(); ++i) {
    std::memcpy(want.data() + (Address(i) - bytes_.data()), Address(i), SizeOf(element_));
  }
  return want == bytes_;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.element() != b.element() || a.shape() != b.shape()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.Bits(i) != b.Bits(i)) return false;
  }
  return true;
}

}  // namespace portacl_test
