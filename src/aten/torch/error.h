// PyTorch's message, without its place in PyTorch's sources.
#ifndef PORTACL_ATEN_TORCH_ERROR_H_
#define PORTACL_ATEN_TORCH_ERROR_H_

#include <c10/util/Exception.h>

#include <string>

namespace portacl::aten {

inline std::string WordsOf(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find("\nException raised"));
}

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_ERROR_H_
