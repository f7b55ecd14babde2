// Newly allocated memory for results: which pages are known to be missing; results are the same.
#include "cpu/machine/pages.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/machine/named_machines.h"
#include "support/nearest_case.h"
#include "support/other_machine.h"

namespace portacl::cpu {
namespace {

// New pages, nobody has touched them.
class FreshMemory {
 public:
  explicit FreshMemory(size_t bytes)
      : bytes_(bytes),
        data_(static_cast<unsigned char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
  ~FreshMemory() { munmap(data_, bytes_); }
  unsigned char* data() const { return data_; }

  // Pages that are there.
  size_t Resident() const {
    std::vector<unsigned char> state(bytes_ / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(mincore(data_, bytes_, state.data()), 0);
    size_t resident = 0;
    for (const unsigned char page : state) resident += page & 1;
    return resident;
  }

 private:
  size_t bytes_;
  unsigned char* data_;
};

constexpr size_t kBytes = size_t{4} << 20;

TEST(Pages, NewMemoryIsMissingUntilItIsWritten) {
  const FreshMemory memory(kBytes);
  ASSERT_NE(memory.data(), MAP_FAILED);
  EXPECT_TRUE(ArePagesMissing(memory.data(), int64_t{kBytes}));
  std::memset(memory.data(), 1, kBytes);
  EXPECT_FALSE(ArePagesMissing(memory.data(), int64_t{kBytes}));
}

TEST(Pages, SmallResultsAreNotLookedAt) {
  const FreshMemory memory(kBytes);
  ASSERT_NE(memory.data(), MAP_FAILED);
  EXPECT_FALSE(ArePagesMissing(memory.data(), kProvidedBytes - 1));
  EXPECT_FALSE(ArePagesMissing(nullptr, 0));
}

TEST(Pages, ProvidingKeepsWhatIsThere) {
  const FreshMemory memory(kBytes);
  ASSERT_NE(memory.data(), MAP_FAILED);
  memory.data()[5000] = 77;
  // Not at a page's start or end.
  ProvidePages(memory.data() + 100, memory.data() + kBytes - 100);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory.data()[i], i == 5000 ? 77 : 0) << i;
}

TEST(Pages, ProvidedPagesAreThere) {
  const FreshMemory memory(kBytes);
  ASSERT_NE(memory.data(), MAP_FAILED);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (madvise(memory.data(), page, 23) != 0) GTEST_SKIP() << "before Linux 5.14";
  const size_t before = memory.Resident();
  ProvidePages(memory.data() + kBytes / 2, memory.data() + kBytes / 2 + 3 * page + 1);
  EXPECT_GE(memory.Resident(), before + 4);
}

TEST(Pages, OnlyDenseTensorsHaveBytes) {
  EXPECT_EQ(DenseBytes({2, 3, 4, 5}, {60, 20, 5, 1}, 4), 480);
  EXPECT_EQ(DenseBytes({2, 3, 4, 5}, {60, 1, 15, 3}, 2), 240);   // channels_last
  EXPECT_EQ(DenseBytes({2, 1, 4, 5}, {20, 999, 5, 1}, 4), 160);  // an axis that is not walked
  EXPECT_EQ(DenseBytes({2, 3, 4, 5}, {120, 40, 10, 2}, 4), 0);   // every second column
  EXPECT_EQ(DenseBytes({2, 3, 4, 5}, {61, 20, 5, 1}, 4), 0);     // a gap between images
  EXPECT_EQ(DenseBytes({2, 3, 4, 5}, {60, 20, -5, 1}, 4), 0);    // upside down
  EXPECT_EQ(DenseBytes({0, 3, 4, 5}, {60, 20, 5, 1}, 4), 0);
}

// Runs every kernel of the list, by one path, into new pages and into pages that are there.
template <class Kernels, class Params>
void CheckNewMemory(const Kernels& kernels, const char* path, const Params& params,
                    std::type_identity_t<void * Params::*> result) {
  for (const auto& kernel : kernels) {
    if (!kernel.available()) continue;
    for (const bool past_the_caches : {false, true}) {
      portacl_test::OtherMachine machine(kZen4);
      if (past_the_caches) machine->last_level_cache = 1 << 16;
      const FreshMemory fresh(kBytes);
      const FreshMemory touched(kBytes);
      std::memset(touched.data(), 0x5A, kBytes);
      Params mine = params;
      for (const FreshMemory* memory : {&fresh, &touched}) {
        mine.*result = memory->data();
        const auto plan = kernel.plan(mine, path);
        ASSERT_NE(plan, nullptr) << path;
        plan->Run(mine, nullptr);
      }
      EXPECT_EQ(std::memcmp(fresh.data(), touched.data(), kBytes), 0) << kernel.name;
    }
  }
}

TEST(Pages, JoinedPlanesInNewMemoryAreTheSame) {
  constexpr int64_t kPlanes = 4096;  // of 16x16 floats: kBytes
  const test::NearestTable axis(16, 2, 0);
  const test::NearestTable plane(1, 1, 0);
  std::vector<float> sources(size_t{kPlanes} * 4);
  for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<float>(i % 251) - 125;
  const ops::UpsampleNearestExactBackwardParams params = {
      {.dtype = base::DType::kFloat,
       .n = 1,
       .c = kPlanes,
       .d = plane.axis(),
       .h = axis.axis(),
       .w = axis.axis(),
       .from = sources.data(),
       .to = nullptr,
       .from_stride = {4 * kPlanes, 4, 2, 1},
       .to_stride = {256 * kPlanes, 256, 16, 1}}};
  CheckNewMemory(UpsampleNearestExactBackwardKernels(), "scatter", params,
                 &ops::UpsampleNearestExactBackwardParams::to);
}

TEST(Pages, NearestResultsInNewMemoryAreTheSame) {
  // Results of kBytes: gradients of 64 planes of 128x128, values of 16 planes of 256x256.
  constexpr int64_t kSmall = 128;
  const test::NearestTable axis(kSmall, 2 * kSmall, 0);
  const test::NearestTable plane(1, 1, 0);
  std::vector<float> sources(size_t{64} * 4 * kSmall * kSmall);
  for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<float>(i % 251) - 125;
  for (const bool channels_last : {false, true}) {
    const auto strides = [&](int64_t c, int64_t extent) {
      return channels_last
                 ? std::array<int64_t, 4>{c * extent * extent, 1, extent * c, c}
                 : std::array<int64_t, 4>{c * extent * extent, extent * extent, extent, 1};
    };
    const ops::UpsampleNearestExactBackwardParams backward = {
        {.dtype = base::DType::kFloat,
         .n = 1,
         .c = 64,
         .d = plane.axis(),
         .h = axis.axis(),
         .w = axis.axis(),
         .from = sources.data(),
         .to = nullptr,
         .from_stride = strides(64, 2 * kSmall),
         .to_stride = strides(64, kSmall)}};
    CheckNewMemory(UpsampleNearestExactBackwardKernels(), channels_last ? "channels_last" : "x2",
                   backward, &ops::UpsampleNearestExactBackwardParams::to);
    const ops::UpsampleNearestExactParams forward = {{.dtype = base::DType::kFloat,
                                                      .n = 1,
                                                      .c = 16,
                                                      .d = plane.axis(),
                                                      .h = axis.axis(),
                                                      .w = axis.axis(),
                                                      .from = sources.data(),
                                                      .to = nullptr,
                                                      .from_stride = strides(16, kSmall),
                                                      .to_stride = strides(16, 2 * kSmall)}};
    CheckNewMemory(UpsampleNearestExactKernels(), channels_last ? "channels_last" : "permute",
                   forward, &ops::UpsampleNearestExactParams::to);
  }
}

}  // namespace
}  // namespace portacl::cpu
