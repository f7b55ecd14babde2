// Lazy and guard mode together: host memory of copies that are not over cannot be touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "acl/acl_rt_stream.h"
#include "support/api/lazy_program.h"

namespace portacl_test {
namespace {

constexpr size_t kPages = 4 * kBytes;

// Memory of malloc() that holds whole pages, wherever it begins.
struct Pageable {
  Pageable() { std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(1)); }
  unsigned char* middle() { return bytes.data() + kPages / 2; }
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kPages);
};

void CopyToHost(const Lazy& p, void* to, size_t bytes) {
  EXPECT_EQ(aclrtMemcpyAsync(to, bytes, p.x, bytes, ACL_MEMCPY_DEVICE_TO_HOST, p.a), ACL_SUCCESS);
}

// Stops at the program's last statement with a message that a regular expression describes.
#define EXPECT_EARLY_ACCESS_STOPS(program, message)       \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_DEATH(                                         \
        {                                                 \
          setenv("PORTACL_LAZY", "1", 1);                 \
          setenv("PORTACL_GUARD", "1", 1);                \
          Lazy world;                                     \
          (program)(world);                               \
        },                                                \
        message);                                         \
  } while (false)

TEST(LazyGuardDeathTest, AResultIsReadBeforeTheStreamIsSynchronised) {
  EXPECT_EARLY_ACCESS_STOPS(
      [](Lazy& p) {
        p.Set(p.x, 7, p.a);
        p.ToHost(p.x, p.a);
        static_cast<void>(*static_cast<volatile unsigned char*>(p.host + 5));
      },
      "portacl guard: host (read|access) of host memory.*: byte 5 of 4096 bytes that copy on "
      "stream "
      "[0-9]+ writes as dst\n.*synchronise with its stream(.|\n)*accessed at:\n(.|\n)*"
      "launched at:\n(.|\n)*aclrtMemcpyAsync");
}

TEST(LazyGuardDeathTest, AnInputIsWrittenBeforeTheStreamIsSynchronised) {
  EXPECT_EARLY_ACCESS_STOPS(
      [](Lazy& p) {
        EXPECT_EQ(aclrtMemcpyAsync(p.x, kBytes, p.host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, p.a),
                  ACL_SUCCESS);
        EXPECT_EQ(p.host[0], 1);  // reading it is right
        p.host[0] = 2;
      },
      "portacl guard: host (write|access) of host memory.*: byte 0 of 4096 bytes that copy on "
      "stream "
      "[0-9]+ reads as src");
}

TEST(LazyGuardDeathTest, APartOfASmallAllocation) {
  EXPECT_EARLY_ACCESS_STOPS(
      [](Lazy& p) {
        void* small = nullptr;
        EXPECT_EQ(aclrtMallocHost(&small, 100), ACL_SUCCESS);
        CopyToHost(p, small, 100);
        static_cast<void>(static_cast<volatile char*>(small)[99]);
      },
      "byte 99 of 100 bytes that copy on stream");
}

TEST(LazyGuardDeathTest, OtherHostMemory) {
  EXPECT_EARLY_ACCESS_STOPS(
      [](Lazy& p) {
        void* large = nullptr;
        EXPECT_EQ(aclrtMalloc(&large, kPages, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
        Pageable memory;
        EXPECT_EQ(aclrtMemcpyAsync(memory.bytes.data(), kPages, large, kPages,
                                   ACL_MEMCPY_DEVICE_TO_HOST, p.a),
                  ACL_SUCCESS);
        static_cast<void>(*static_cast<volatile unsigned char*>(memory.middle()));
      },
      "that copy on stream [0-9]+ writes as dst");
}

TEST(LazyGuardDeathTest, TheWrongStreamIsSynchronised) {
  EXPECT_EARLY_ACCESS_STOPS(
      [](Lazy& p) {
        p.ToHost(p.x, p.a);
        p.Sync(p.b);
        static_cast<void>(*static_cast<volatile unsigned char*>(p.host));
      },
      "that copy on stream [0-9]+ writes as dst");
}

// Each a way to know that the copy is over; `host` is 7 then.
const std::vector<Program>& RightPrograms() {
  static const std::vector<Program> programs = {
      {"TheStreamIsSynchronised", [](Lazy& p) { p.Sync(p.a); }},
      {"TheDeviceIsSynchronised", [](Lazy&) { EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS); }},
      {"AnEventBehindItIsSynchronised",
       [](Lazy& p) {
         p.Record(p.a);
         EXPECT_EQ(aclrtSynchronizeEvent(p.event), ACL_SUCCESS);
       }},
      {"AnotherStreamHasWaitedForIt",
       [](Lazy& p) {
         p.Record(p.a);
         p.Wait(p.b);
         p.Sync(p.b);
       }},
      {"TheStreamSaysThatItIsIdle",
       [](Lazy& p) {
         aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
         while (status != ACL_STREAM_STATUS_COMPLETE) {
           ASSERT_EQ(aclrtStreamQuery(p.a, &status), ACL_SUCCESS);
         }
       }},
      {"TheStreamIsDestroyed",
       [](Lazy& p) { EXPECT_EQ(aclrtDestroyStream(std::exchange(p.a, nullptr)), ACL_SUCCESS); }},
  };
  return programs;
}

class RightCopyDeathTest : public testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(, RightCopyDeathTest, testing::ValuesIn(RightPrograms()), NameOfProgram);

TEST_P(RightCopyDeathTest, ReadsTheResultOfEachKindOfMemory) {
  EXPECT_LAZY((Program{"",
                       [](Lazy& p) {
                         Pageable memory;
                         p.Set(p.x, 7, p.a);
                         p.ToHost(p.x, p.a);
                         CopyToHost(p, memory.middle(), kBytes);
                         EXPECT_EQ(memory.bytes[0], 1);
                         GetParam().run(p);
                         EXPECT_EQ(p.host[0], 7);
                         EXPECT_EQ(memory.middle()[kBytes - 1], 7);
                         p.host[0] = 8;
                         memory.middle()[0] = 8;
                       }}),
              "1", "the end");
}

// A function of the stream comes behind the copy, and reads and writes what that used.
TEST(LazyGuardDeathTest, AHostFunctionReadsTheResult) {
  EXPECT_LAZY((Program{"",
                       [](Lazy& p) {
                         p.Set(p.x, 7, p.a);
                         p.ToHost(p.x, p.a);
                         EXPECT_EQ(
                             aclrtLaunchHostFunc(
                                 p.a, [](void* host) { ++*static_cast<char*>(host); }, p.host),
                             ACL_SUCCESS);
                         p.Sync(p.a);
                         EXPECT_EQ(p.host[0], 8);
                       }}),
              "1", "the end");
}

// The rest of a page beside a copy is the program's; so is memory if its copy never ran.
TEST(LazyGuardDeathTest, NothingElseIsKeptFromTheHost) {
  EXPECT_LAZY((Program{"",
                       [](Lazy& p) {
                         CopyToHost(p, p.host, kBytes / 2);
                         EXPECT_EQ(p.host[kBytes - 1] | 0xFF, 0xFF);
                         p.Sync(p.a);
                         p.ToHost(p.x, p.a);
                         EXPECT_EQ(aclrtStreamAbort(p.a), ACL_SUCCESS);
                         p.host[0] = 9;
                         p.ToHost(p.x, p.a);
                         EXPECT_EQ(aclrtFreeHost(p.host),
                                   ACL_SUCCESS);  // reported as missing order
                       }}),
              "1", "a free of the host writes memory, which copy on stream [0-9]+ writes as dst");
}

// Copies in both directions through one buffer, and two from one source.
TEST(LazyGuardDeathTest, OneBufferServesSeveralCopies) {
  EXPECT_LAZY((Program{"",
                       [](Lazy& p) {
                         p.Set(p.x, 7, p.a);
                         p.ToHost(p.x, p.a);
                         for (char* const to : {p.y, p.z}) {
                           EXPECT_EQ(aclrtMemcpyAsync(to, kBytes, p.host, kBytes,
                                                      ACL_MEMCPY_HOST_TO_DEVICE, p.a),
                                     ACL_SUCCESS);
                         }
                         p.ToHost(p.y, p.a);
                         p.Sync(p.a);
                         p.host[1] = 5;
                         EXPECT_EQ(p.host[0], 7);
                         EXPECT_EQ(p.Value(p.z), 7);
                       }}),
              "1", "the end");
}

}  // namespace
}  // namespace portacl_test
