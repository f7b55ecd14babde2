// Guard mode: refused calls, for programs that do not look at what calls return.
#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "acl/acl_base.h"
#include "base/error_message.h"
#include "base/fork.h"
#include "runtime/guard.h"
#include "runtime/guard_stack.h"
#include "runtime/guard_table.h"

namespace portacl::runtime {
namespace {

constexpr int kOwnFrames = 2;  // of this library, at the top of every call's stack
constexpr size_t kMostReports = 100;

struct Reported {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kGuard};
  std::set<std::string> places;  // the function and the calls that led there
};

constinit base::Immortal<Reported> the_reported;

// The address that this thread's call was refused for; null: none.
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

// Whether a right program meets the code: a wait's time is over, or its thread was unsubscribed.
bool EndsAWait(int32_t code) {
  return code == ACL_ERROR_RT_WAIT_TIMEOUT || code == ACL_ERROR_RT_THREAD_SUBSCRIBE;
}

// Where a freed allocation comes from; "" for any other address.
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
    message.erase(0, head.size());  // the line names the function already
  }
  const std::string text =
      fmt::format("portacl guard: {} is refused with {}: {}\n  called at:\n{}{}", function, code,
                  message, DescribeStack(stack), address == nullptr ? "" : DescribeFreed(address));
  std::fputs(text.c_str(), stderr);
}

}  // namespace portacl::runtime
