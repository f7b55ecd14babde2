// A call's arguments as PyTorch's types, views and values.
#ifndef PORTACL_ATEN_TORCH_VALUES_H_
#define PORTACL_ATEN_TORCH_VALUES_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <string>
#include <vector>

#include "aten/backend.h"

namespace portacl::aten {

// Where the tensors of a computation are.
enum class Memory {
  kMeta,  // nowhere: they are shapes and types
  kOnes,  // one element each, expanded to the shape
  kReal,  // where the call has them
};

// A tensor of the call, without its address.
struct View {
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  bool packed = false;  // two elements a byte
  int64_t first = 0;    // packed: which of a byte's two is element (0, 0, ...)

  int64_t count() const;
};

// One parameter's argument.
struct Argument {
  bool given = false;
  std::vector<View> views;  // of tensors
  c10::IValue plain;        // of other arguments
};

// Reads an argument. Throws c10::Error for a type that PyTorch lacks, in words with the parameter's
// name.
Argument ReadArgument(const Parameter& parameter, const Value& value);

// `first` is the address of element (0, 0, ...) in real memory. Elements that do not lie at
// multiples of their size are copied: PyTorch's kernels assume that they do.
at::Tensor MakeTensor(const View& view, Memory memory, void* first);

// Converts `result`, which has the view's sizes, into the view's elements from `first` on.
void Write(const at::Tensor& result, const View& view, void* first);

// PyTorch's message, without its place in PyTorch's sources.
inline std::string WordsOf(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find("\nException raised"));
}

// A call's types, shapes, strides and numbers as bytes: equal for calls that are checked alike.
std::string KeyOf(const Row& row, std::span<const Value> values);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_VALUES_H_
