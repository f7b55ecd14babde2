// The open captures of all threads, and the mode of each thread.
#include "runtime/capture_rules.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/per_thread.h"
#include "runtime/error.h"

namespace portacl::runtime {
namespace {

struct Open {
  std::atomic<int> count{0};
  base::ForkSafe<std::mutex> mutex{base::LockRank::kRuntime};
  std::vector<std::shared_ptr<const CaptureOrigin>> captures;
};

Open& AllOpen() {
  static constinit base::Immortal<Open> open;
  return open.Get();
}

PORTACL_STARTS_WITH_THREAD thread_local CaptureMode thread_mode = CaptureMode::kGlobal;

}  // namespace

void OpenCapture(const std::shared_ptr<const CaptureOrigin>& origin) {
  Open& open = AllOpen();
  const std::lock_guard lock(open.mutex);
  open.captures.push_back(origin);
  open.count.fetch_add(1, std::memory_order_release);
}

void CloseCapture(const std::shared_ptr<const CaptureOrigin>& origin) {
  Open& open = AllOpen();
  const std::lock_guard lock(open.mutex);
  open.count.fetch_sub(static_cast<int>(std::erase(open.captures, origin)),
                       std::memory_order_release);
}

CaptureMode ExchangeCaptureMode(CaptureMode mode) { return std::exchange(thread_mode, mode); }

base::Status RefuseUnsafeCall() {
  Open& open = AllOpen();
  if (open.count.load(std::memory_order_acquire) == 0) return {};
  if (thread_mode == CaptureMode::kRelaxed) return {};
  const std::lock_guard lock(open.mutex);
  for (const auto& capture : open.captures) {
    if (capture->process != getpid()) continue;  // the capture was begun in the parent of a fork()
    const bool own = capture->thread == std::this_thread::get_id();
    const bool global =
        capture->mode == CaptureMode::kGlobal && thread_mode == CaptureMode::kGlobal;
    if (capture->mode == CaptureMode::kRelaxed || (!own && !global)) continue;
    return Error(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
                 "a stream is being captured: calls that go through no stream wait until the "
                 "capture has ended, or use aclmdlRICaptureThreadExchangeMode");
  }
  return {};
}

}  // namespace portacl::runtime
