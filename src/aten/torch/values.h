// Converts a call's arguments to PyTorch's types, views and values.
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

// Where a computation's tensors are.
enum class Memory {
  kMeta,  // nowhere: only shapes and types
  kOnes,  // in one element each, expanded to the shape
  kReal,  // at the call's addresses
};

// A tensor of the call, without its address.
struct View {
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  bool packed = false;  // two elements per byte
  int64_t first = 0;    // packed: which half of the byte is element (0, 0, ...)

  int64_t count() const;
};

// One parameter's argument.
struct Argument {
  bool given = false;
  std::vector<View> views;  // of tensors and their lists
  c10::IValue plain;        // of all other arguments
};

// Reads an argument. Throws c10::Error if PyTorch lacks the type; the message names the
// parameter.
Argument ReadArgument(const Parameter& parameter, const Value& value);

// `first` is the address of element (0, 0, ...) in real memory. Copies elements that are not
// aligned to their size, because PyTorch's kernels need this alignment.
at::Tensor MakeTensor(const View& view, Memory memory, void* first);

// Converts `result` to the view's type and writes it at `first`. Both have equal sizes.
void Write(const at::Tensor& result, const View& view, void* first);

// Returns PyTorch's message without its place in PyTorch's sources.
inline std::string WordsOf(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find("\nException raised"));
}

// Returns types, shapes, strides and numbers as bytes. Calls with equal keys are checked alike.
std::string KeyOf(const Row& row, std::span<const Value> values);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_VALUES_H_
