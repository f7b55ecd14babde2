// The small parts of src/base: checked arithmetic, names of types, messages, handles, status, log.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "base/checked.h"
#include "base/dispatch.h"
#include "base/dtype.h"
#include "base/fork.h"
#include "base/handle_table.h"
#include "base/log.h"
#include "base/status.h"

namespace portacl::base {
namespace {

TEST(CheckedTest, ProductsAndSumsReportOverflowAtTheLimit) {
  int64_t out = 0;
  EXPECT_TRUE(CheckedMul<int64_t>(INT64_MAX / 2, 2, &out));
  EXPECT_EQ(out, INT64_MAX - 1);
  EXPECT_FALSE(CheckedMul<int64_t>(INT64_MAX / 2 + 1, 2, &out));
  EXPECT_FALSE(CheckedMul<int64_t>(INT64_MIN, -1, &out));
  EXPECT_TRUE(CheckedAdd<int64_t>(INT64_MAX - 1, 1, &out));
  EXPECT_FALSE(CheckedAdd<int64_t>(INT64_MAX, 1, &out));
  uint64_t size = 0;
  EXPECT_FALSE(CheckedMul<uint64_t>(UINT64_MAX, 2, &size));
}

TEST(DTypeTest, ValuesAreThoseOfTheAclHeaders) {
  EXPECT_EQ(static_cast<int32_t>(DType::kFloat), ACL_FLOAT);
  EXPECT_EQ(static_cast<int32_t>(DType::kFloat16), ACL_FLOAT16);
  EXPECT_EQ(static_cast<int32_t>(DType::kBFloat16), ACL_BF16);
  EXPECT_EQ(static_cast<int32_t>(DType::kDouble), ACL_DOUBLE);
  EXPECT_EQ(static_cast<int32_t>(DType::kUndefined), ACL_DT_UNDEFINED);
  EXPECT_EQ(static_cast<int32_t>(Format::kNCHW), ACL_FORMAT_NCHW);
  EXPECT_EQ(static_cast<int32_t>(Format::kND), ACL_FORMAT_ND);
  EXPECT_EQ(static_cast<int32_t>(Format::kNCL), ACL_FORMAT_NCL);
}

TEST(DTypeTest, EveryAclTypeHasANameAndItsSize) {
  struct Row {
    aclDataType type;
    int64_t size;
    const char* name;
  };
  constexpr Row kRows[] = {{ACL_DT_UNDEFINED, 0, "UNDEFINED"},
                           {ACL_FLOAT, 4, "FLOAT"},
                           {ACL_FLOAT16, 2, "FLOAT16"},
                           {ACL_INT8, 1, "INT8"},
                           {ACL_INT32, 4, "INT32"},
                           {ACL_UINT8, 1, "UINT8"},
                           {ACL_INT16, 2, "INT16"},
                           {ACL_UINT16, 2, "UINT16"},
                           {ACL_UINT32, 4, "UINT32"},
                           {ACL_INT64, 8, "INT64"},
                           {ACL_UINT64, 8, "UINT64"},
                           {ACL_DOUBLE, 8, "DOUBLE"},
                           {ACL_BOOL, 1, "BOOL"},
                           {ACL_STRING, 0, "STRING"},
                           {ACL_COMPLEX64, 8, "COMPLEX64"},
                           {ACL_COMPLEX128, 16, "COMPLEX128"},
                           {ACL_BF16, 2, "BF16"},
                           {ACL_INT4, 0, "INT4"},
                           {ACL_UINT1, 0, "UINT1"},
                           {ACL_COMPLEX32, 4, "COMPLEX32"}};
  for (const Row& row : kRows) {
    EXPECT_EQ(DTypeSize(static_cast<DType>(row.type)), row.size) << row.name;
    EXPECT_EQ(DTypeName(static_cast<DType>(row.type)), row.name);
  }
  EXPECT_EQ(DTypeSize(static_cast<DType>(99)), 0);
  EXPECT_EQ(DTypeName(static_cast<DType>(99)), "data type 99");
  EXPECT_EQ(FormatName(Format::kNCL), "NCL");
  EXPECT_EQ(FormatName(static_cast<Format>(ACL_FORMAT_FRACTAL_NZ)), "FRACTAL_NZ");
  EXPECT_EQ(FormatName(static_cast<Format>(-7)), "format -7");
}

TEST(DispatchTest, EachTypeGetsItsOwnCall) {
  const auto size_of = [](DType dtype) {
    return DispatchFloating(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
  };
  EXPECT_EQ(size_of(DType::kFloat), 4u);
  EXPECT_EQ(size_of(DType::kFloat16), 2u);
  EXPECT_EQ(size_of(DType::kBFloat16), 2u);
  EXPECT_EQ(size_of(DType::kDouble), 8u);
}

TEST(ErrorMessageTest, IsKeptPerThreadAndTakenOnce) {
  SetErrorMessage("first");
  SetErrorMessage("second");
  std::thread([] { EXPECT_EQ(TakeErrorMessage(), nullptr); }).join();
  EXPECT_STREQ(PeekErrorMessage(), "second");
  EXPECT_STREQ(TakeErrorMessage(), "second");
  EXPECT_EQ(TakeErrorMessage(), nullptr);
  EXPECT_STREQ(PeekErrorMessage(), "second");
}

TEST(ErrorMessageTest, ReportKeepsOnlyFailures) {
  SetErrorMessage("before");
  EXPECT_EQ(Report(Status()), 0);
  EXPECT_STREQ(TakeErrorMessage(), "before");
  EXPECT_EQ(Report(Status(ACLNN_ERR_PARAM_INVALID, "wrong")), ACLNN_ERR_PARAM_INVALID);
  EXPECT_STREQ(TakeErrorMessage(), "wrong");
}

TEST(StatusTest, ReturnMacroPassesTheFirstFailureOn) {
  const auto run = [](int32_t code) -> Status {
    PORTACL_RETURN_IF_ERROR(Status());
    PORTACL_RETURN_IF_ERROR(code == 0 ? Status() : Status(code, "refused"));
    return {7, "end"};
  };
  EXPECT_EQ(run(0).code(), 7);
  EXPECT_EQ(run(ACLNN_ERR_PARAM_NULLPTR).code(), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(run(ACLNN_ERR_PARAM_NULLPTR).message(), "refused");
}

TEST(StatusTest, MovesItsFailure) {
  const std::string words(100, 'x');  // with memory of its own
  Status first(7, words);
  Status second = std::move(first);
  EXPECT_TRUE(first.ok());  // NOLINT(bugprone-use-after-move): a moved status is a success
  EXPECT_EQ(second.code(), 7);
  EXPECT_EQ(second.message(), words);
  second = Status(-8, "other");
  EXPECT_EQ(second.code(), -8);
  EXPECT_EQ(second.message(), "other");
  second = Status();
  EXPECT_TRUE(second.ok());
  EXPECT_EQ(second.message(), "");
}

TEST(HandleTableTest, FindsOnlyLiveHandles) {
  HandleTable<std::string> table;
  std::string* const a = table.Add(std::make_shared<std::string>("a"));
  std::string* const b = table.Add(std::make_shared<std::string>("b"));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(*table.Find(a), "a");
  EXPECT_EQ(table.Find(nullptr), nullptr);
  EXPECT_EQ(table.Take(nullptr), nullptr);
  const std::shared_ptr<std::string> used = table.Find(a);
  EXPECT_EQ(*table.Take(a), "a");
  EXPECT_EQ(table.Find(a), nullptr);
  EXPECT_EQ(table.Take(a), nullptr);
  EXPECT_EQ(*used, "a") << "a found object outlives its handle";
  EXPECT_EQ(table.Snapshot().size(), 1u);
  EXPECT_EQ(*table.Take(b), "b");
  EXPECT_EQ(table.size(), 0u);
}

TEST(HandleTableTest, OfRacingTakesExactlyOneSucceeds) {
  HandleTable<int> table;
  for (int round = 0; round < 200; ++round) {
    int* const handle = table.Add(std::make_shared<int>(round));
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { winners += table.Take(handle) != nullptr ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1);
  }
}

// Counts the blocks that it has handed out and not got back.
template <class T>
struct CountingAllocator {
  using value_type = T;
  explicit CountingAllocator(int* count) : live(count) {}
  template <class U>
  explicit CountingAllocator(const CountingAllocator<U>& other) : live(other.live) {}
  T* allocate(size_t count) {
    ++*live;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* block, size_t count) {
    --*live;
    std::allocator<T>().deallocate(block, count);
  }
  bool operator==(const CountingAllocator&) const = default;
  int* live;
};

TEST(HandleTableTest, ATakenHandleStaysDeadWhileNewOnesAreMade) {
  HandleTable<int> table;
  int* const dead = table.Add(std::make_shared<int>(0));
  table.Take(dead);
  for (size_t i = 0; i < HandleTable<int>::kQuarantine; ++i) {
    int* const other = table.Add(std::make_shared<int>(1));
    ASSERT_EQ(table.Find(dead), nullptr) << "after " << i << " more handles";
    table.Take(other);
  }
}

TEST(HandleTableTest, TheQuarantineKeepsABoundedNumberOfAddressesAndNoObjects) {
  int blocks = 0;
  {
    HandleTable<std::string> table;
    for (int i = 0; i < 10000; ++i) {
      auto object = std::allocate_shared<std::string>(CountingAllocator<std::string>(&blocks));
      const std::weak_ptr<std::string> watch = object;
      table.Take(table.Add(std::move(object)));
      ASSERT_TRUE(watch.expired());
    }
    EXPECT_GE(blocks, 64);
    EXPECT_LE(blocks, 1024);
  }
  EXPECT_EQ(blocks, 0);
}

TEST(ImmortalTest, AForkWaitsForAMakerThatUsesTheLockItHasMade) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the library does not handle forks there, see fork.cc";
#endif
  static constinit Immortal<ForkSafe<std::mutex>> object;
  std::atomic<bool> is_made{false};
  std::thread maker([&] {
    object.Get([&] {
      auto* made = new ForkSafe<std::mutex>(LockRank::kLog);
      is_made = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the fork is on its way
      const std::lock_guard lock(*made);
      return made;
    });
  });
  while (!is_made) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    if (object.Find() == nullptr) _exit(1);
    _exit(object.Find()->try_lock() ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  maker.join();
  EXPECT_EQ(status, 0);
}

TEST(ImmortalTest, AForkLeavesALockAloneWhoseMakerMayFail) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the library does not handle forks there, see fork.cc";
#endif
  static constinit Immortal<ForkSafe<std::mutex>> object;
  std::atomic<bool> is_made{false};
  std::atomic<int> times_taken{0};
  std::thread maker([&] {
    const auto fails = [&]() -> ForkSafe<std::mutex>* {
      ForkSafe<std::mutex> lock(LockRank::kLog);
      is_made = true;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
      while (std::chrono::steady_clock::now() < end) {  // the fork is on its way
        if (lock.try_lock()) {
          lock.unlock();
        } else {
          ++times_taken;
        }
      }
      throw std::bad_alloc();  // the lock is gone
    };
    EXPECT_THROW(object.Get(fails), std::bad_alloc);
  });
  while (!is_made) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0)
    _exit(object.Get([] { return new ForkSafe<std::mutex>(LockRank::kLog); }).try_lock() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  maker.join();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(times_taken, 0);
}

TEST(LogTest, NothingIsWrittenAtALevelThatIsOff) {
  testing::internal::CaptureStderr();
  for (const LogLevel level :
       {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (!LogEnabled(level)) Log(level, "dropped");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace portacl::base
