// That faults come when they are asked for.
#include "faults/injection.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

namespace portacl_test {
namespace {

TEST(Injection, TheAskedAllocationFailsAndNoOther) {
  for (const Repeat repeat : {Repeat::kOnce, Repeat::kForEver}) {
    void* got[4] = {};
    Injection injection(Fault::kMemory, repeat, 1);
    for (void*& memory : got) memory = ::operator new(1000, std::nothrow);
    EXPECT_TRUE(injection.End());
    EXPECT_NE(got[0], nullptr);
    EXPECT_EQ(got[1], nullptr);
    EXPECT_EQ(got[2] == nullptr, repeat == Repeat::kForEver);
    EXPECT_EQ(got[3] == nullptr, repeat == Repeat::kForEver);
    for (void* memory : got) ::operator delete(memory);
  }
}

TEST(Injection, EveryWayToGetMemoryFails) {
  if (PORTACL_FOREIGN_MALLOC) GTEST_SKIP() << "the sanitizer's malloc is not replaced";
  void* got[5] = {};
  Injection injection(Fault::kMemory, Repeat::kForEver, 0);
  got[0] = std::malloc(8);
  got[1] = std::calloc(1, 8);
  got[2] = std::realloc(nullptr, 8);
  got[3] = std::aligned_alloc(64, 64);
  EXPECT_NE(posix_memalign(&got[4], 64, 64), 0);
  EXPECT_TRUE(injection.End());
  for (void* memory : got) EXPECT_EQ(memory, nullptr);
}

TEST(Injection, MappingsAndThreadsFail) {
  if (PORTACL_FOREIGN_MAPPINGS) GTEST_SKIP() << "the sanitizer's mmap is not replaced";
  {
    Injection injection(Fault::kMapping, Repeat::kOnce, 0);
    void* const mapped =
        mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, /*file=*/-1, 0);
    EXPECT_TRUE(injection.End());
    EXPECT_EQ(mapped, MAP_FAILED);
  }
  Injection injection(Fault::kThread, Repeat::kOnce, 0);
  bool failed = false;
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {
    failed = true;
  }
  EXPECT_TRUE(injection.End());
  EXPECT_TRUE(failed);
}

TEST(Injection, WithoutAFaultEveryRequestIsServed) {
  Injection injection(Fault::kMapping, Repeat::kForEver, 0);
  EXPECT_NE(std::make_unique<int>(1), nullptr);
  std::thread([] {}).join();
  EXPECT_FALSE(injection.End());
}

TEST(Injection, LiveBlocksAreCounted) {
  if (PORTACL_FOREIGN_MALLOC) GTEST_SKIP() << "the sanitizer's malloc is not replaced";
  const int64_t before = LiveBlocks();
  void* const block = ::operator new(1);  // called by name: compilers may leave `new int` out
  EXPECT_EQ(LiveBlocks(), before + 1);
  ::operator delete(block);
  EXPECT_EQ(LiveBlocks(), before);
}

}  // namespace
}  // namespace portacl_test
