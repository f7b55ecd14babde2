// A row of functions.txt, made by the build: a function's parameters, and PyTorch's operator.
#ifndef PORTACL_ATEN_ROW_H_
#define PORTACL_ATEN_ROW_H_

#include <atomic>
#include <span>
#include <string_view>

namespace portacl::aten {

// A parameter. `kind` is the text in functions.txt, "T?".
struct Parameter {
  const char* name;
  const char* kind;

  // True if the caller may give null.
  constexpr bool optional() const { return std::string_view(kind).ends_with('?'); }
  constexpr bool updated() const { return kind[0] == 'M'; }
  constexpr bool output() const { return kind[0] == 'O' || updated(); }
  constexpr bool tensor() const { return kind[0] == 'T' || output(); }
  constexpr bool list() const { return kind[1] == 'L'; }
  constexpr bool finds_shape() const { return kind[0] == 'O' && kind[1] == 'D'; }
};

struct Row {
  const char* function;  // "aclnnExp"
  const char* header;    // "aclnnop/aclnn_exp.h"
  std::span<const Parameter> parameters;
  const char* right;  // "exp(self)", or "@Composition"
  // The parsed row, set by the engine at the first call.
  mutable std::atomic<const void*> parsed{nullptr};
};

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_ROW_H_
