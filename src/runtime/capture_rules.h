// Which captures are open, and which calls they forbid.
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

// How an open capture was begun.
struct CaptureOrigin {
  CaptureMode mode = CaptureMode::kGlobal;
  std::thread::id thread = std::this_thread::get_id();
  pid_t process = getpid();
};

// A capture forbids calls from OpenCapture() until CloseCapture(). CloseCapture() may come twice,
// or without OpenCapture().
void OpenCapture(const std::shared_ptr<const CaptureOrigin>& origin);
void CloseCapture(const std::shared_ptr<const CaptureOrigin>& origin);

// Sets this thread's mode and gives the one before.
CaptureMode ExchangeCaptureMode(CaptureMode mode);

// ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT if a capture forbids this thread's calls outside of
// streams.
base::Status RefuseUnsafeCall();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CAPTURE_RULES_H_
