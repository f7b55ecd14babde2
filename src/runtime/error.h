// Makes failed statuses with formatted messages.
#ifndef PORTACL_RUNTIME_ERROR_H_
#define PORTACL_RUNTIME_ERROR_H_

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "acl/acl_base.h"
#include "base/status.h"

namespace portacl::runtime {

template <class... Args>
base::Status Error(int32_t code, fmt::format_string<Args...> format, Args&&... args) {
  return base::Status(code, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
base::Status InvalidParam(fmt::format_string<Args...> format, Args&&... args) {
  return base::Status(ACL_ERROR_RT_PARAM_INVALID, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ERROR_H_
