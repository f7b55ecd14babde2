// Files of results appear whole or not at all: full disks, limits, signals.
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/cli_runner.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

using testing::HasSubstr;

class OutputFileTest : public CliTest {
 protected:
  static std::vector<std::string> Upsample(const std::string& shape, const std::string& file) {
    return {"run",          "upsample_nearest_exact2d_backward",
            "--shape",      shape,
            "--size",       "4,4",
            "--grad-input", file};
  }

  // The files in the test's folder, without the runner's own.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != ".stdout" && name != ".stderr") names.push_back(name);
    }
    return names;
  }
};

TEST_F(OutputFileTest, AFileThatMayNotGrowLeavesTheOldOneWhole) {
  for (const std::string name : {"out.npy", "out.bin"}) {
    Write(name, "what was there");
    std::vector<std::string> arguments = Upsample("64,64,4,4", name);
    const Outcome outcome = Run(arguments, "ulimit -f 8 &&");
    EXPECT_EQ(outcome.exit_code, 3) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name + ": writing failed: File too large"));
    EXPECT_EQ(Read(name), "what was there") << name;
    EXPECT_THAT(Files(), testing::ElementsAre(name));
    std::filesystem::remove(folder_ / name);
  }
}

TEST_F(OutputFileTest, NothingIsLeftWhereNothingWas) {
  EXPECT_EQ(Run(Upsample("64,64,4,4", "out.npy"), "ulimit -f 8 &&").exit_code, 3);
  EXPECT_THAT(Files(), testing::IsEmpty());
}

TEST_F(OutputFileTest, LinksAndPermissionsStay) {
  Write("real.npy", "old");
  ASSERT_EQ(chmod(Path("real.npy").c_str(), 0640), 0);
  std::filesystem::create_symlink("real.npy", folder_ / "link.npy");
  std::filesystem::create_symlink("later.npy", folder_ / "dangling.npy");
  for (const char* name : {"link.npy", "dangling.npy"}) {
    EXPECT_EQ(Run(Upsample("1,1,4,4", name)).exit_code, 0) << name;
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name)) << name;
    EXPECT_EQ(Elements<float>(Read(name)), std::vector<float>(16, 1.0f)) << name;
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "later.npy"));
  struct stat status = {};
  ASSERT_EQ(stat(Path("real.npy").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(OutputFileTest, AFileThatMayNotBeWrittenIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write every file";
  Write("out.npy", "old");
  ASSERT_EQ(chmod(Path("out.npy").c_str(), 0444), 0);
  ExpectBadInput(Run(Upsample("1,1,4,4", "out.npy")), "out.npy: cannot be written");
  EXPECT_EQ(Read("out.npy"), "old");
}

TEST_F(OutputFileTest, PipesAndDevicesAreWrittenInPlace) {
  EXPECT_EQ(Run(Upsample("1,1,4,4", "pipe.npy"),
                "mkfifo pipe.npy && { cat pipe.npy >copy.npy & } &&", "; wait")
                .exit_code,
            0);
  EXPECT_EQ(Elements<float>(Read("copy.npy")), std::vector<float>(16, 1.0f));
}

// Starts the program, stops it as soon as a new file exists, and sends `signal`. True if the signal
// ended the program.
bool IsEndedBySignal(const std::string& folder, int signal) {
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, folder.c_str(), IN_CREATE);
  const pid_t child = fork();
  if (child == 0) {
    // On a busy machine the file would be complete before this process is told of it.
    if (chdir(folder.c_str()) != 0 || setpriority(PRIO_PROCESS, 0, 10) != 0) _exit(99);
    execl(PORTACL_CLI, PORTACL_CLI, "run", "upsample_nearest_exact2d_backward", "--shape",
          "1,1,4,4", "--size", "4096,4096", "--grad-input", "out.npy", nullptr);
    _exit(99);
  }
  pollfd made = {watch, POLLIN, 0};
  EXPECT_EQ(poll(&made, 1, /*milliseconds=*/60000), 1) << "no file is made";
  close(watch);
  kill(child, SIGSTOP);
  kill(child, signal);
  kill(child, SIGCONT);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  // The handler removes the new file. Another thread may notice that, and end the program, before
  // the signal does.
  return WIFSIGNALED(status) ? WTERMSIG(status) == signal : WEXITSTATUS(status) != 0;
}

TEST_F(OutputFileTest, ASignalLeavesTheOldFileAndNoOther) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Write("out.npy", "what was there");
    bool hit = false;
    for (int i = 0; i < 50 && !hit; ++i) {
      Write("out.npy", "what was there");
      const bool ended = IsEndedBySignal(folder_.string(), signal);
      const std::string left = Read("out.npy");
      hit = ended && left == "what was there";
      // Else the file was complete before the signal came.
      EXPECT_TRUE(hit || left.size() == 128 + sizeof(float) * 4096 * 4096)
          << left.size() << " bytes";
      EXPECT_THAT(Files(), testing::ElementsAre("out.npy")) << signal;
    }
    EXPECT_TRUE(hit) << signal;
  }
}

}  // namespace
}  // namespace portacl::cli_test
