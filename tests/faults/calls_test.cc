// Calls every function of the C API while the n-th allocation, mapping or thread fails, for every
// n; either this one alone or all later ones too. Expected: the documented answer, no changed
// output, no leak, and a right next call. Each function also runs, for each n, in a new process
// that has not used the library: so objects that are made at first use, by oneTBB too, meet every
// failure.
#include "faults/calls.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <set>
#include <tuple>

#include "faults/injection.h"
#include "support/api/child_process.h"
#include "support/api/native.h"
#include "support/api/random.h"
#include "test_paths.h"

namespace portacl_test {

namespace {

std::vector<Row>& MutableRows() {
  static auto* const rows = new std::vector<Row>;
  return *rows;
}

}  // namespace

Rows::Rows(std::vector<Row> rows) {
  MutableRows().insert(MutableRows().end(), rows.begin(), rows.end());
}

const std::vector<Row>& AllRows() { return MutableRows(); }

namespace {

bool StartsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

constexpr const char* kNoThread = "no thread can be made: the system's limit is reached";

// True if `answer`, with `message`, is the right answer of a function of its family without memory
// (or threads).
bool IsAnswer(const Row& row, Fault fault, int64_t answer, const std::string& message) {
  if (!row.bad.empty()) return std::count(row.bad.begin(), row.bad.end(), answer) > 0;
  const std::string name = row.function;
  for (const char* family : {"aclnn", "portacl"}) {
    if (StartsWith(name, family)) return answer == ACLNN_ERR_RUNTIME_ERROR;
  }
  // pthread_create() returns EAGAIN without memory for the thread, and also if the system allows no
  // more threads: the library cannot distinguish these.
  if (answer == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL && fault == Fault::kMemory) {
    return message == name + ": " + kNoThread;
  }
  return answer ==
         (fault == Fault::kThread ? ACL_ERROR_RT_RESOURCE_ALLOC_FAIL : ACL_ERROR_BAD_ALLOC);
}

void MakeWorld(World* world) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&world->context), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&world->stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&world->other_stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&world->event), ACL_SUCCESS);
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, World::kDeviceBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  world->device = static_cast<char*>(memory);
  ASSERT_EQ(aclrtMallocHost(&memory, World::kDeviceBytes), ACL_SUCCESS);
  world->host = static_cast<char*>(memory);
}

size_t FreeDeviceMemory() {
  size_t free_bytes = 0;
  size_t total = 0;
  static_cast<void>(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  return free_bytes;
}

// One row under every fault. Results of good calls are compared with the first call's results.
class Trial {
 public:
  explicit Trial(const Row& row) : row_(row) {
    if (!row_.bare) MakeWorld(&world_);
  }

  // The first use of the function in this process. False if the call makes fewer than n requests.
  bool RunCold(Fault fault, Repeat repeat, int64_t n) {
    return RunOne(fault, repeat, n, /*warm=*/false);
  }

  void Run() {
    // The first pass also fails what the library makes only once, the second only what each call
    // asks for.
    for (int pass = 0; pass < 2; ++pass) {
      for (const Fault fault : {Fault::kMemory, Fault::kMapping, Fault::kThread}) {
        for (const Repeat repeat : {Repeat::kOnce, Repeat::kForEver}) {
          int64_t n = 0;
          while (!testing::Test::HasFailure() && RunOne(fault, repeat, n, pass > 0)) ++n;
          EXPECT_LT(n, kMost) << "a call asks for " << NameOf(fault) << " without end";
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }

 private:
  static constexpr int64_t kMost = 1000;
  static constexpr int kLeak = 4;  // attempts in a row after which memory has grown

  // False once the call no longer comes to request number n.
  bool RunOne(Fault fault, Repeat repeat, int64_t n, bool warm) {
    SCOPED_TRACE(std::string(row_.function) + row_.variant + ", " + NameOf(fault) + " " +
                 std::to_string(n) + (repeat == Repeat::kOnce ? " once" : " for ever") +
                 (warm ? ", warm" : ""));
    Prepare();
    bool fired = false;
    if (!Attempt(fault, repeat, n, &fired)) {
      // A thread of the library may have asked for a block of its own; a leak grows every time.
      int growths = 0;
      do {
        const size_t memory = FreeDeviceMemory();
        const int64_t blocks = LiveBlocks();
        if (Attempt(fault, repeat, n, &fired)) return fired;  // things made once exist now
        EXPECT_EQ(FreeDeviceMemory(), memory) << "device memory stays booked";
        growths = warm && LiveBlocks() > blocks ? growths + 1 : 0;
      } while (growths > 0 && growths < kLeak);
      EXPECT_LT(growths, kLeak) << "memory is leaked";
      EXPECT_EQ(row_.call(world_), row_.good) << "the next call: " << Message();
      if (!testing::Test::HasFailure()) Finish();
    }
    return fired && n < kMost;
  }

  // True where the call was good in spite of the fault, or met none.
  bool Attempt(Fault fault, Repeat repeat, int64_t n, bool* fired) {
    Injection injection(fault, repeat, n);
    const int64_t answer = row_.call(world_);
    *fired = injection.End();
    if (answer == row_.good) {
      Finish();
      return true;
    }
    EXPECT_TRUE(*fired) << "answers " << answer << " without a fault: " << Message();
    EXPECT_TRUE(IsAnswer(row_, fault, answer, Message()))
        << "answers " << answer << ": " << Message();
    ExpectOutputsUntouched();
    return testing::Test::HasFailure();
  }

  void Prepare() {
    world_.output.fill(World::kUntouched);
    if (!row_.bare) {
      for (size_t i = 0; i < World::kDeviceBytes; ++i) world_.host[i] = static_cast<char>(i % 63);
      EXPECT_EQ(aclrtMemcpy(world_.device, World::kDeviceBytes, world_.host, World::kDeviceBytes,
                            ACL_MEMCPY_HOST_TO_DEVICE),
                ACL_SUCCESS);
    }
    if (row_.prepare != nullptr) row_.prepare(world_);
    if (Settles() && !row_.pending) before_ = DeviceMemory();
  }

  bool Settles() const { return !row_.bare && row_.settle; }

  // What is in device memory once the streams have nothing to do.
  std::string DeviceMemory() {
    std::string now(World::kDeviceBytes, '\0');
    EXPECT_EQ(
        aclrtMemcpy(now.data(), now.size(), world_.device, now.size(), ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    return now;
  }

  void ExpectOutputsUntouched() {
    for (size_t i = 0; i < world_.output.size(); ++i) {
      const unsigned char want = i < row_.nulls ? 0 : World::kUntouched;
      if (world_.output[i] == want) continue;
      ADD_FAILURE() << "byte " << i << " of the outputs is " << int{world_.output[i]};
      break;
    }
    if (row_.nulls > 0) world_.output.fill(World::kUntouched);
    if (Settles() && !row_.pending) {
      EXPECT_TRUE(DeviceMemory() == before_) << "device memory was written";
    }
  }

  // After a good call: waits, compares, cleans.
  void Finish() {
    if (Settles()) {
      EXPECT_EQ(aclrtSynchronizeStream(world_.stream), ACL_SUCCESS) << Message();
      EXPECT_EQ(aclrtSynchronizeStream(world_.other_stream), ACL_SUCCESS) << Message();
      const std::string now = DeviceMemory();
      if (good_.empty()) good_ = now;
      EXPECT_TRUE(now == good_) << "other results than those of the first good call";
    }
    if (row_.clean != nullptr) row_.clean(world_);
  }

  static std::string Message() {
    const char* const text = aclGetRecentErrMsg();
    return text == nullptr ? "no message" : text;
  }

  const Row& row_;
  World world_;
  std::string before_;  // device memory before the call
  std::string good_;    // and after the first good call
};

struct Setting {
  const char* name;
  Environment environment;
};
std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.name; }

// Runs a trial of one row in a separate process, which prints failures. Returns how the process
// ended, or "". `trial` gives the exit status of a process without failures, for `status`. No
// EXPECT here, because a process starts with its parent's failures.
template <class Run>
std::string RunApart(const Row& row, const Setting& setting, unsigned seconds, const Run& trial,
                     int* exit_status = nullptr) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);  // a hang ends here
    SetEnvironment(setting.environment);
    int status = 0;
    try {
      Trial one(row);
      status = trial(one);
    } catch (const std::exception& error) {
      ADD_FAILURE() << row.function << row.variant << ": " << error.what();
    }
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : status);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "cannot be run";
  if (WIFEXITED(status) && exit_status != nullptr) *exit_status = WEXITSTATUS(status);
  if (WIFEXITED(status)) return WEXITSTATUS(status) != 1 ? "" : "failed, see above";
  return strsignal(WTERMSIG(status));
}

// Every failure of one row's first call, each in a process that has done nothing else.
std::string RunColdly(const Row& row, const Setting& setting, Fault fault, Repeat repeat) {
  constexpr int kNoSuchRequest = 2;
  for (int64_t n = 0;; ++n) {
    int status = 0;
    const std::string end = RunApart(
        row, setting, 60,
        [&](Trial& trial) { return trial.RunCold(fault, repeat, n) ? 0 : kNoSuchRequest; },
        &status);
    if (!end.empty()) return std::string(NameOf(fault)) + " " + std::to_string(n) + ": " + end;
    if (status == kNoSuchRequest) return "";
  }
}

std::string RunColdly(const Row& row, const Setting& setting) {
  for (const Fault fault : {Fault::kMemory, Fault::kThread}) {
    for (const Repeat repeat : {Repeat::kOnce, Repeat::kForEver}) {
      std::string end = RunColdly(row, setting, fault, repeat);
      if (!end.empty()) return end;
    }
  }
  return "";
}

// A setting, and which part of the rows: every kParts-th from `part` on. They are separate tests,
// so that shards run them side by side.
constexpr size_t kParts = 4;
class FaultsOfEveryCall : public testing::TestWithParam<std::tuple<Setting, size_t>> {};
INSTANTIATE_TEST_SUITE_P(
    , FaultsOfEveryCall,
    testing::Combine(
        testing::Values(Setting{"Plain", {{"PORTACL_NUM_THREADS", "3"}, {"PORTACL_DEVICES", "2"}}},
                        Setting{"Guard",
                                {{"PORTACL_NUM_THREADS", "3"},
                                 {"PORTACL_DEVICES", "2"},
                                 {"PORTACL_GUARD", "1"}}},
                        Setting{"Trace",
                                {{"PORTACL_NUM_THREADS", "3"},
                                 {"PORTACL_DEVICES", "2"},
                                 {"PORTACL_TRACE", "/dev/null"}}}),
        testing::Range(size_t{0}, kParts)),
    [](const auto& param) {
      return std::get<0>(param.param).name + std::to_string(std::get<1>(param.param));
    });

TEST_P(FaultsOfEveryCall, IsAnsweredAndForgotten) {
  const auto& [setting, part] = GetParam();
  if (PORTACL_FOREIGN_MAPPINGS && ShortRun() && std::string(setting.name) != "Plain") {
    GTEST_SKIP() << "a short run under the thread sanitizer makes plain calls only";
  }
  const char* const only = std::getenv("PORTACL_FAULTS_ONLY");  // one function, to look at
  std::string failed;
  for (size_t i = part; i < AllRows().size(); i += kParts) {
    const Row& row = AllRows()[i];
    if (only != nullptr && std::string(only) != row.function) continue;
    const std::string end = RunApart(row, setting, 300, [](Trial& trial) {
      trial.Run();
      return 0;
    });
    if (!end.empty()) failed += std::string(row.function) + row.variant + ": " + end + "\n";
  }
  EXPECT_EQ(failed, "");
}

// A process for every failure of every row takes minutes: PORTACL_TEST_ALL=1 asks for all, as
// script/check soak does. Else every third row runs (in a short run every eighth). Rows of one kind
// are neighbours, so some row of each kind runs.
size_t StepOfColdRows() {
  const char* const all = std::getenv("PORTACL_TEST_ALL");
  if (all != nullptr && std::string(all) == "1") return 1;
  return ShortRun() ? 8 : 3;
}

TEST(FaultsOfEveryFirstCall, AreAnsweredAndForgotten) {
  const Setting setting{"Cold", {{"PORTACL_NUM_THREADS", "3"}, {"PORTACL_DEVICES", "2"}}};
  const char* const only = std::getenv("PORTACL_FAULTS_ONLY");
  std::string failed;
  for (size_t i = 0; i < AllRows().size(); ++i) {
    const Row& row = AllRows()[i];
    if (only != nullptr ? std::string(only) != row.function : i % StepOfColdRows() != 0) continue;
    const std::string end = RunColdly(row, setting);
    if (!end.empty()) failed += std::string(row.function) + row.variant + ", " + end + "\n";
  }
  EXPECT_EQ(failed, "");
}

// The functions of abi_symbols.txt and of the library's own list of operators.
void CompareWithTheLibrary() {
  std::ifstream file(PORTACL_SOURCE_DIR "/tests/api/abi_symbols.txt");
  std::set<std::string> exported;
  for (std::string name; std::getline(file, name);) exported.insert(name);
  ASSERT_GT(exported.size(), 300u);
  for (const std::string& name : ListedNames("native")) exported.insert(name);
  for (const std::string& name : ListedNames("aclnn")) {
    exported.insert({name, name + "GetWorkspaceSize"});
  }
  std::set<std::string> rows;
  for (const Row& row : AllRows()) rows.insert(row.function);
  for (const std::string& name : exported) {
    EXPECT_EQ(rows.count(name), 1u) << name << " has no row in tests/faults/*_calls_test.cc";
  }
  for (const std::string& name : rows) {
    EXPECT_EQ(exported.count(name), 1u) << name << " is no exported function";
  }
}

// In a process of its own, because the library must not have been used where the others fork.
TEST(FaultRowsChild, AreAllFunctionsOfTheLibrary) { PORTACL_IN_CHILD({}, CompareWithTheLibrary()); }

}  // namespace
}  // namespace portacl_test
