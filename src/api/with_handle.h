// The first steps of functions on handles of the two-phase API.
#ifndef PORTACL_API_WITH_HANDLE_H_
#define PORTACL_API_WITH_HANDLE_H_

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "base/status.h"

namespace portacl::api {

template <class... Args>
base::Status Null(fmt::format_string<Args...> text, Args&&... args) {
  return {ACLNN_ERR_PARAM_NULLPTR, fmt::format(text, std::forward<Args>(args)...)};
}
template <class... Args>
base::Status Invalid(fmt::format_string<Args...> text, Args&&... args) {
  return {ACLNN_ERR_PARAM_INVALID, fmt::format(text, std::forward<Args>(args)...)};
}

// Calls body(object) with the object of a live handle.
template <class T, class Body>
aclnnStatus WithHandle(const char* function, const char* name, const T* handle, Body&& body) {
  return GuardedNn(function, [&]() -> base::Status {
    if (handle == nullptr) return Null("{} is null", name);
    const std::shared_ptr<T> object = Handles<T>().Find(handle);
    if (object == nullptr) return Invalid("{} is not a live handle", name);
    return body(*object);
  });
}

// Destroys a handle. A null handle is accepted and does nothing.
template <class T>
aclnnStatus Destroy(const char* function, const char* name, const T* handle) {
  return GuardedNn(function, [&]() -> base::Status {
    if (handle == nullptr || Handles<T>().Take(handle) != nullptr) return {};
    return Invalid("{} is not a live handle: destroyed already, or never created", name);
  });
}

}  // namespace portacl::api

#endif  // PORTACL_API_WITH_HANDLE_H_
