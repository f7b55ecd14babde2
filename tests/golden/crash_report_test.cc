// What a process that crashes tells of it, as its parent reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tools/testing/crash_report.h"

namespace portacl::golden {
namespace {

// The report of a child that touches `address` beside a tensor of 100 bytes at `tensor`.
std::string ReportOf(const void* tensor, volatile char* address) {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    ReportCrashes(ends[1]);
    NoteTensor("self", tensor, 100);
    *address = 1;
    _exit(0);
  }
  close(ends[1]);
  uint32_t head[2] = {};
  EXPECT_EQ(read(ends[0], head, sizeof head), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head[0], kCrashed);
  std::string text(head[1], ' ');
  EXPECT_EQ(read(ends[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
  return text;
}

TEST(CrashReport, NamesTheTensorBesideAnAddress) {
  constexpr size_t kPages = size_t{64} << 10;
  auto* const pages =
      static_cast<char*>(mmap(nullptr, kPages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_THAT(ReportOf(pages, pages + 4000),
              testing::HasSubstr(", byte 4000 of self, which has 100\n"));
  EXPECT_THAT(ReportOf(pages + 8192, pages + 8190), testing::HasSubstr(", 2 bytes before self\n"));
  char* volatile nowhere = nullptr;
  EXPECT_THAT(ReportOf(pages, nowhere + 8), testing::HasSubstr("0x8, which is close to null\n"));
  munmap(pages, kPages);
}

TEST(CrashReport, ReadsAsAStack) {
  const std::string text = ReadableCrash(
      "at address 0x8, which is close to null\n_ZN3foo3barEi 0x10 /no such/lib.so\n? 0x20 "
      "/other.so\nmain 0x30 /bin/portacl-call\n");
  EXPECT_EQ(text,
            "at address 0x8, which is close to null\n    #0 foo::bar(int) (/no such/lib.so+0x10)\n"
            "    #1 (/other.so+0x20)");
}

}  // namespace
}  // namespace portacl::golden
