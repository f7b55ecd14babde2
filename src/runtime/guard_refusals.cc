// Guard mode: reports refused calls, for programs that ignore the codes of calls.
#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "acl/acl_base.h"
#include "base/fork.h"
#include "base/status.h"
#include "runtime/guard.h"
#include "runtime/guard_stack.h"
#include "runtime/guard_table.h"

namespace portacl::runtime {
namespace {

constexpr int kOwnFrames = 2;  // this library's frames at the top of each call's stack
constexpr size_t kMostReports = 100;

struct Reported {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kGuard};
  std::set<std::string> places;  // function and stack of each reported call
};

constinit base::Immortal<Reported> the_reported;

// The address for which a call of this thread was refused; null: none.
thread_local const void* refused_address = nullptr;

bool IsNew(const char* function, const GuardStack& stack) {
  std::string place = function;
  for (int i = 0; i < stack.count; ++i) {
    place += fmt::format(" {}", stack.frames[static_cast<size_t>(i)]);
  }
  Reported& reported = the_reported.Get();
  const std::lock_guard lock(reported.mutex);
  return reported.places.size() < kMostReports && reported.places.insert(std::move(place)).second;
}

// Returns true for codes that a correct program may get: a timeout, or an unsubscribed thread.
bool EndsAWait(int32_t code) {
  return code == ACL_ERROR_RT_WAIT_TIMEOUT || code == ACL_ERROR_RT_THREAD_SUBSCRIBE;
}

// Says where freed memory was allocated and freed; "" for other addresses.
std::string DescribeFreed(const void* address) {
  GuardRegion region;
  bool in_kernel_range = false;
  {
    GuardTable& table = TheGuardTable();
    const std::lock_guard lock(table.mutex);
    if (!FindRegion(reinterpret_cast<uintptr_t>(address), &region, &in_kernel_range)) return "";
  }
  if (!region.freed) return "";
  return fmt::format("  allocated at:\n{}  freed at:\n{}", DescribeStack(region.allocated),
                     DescribeStack(region.released));
}

}  // namespace

void NoteRefusedAddress(const void* address) {
  if (GuardEnabled()) refused_address = address;
}

void ReportRefusal(const char* function, int32_t code) {
  const void* const address = std::exchange(refused_address, nullptr);
  if (EndsAWait(code)) return;
  const GuardStack stack = CaptureStack(kOwnFrames);
  if (!IsNew(function, stack)) return;
  std::string message = base::PeekErrorMessage();
  if (const std::string head = fmt::format("{}: ", function); message.starts_with(head)) {
    message.erase(0, head.size());  // the line already has the function's name
  }
  const std::string text =
      fmt::format("portacl guard: {} is refused with {}: {}\n  called at:\n{}{}", function, code,
                  message, DescribeStack(stack), address == nullptr ? "" : DescribeFreed(address));
  std::fputs(text.c_str(), stderr);
}

}  // namespace portacl::runtime
