// A complete call made from a case: tensors in memory with their inputs, arrays and numbers, in the
// order of the operator's signature.
#ifndef PORTACL_TOOLS_TESTING_CALL_H_
#define PORTACL_TOOLS_TESTING_CALL_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/testing/case.h"
#include "tools/testing/values.h"

namespace portacl::golden {

// A tensor as a view of its storage. Elements are numbered in row-major order of the view, whatever
// the strides.
class ViewTensor {
 public:
  // Throws BadInput ("WHAT: ...") if the view is larger than the machine or leaves its storage.
  ViewTensor(int32_t dtype, Shape shape, Shape strides, int64_t offset, const std::string& what);
  ViewTensor() = default;

  int32_t dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t storage() const { return storage_; }  // in elements
  int64_t count() const { return count_; }
  size_t element_size() const { return AclElementSize(dtype_); }

  std::vector<std::byte>& bytes() { return bytes_; }  // of the storage
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::byte* first() { return bytes_.data() + static_cast<size_t>(offset_) * element_size(); }
  const std::byte* first() const {
    return bytes_.data() + static_cast<size_t>(offset_) * element_size();
  }

  // The same elements with the axes in another order: axis i is this tensor's axis axes[i].
  ViewTensor Permuted(const std::vector<size_t>& axes) const;
  // The same elements, if this one is (N, ..., C).
  ViewTensor ChannelsFirst() const;

  // The elements, dense. SetDense() gets as many as the view has: both come from one case.
  // They are in row-major order.
  std::vector<std::byte> Dense() const;
  void SetDense(const std::vector<std::byte>& elements);
  std::vector<double> Values() const;
  // Stores `values` (rounded once); an element that several indices share keeps the last one.
  void Fill(const std::vector<double>& values);

  // Every element UnwrittenElement(): a kernel's work is to write the view's elements.
  void FillUnwritten();
  // Every byte of the storage outside the view.
  void FillOutside(std::byte value);
  // The first byte of the storage outside the view that is no longer as FillUnwritten() left it.
  std::optional<size_t> FirstWrittenOutside() const;

 private:
  template <class Visit>
  void ForEachPosition(Visit visit) const;
  // For each byte of the storage, whether the view has it; nothing if it has all.
  std::vector<bool> Inside() const;

  int32_t dtype_ = 0;
  Shape shape_, strides_;
  int64_t offset_ = 0, storage_ = 0, count_ = 0;
  bool dense_ = true;
  std::vector<std::byte> bytes_;
};

// The bytes of an element that nobody has written: a NaN of a kind that no arithmetic makes.
std::span<const std::byte> UnwrittenElement(size_t element_size);

// Whether a case's tensor has its channels behind its spatial axes, by its format.
bool IsChannelsLast(const Case& c, size_t i);

struct CallArgument {
  ViewTensor tensor;
  std::vector<int64_t> integers;  // kInts, kMask; one for kInteger, kMode and kFlag
  double real = 0;
  bool null = false;
  bool wanted = true;  // outputs: not left out by the mask
};

struct Call {
  Case source;
  const OperatorRow* op = nullptr;
  std::vector<CallArgument> arguments;
  int32_t pillow = 0;  // of the native API: PORTACL_PILLOW_13, or 12

  const CallArgument& at(const char* parameter) const { return arguments[*op->Find(parameter)]; }
  CallArgument& at(const char* parameter) { return arguments[*op->Find(parameter)]; }
  const ViewTensor& tensor(const char* parameter) const { return at(parameter).tensor; }
  int64_t integer(const char* parameter) const { return at(parameter).integers.at(0); }
  const ViewTensor& input() const { return arguments[op->First(Role::kInput)].tensor; }
  const ViewTensor& output() const { return arguments[op->First(Role::kOutput)].tensor; }
  // For resizing, for each axis from the outermost: the scale as the function counts it, 0 if it
  // counts the sizes.
  std::vector<double> scales() const;
  // Positions of the parameters with a role.
  std::vector<size_t> With(Role role) const;
};

// A case's arguments without memory, complete even if the case leaves some out.
struct ArgumentOutline {
  int32_t dtype = 0;  // tensors
  Shape shape, strides;
  int64_t offset = 0;
  std::string format;
  std::vector<int64_t> integers;  // as in CallArgument
  double real = 0;
  bool null = false;

  bool operator==(const ArgumentOutline&) const = default;
};

// Throws BadInput if MakeCall does, except for views that leave their storage.
std::vector<ArgumentOutline> OutlineOf(const Case& c);

// The case's tensors with inputs that hold nothing yet and outputs that nobody has written. Throws
// as MakeCall does.
Call LayOutCall(const Case& c);

// Makes the inputs, and outputs that nobody has written. Throws BadInput ("case '...': ...") if
// a shape is neither given nor follows from others, or a view leaves its storage.
Call MakeCall(const Case& c);

// The shapes alone: for limits on the size of a case before anything is allocated.
int64_t CountElementsOf(const Case& c);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_H_
