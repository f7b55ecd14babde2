// Wrappers for all extern "C" functions of src/api. They let no exception leave the library, and
// keep a failure's message for aclGetRecentErrMsg.
#ifndef PORTACL_API_SHIM_H_
#define PORTACL_API_SHIM_H_

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "base/status.h"
#include "runtime/observers.h"

namespace portacl::api {

// The code of this thread's newest failed ACL or aclnn call, for aclrtPeekAtLastError.
inline int32_t& LastError() {
  thread_local int32_t code = 0;
  return code;
}

// Returns the number of an enum value from a caller. A caller may pass any number, and in C++ it is
// undefined to read an unknown number as the enum.
template <class Enum>
int32_t RawValue(const Enum& value) {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(int32_t));
  int32_t raw = 0;
  std::memcpy(&raw, &value, sizeof raw);
  return raw;
}

namespace internal {

// Keeps the message of a failure. Does not throw, because memory may have run out.
inline void KeepMessage(const char* function, std::string_view what) noexcept {
  try {
    static_cast<void>(
        base::Report(base::Status(1, std::string(function).append(": ").append(what))));
  } catch (...) {  // then only the code reports the failure
  }
}

// The codes of calls that fail because memory or threads have run out.
struct Shortage {
  int32_t memory;
  int32_t threads;
};

// Calls the body, which returns a Status or a code. Keeps a Status's message with the function's
// name before it. If the body returns a code, it has kept the message itself.
template <class Body>
int32_t Invoke(const char* function, Body&& body, Shortage shortage, int32_t other) noexcept {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Body>, base::Status>) {
      const base::Status status = std::forward<Body>(body)();
      if (!status.ok()) KeepMessage(function, status.message());
      return status.code();
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const std::bad_alloc&) {
    KeepMessage(function, "out of memory");
    return shortage.memory;
  } catch (const std::length_error&) {  // a vector would be too long for any memory
    KeepMessage(function, "out of memory");
    return shortage.memory;
  } catch (const std::system_error&) {  // thrown by std::thread
    KeepMessage(function, "no thread can be made: the system's limit is reached");
    return shortage.threads;
  } catch (const std::exception& error) {
    KeepMessage(function, error.what());
  } catch (...) {
    KeepMessage(function, "unknown exception");
  }
  return other;
}

template <class Body>
int32_t Call(const char* function, Body&& body, Shortage shortage, int32_t other,
             const char* phase = "") noexcept {
  const runtime::HostCall call(function, phase);
  const int32_t code = Invoke(function, std::forward<Body>(body), shortage, other);
  call.End(code);
  return code;
}

}  // namespace internal

// Wraps functions that return aclError.
template <class Body>
int32_t Guarded(const char* function, Body&& body) noexcept {
  const int32_t code = internal::Call(function, std::forward<Body>(body),
                                      {ACL_ERROR_BAD_ALLOC, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL},
                                      ACL_ERROR_INTERNAL_ERROR);
  if (code != 0) LastError() = code;
  return code;
}

// Wraps functions that allocate memory: the documents promise other codes if memory has run out.
template <class Body>
int32_t GuardedMemory(const char* function, Body&& body) noexcept {
  const int32_t code = internal::Call(
      function, std::forward<Body>(body),
      {ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_MEMORY_ALLOCATION}, ACL_ERROR_INTERNAL_ERROR);
  if (code != 0) LastError() = code;
  return code;
}

// Wraps functions that return aclnnStatus. `phase` is the part of the function's name behind the
// operator's name; messages leave it out.
template <class Body>
int32_t GuardedNn(const char* function, Body&& body, const char* phase = "") noexcept {
  const int32_t code =
      internal::Call(function, std::forward<Body>(body),
                     {ACLNN_ERR_RUNTIME_ERROR, ACLNN_ERR_RUNTIME_ERROR}, ACLNN_ERR_INNER, phase);
  if (code != 0) LastError() = code;
  return code;
}

// Wraps functions of portacl.h. They do not change the last error of ACL.
template <class Body>
int32_t GuardedNative(const char* function, Body&& body) noexcept {
  return internal::Call(function, std::forward<Body>(body),
                        {ACLNN_ERR_RUNTIME_ERROR, ACLNN_ERR_RUNTIME_ERROR}, ACLNN_ERR_INNER);
}

// Wraps questions to which "no" is a valid answer: returns the body's code. Does not change the
// thread's last error and message.
template <class Body>
int32_t Question(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)().code();
  } catch (const std::bad_alloc&) {
    return ACL_ERROR_BAD_ALLOC;
  } catch (...) {
    return ACL_ERROR_INTERNAL_ERROR;
  }
}

// Wraps functions that return a value. Returns `fallback` if the body throws.
template <class T, class Body>
T GuardedValue(const char* function, T fallback, Body&& body) noexcept {
  T value = fallback;
  internal::Call(
      function,
      [&]() -> int32_t {
        value = std::forward<Body>(body)();
        return 0;
      },
      {1, 1}, 1);
  return value;
}

}  // namespace portacl::api

#endif  // PORTACL_API_SHIM_H_
