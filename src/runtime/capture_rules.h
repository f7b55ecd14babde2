// The open captures, and the calls that they forbid.
#ifndef PORTACL_RUNTIME_CAPTURE_RULES_H_
#define PORTACL_RUNTIME_CAPTURE_RULES_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <thread>

#include "base/status.h"

namespace portacl::runtime {

enum class CaptureMode : int32_t { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

// The mode, thread and process of an open capture's begin.
struct CaptureOrigin {
  CaptureMode mode = CaptureMode::kGlobal;
  std::thread::id thread = std::this_thread::get_id();
  pid_t process = getpid();
};

// From OpenCapture() to CloseCapture(), a capture forbids calls. CloseCapture() may be called
// twice, or without OpenCapture().
void OpenCapture(const std::shared_ptr<const CaptureOrigin>& origin);
void CloseCapture(const std::shared_ptr<const CaptureOrigin>& origin);

// Sets this thread's mode and returns the previous mode.
CaptureMode ExchangeCaptureMode(CaptureMode mode);

// Returns ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT if a capture forbids calls outside of streams on
// this thread.
base::Status RefuseUnsafeCall();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CAPTURE_RULES_H_
