// aclFinalize holds no lock of the library while it names the places of leaks. Naming takes the
// loader's lock, and a thread that loads a library holds that lock while constructors may call
// aclInit.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "acl/acl.h"
#include "support/api/without_libdw.h"

namespace {

bool others_call_acl = false;
bool others_came_through = false;

// What a constructor of a library does while another thread waits for the loader's lock.
void CallAclOnAnotherThread() {
  std::promise<aclError> answer;
  std::future<aclError> answered = answer.get_future();
  std::thread([promise = std::move(answer)]() mutable {
    promise.set_value(aclInit(nullptr));
  }).detach();
  others_came_through = answered.wait_for(std::chrono::seconds(60)) == std::future_status::ready &&
                        answered.get() == ACL_ERROR_REPEAT_INITIALIZE;
}

}  // namespace

// Before the C library's, which it calls.
extern "C" [[gnu::visibility("default")]] char** backtrace_symbols(void* const* frames,
                                                                   int size) noexcept {
  if (others_call_acl) CallAclOnAnotherThread();
  static const auto real =
      reinterpret_cast<char** (*)(void* const*, int)>(dlsym(RTLD_NEXT, "backtrace_symbols"));
  return real(frames, size);
}

namespace portacl_test {
namespace {

TEST(FinalizeLockDeathTest, LeaksAreNamedWhileOthersCallAclInit) {
  const WithoutLibdw without;  // its functions cannot be watched here
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", "1", 1);
        void* leaked = nullptr;
        const bool is_ready = aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS &&
                              aclrtMalloc(&leaked, 1000, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;
        others_call_acl = true;
        const bool is_done = aclFinalize() == ACL_SUCCESS;
        std::_Exit(is_ready && is_done && others_came_through ? 0 : 1);
      },
      testing::ExitedWithCode(0), "1000 bytes of device memory");
}

}  // namespace
}  // namespace portacl_test
