// A tensor in host memory with any layout. Every byte outside the view is a guard.
#ifndef PORTACL_TESTS_SUPPORT_API_TENSOR_H_
#define PORTACL_TESTS_SUPPORT_API_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include "support/api/element.h"
#include "support/api/random.h"

namespace portacl_test {

using Shape = std::vector<int64_t>;

// How a view lies in its storage.
enum class Layout {
  kContiguous,
  kOffset,        // contiguous, starts 3 elements into the storage
  kChannelsLast,  // axis 1 innermost
  kTransposed,    // the last two axes swapped
  kNegative,      // every axis backwards
  kOddPadding,    // rows, planes and images with odd gaps behind them
  kStep3,         // every third element of a row
  kExpanded,      // axis 1 has stride 0: inputs only
};
inline constexpr std::array<Layout, 7> kOutputLayouts = {
    Layout::kContiguous, Layout::kOffset,     Layout::kChannelsLast, Layout::kTransposed,
    Layout::kNegative,   Layout::kOddPadding, Layout::kStep3};
inline constexpr std::array<Layout, 8> kInputLayouts = {
    Layout::kContiguous, Layout::kOffset,     Layout::kChannelsLast, Layout::kTransposed,
    Layout::kNegative,   Layout::kOddPadding, Layout::kStep3,        Layout::kExpanded};
const char* NameOf(Layout layout);
inline std::ostream& operator<<(std::ostream& out, Layout layout) { return out << NameOf(layout); }

int64_t ProductOf(const Shape& shape);
std::string ToString(const Shape& shape);

// Memory that begins at a cache line, as tensors of real programs do. So kernels may write whole
// lines at once (not at Layout::kOffset).
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
  friend bool operator==(LineAllocator, LineAllocator) { return true; }
};
using LineBytes = std::vector<std::byte, LineAllocator<std::byte>>;

class Tensor {
 public:
  Tensor(Element element, Shape shape, Layout layout = Layout::kContiguous);
  // A view given by hand: `storage` elements, element (0, 0, ...) at `offset`.
  Tensor(Element element, Shape shape, Shape strides, int64_t offset, int64_t storage);

  Element element() const { return element_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  // in elements
  int64_t offset() const { return offset_; }         // in elements
  int64_t storage() const { return storage_; }       // in elements
  int64_t size() const { return ProductOf(shape_); }
  size_t storage_bytes() const { return static_cast<size_t>(storage_) * SizeOf(element_); }

  // Start of the storage, and element (0, 0, ...).
  void* data() { return bytes_.data() + kRedZone; }
  const void* data() const { return bytes_.data() + kRedZone; }
  void* first() { return Address(0); }
  const void* first() const { return Address(0); }

  // Storage with the red zones before and behind it, for copies to and from a device.
  static constexpr size_t kRedZone = 256;
  LineBytes& bytes() { return bytes_; }
  const LineBytes& bytes() const { return bytes_; }

  // `index` counts the view's elements row-major, whatever the strides.
  double Get(int64_t index) const { return Load(element_, Address(index)); }
  void Set(int64_t index, double value) { Store(element_, value, Address(index)); }
  uint64_t Bits(int64_t index) const { return CanonicalBits(element_, Address(index)); }
  std::vector<double> Values() const;

  // Each returns *this. An expanded view holds the last value written to each element.
  Tensor& Fill(const std::function<double(int64_t)>& value_of_index);
  Tensor& Fill(double value);
  Tensor& Fill(const std::vector<double>& values);
  Tensor& Fill(std::initializer_list<double> values) { return Fill(std::vector<double>(values)); }
  Tensor& FillUniform(Random& random, double low, double high);

  // A contiguous tensor with the same values.
  Tensor Dense() const;

  // True where every byte outside the view still has the pattern it was made with.
  bool GuardsIntact() const;

 private:
  void Allocate();
  int64_t PositionOf(int64_t index) const;  // elements from the storage's start
  std::byte* Address(int64_t index) {
    return bytes_.data() + kRedZone + PositionOf(index) * static_cast<int64_t>(SizeOf(element_));
  }
  const std::byte* Address(int64_t index) const {
    return bytes_.data() + kRedZone + PositionOf(index) * static_cast<int64_t>(SizeOf(element_));
  }

  Element element_;
  Shape shape_;
  Shape strides_;
  int64_t offset_ = 0;
  int64_t storage_ = 0;
  LineBytes bytes_;
};

// Element by element, NaN equal to NaN.
bool SameBits(const Tensor& a, const Tensor& b);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_TENSOR_H_
