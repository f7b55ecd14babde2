// Guard mode names frames without its lock: the loader's lock, which that takes, is held by threads
// that load a library whose constructors may use the guard.
#include <execinfo.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "runtime/guard.h"
#include "runtime/guard_stack.h"

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
bool lock_was_free = false;

// Whether another thread gets through the guard meanwhile.
void TryTheLock() {
  std::promise<void> through;
  std::future<void> done = through.get_future();
  std::thread([promise = std::move(through)]() mutable {
    static_cast<void>(portacl::runtime::DescribeForeign(&promise));
    promise.set_value();
  }).detach();
  lock_was_free = done.wait_for(kPatience) == std::future_status::ready;
}

}  // namespace

// Before the C library's, for this program.
extern "C" char** backtrace_symbols(void* const*, int) noexcept {
  TryTheLock();
  return nullptr;
}
extern "C" void backtrace_symbols_fd(void* const*, int, int) noexcept {
  TryTheLock();
  if (lock_was_free) portacl::runtime::PrintLine("the lock was free");
}

namespace portacl::runtime {
namespace {

TEST(GuardLock, LeaksAreDescribedWithoutTheLock) {
  const GuardedMemory memory = GuardAllocate(1000, /*host=*/false);
  ASSERT_NE(memory.user, nullptr);
  EXPECT_NE(DescribeLiveAllocations().find("1000 bytes of device memory"), std::string::npos);
  EXPECT_TRUE(lock_was_free);
  GuardFree(memory.user, /*by_reset=*/false);
}

TEST(GuardLockDeathTest, OverrunsAreReportedWithoutTheLock) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const GuardedMemory memory = GuardAllocate(1000, /*host=*/true);
        static_cast<volatile char*>(memory.user)[1000] = 1;
        GuardFree(memory.user, /*by_reset=*/false);
      },
      "byte 1000 of an allocation of 1000 bytes(.|\n)*the lock was free");
}

}  // namespace
}  // namespace portacl::runtime
