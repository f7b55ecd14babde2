// Guard mode holds no lock of the library while it takes and names frames. That takes the loader's
// lock, and a thread that loads a library holds that lock while constructors may use portacl.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

#include "base/fork.h"
#include "runtime/guard.h"
#include "runtime/guard_stack.h"

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
bool lock_was_free = false;
bool first_stack_is_watched = false;

// Whether another thread gets through `use` meanwhile.
void TryTheLock(void (*use)()) {
  std::promise<void> through;
  std::future<void> done = through.get_future();
  std::thread([promise = std::move(through), use]() mutable {
    use();
    promise.set_value();
  }).detach();
  lock_was_free = done.wait_for(kPatience) == std::future_status::ready;
}

void UseTheGuard() { static_cast<void>(portacl::runtime::DescribeForeign(&lock_was_free)); }

void MakeAnObject() {
  static constinit portacl::base::Immortal<int> object;
  object.Get();
}

}  // namespace

// Before the C library's, for this program.
extern "C" char** backtrace_symbols(void* const*, int) noexcept {
  TryTheLock(&UseTheGuard);
  return nullptr;
}
extern "C" void backtrace_symbols_fd(void* const*, int, int) noexcept {
  TryTheLock(&UseTheGuard);
  if (lock_was_free) portacl::runtime::PrintLine("the lock was free");
}
extern "C" int backtrace(void** frames, int most) {
  if (first_stack_is_watched) TryTheLock(&MakeAnObject);
  static const auto real = reinterpret_cast<int (*)(void**, int)>(dlsym(RTLD_NEXT, "backtrace"));
  return real(frames, most);
}

namespace portacl::runtime {
namespace {

TEST(GuardLockDeathTest, TheFirstStackIsTakenWhileOthersMakeObjects) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", "1", 1);
        first_stack_is_watched = true;
        const bool is_on = GuardEnabled();
        std::_Exit(is_on && lock_was_free ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

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

TEST(GuardDeathTest, KernelsOverrunsOfOneByteAreFoundAtFree) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int at : {1000, -1}) {
    EXPECT_DEATH(
        {
          const GuardedMemory memory = GuardAllocate(1000, /*host=*/false);
          static_cast<volatile char*>(memory.kernel)[at] = 1;
          GuardFree(memory.user, /*by_reset=*/false);
        },
        "byte " + std::to_string(at) +
            " of an allocation of 1000 bytes of device memory was written");
  }
}

}  // namespace
}  // namespace portacl::runtime
