// Geometry of views: reach, overlap with itself and with another, products that do not fit.
#include "base/tensor_desc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "support/api/random.h"

namespace portacl::base {
namespace {

TensorDesc View(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                int64_t offset = 0, DType dtype = DType::kFloat) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.shape = Dims(shape.data(), static_cast<int>(shape.size()));
  desc.strides = Dims(strides.data(), static_cast<int>(strides.size()));
  desc.offset = offset;
  return desc;
}

// Positions of all elements, with repetitions.
std::vector<int64_t> Positions(const TensorDesc& view) {
  std::vector<int64_t> positions = {view.offset};
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    std::vector<int64_t> next;
    for (const int64_t base : positions) {
      for (int64_t i = 0; i < view.shape[axis]; ++i) next.push_back(base + i * view.strides[axis]);
    }
    positions = std::move(next);
  }
  return positions;
}

// The contract's words: sorted by |stride|, each stride exceeds the sum of the smaller
// (extent - 1) * |stride|.
bool DisjointByTheRule(const TensorDesc& view) {
  std::multiset<std::pair<int64_t, int64_t>> axes;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (view.shape[i] > 1) axes.insert({std::abs(view.strides[i]), view.shape[i]});
  }
  int64_t reach = 0;
  for (const auto& [stride, extent] : axes) {
    if (stride <= reach) return false;
    reach += (extent - 1) * stride;
  }
  return true;
}

TensorDesc RandomView(portacl_test::Random& random, int64_t largest_stride) {
  const auto rank = static_cast<size_t>(random.Integer(1, 4));
  std::vector<int64_t> shape(rank);
  std::vector<int64_t> strides(rank);
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = random.Integer(1, 4);
    strides[i] = random.Integer(-largest_stride, largest_stride);
  }
  return View(shape, strides, random.Integer(0, 20));
}

TEST(DimsTest, CopiesEveryAxisOfEveryRank) {
  std::array<int64_t, kMaxRank> values;
  std::iota(values.begin(), values.end(), 1);
  for (int rank = 0; rank <= kMaxRank; ++rank) {
    const Dims dims(values.data(), rank);
    const Dims made = dims;
    Dims assigned(values.data(), kMaxRank - rank);
    assigned = dims;
    for (const Dims& copy : {std::cref(made), std::cref<Dims>(assigned)}) {
      ASSERT_EQ(copy.rank(), rank);
      EXPECT_TRUE(std::equal(copy.data(), copy.data() + rank, values.begin()));
    }
  }
}

TEST(DimsTest, TextAndEquality) {
  const std::vector<int64_t> values = {2, 3, 8, 8};
  EXPECT_EQ(Dims(values.data(), 4).ToString(), "[2, 3, 8, 8]");
  EXPECT_EQ(Dims().ToString(), "[]");
  EXPECT_TRUE(Dims(values.data(), 4) == Dims(values.data(), 4));
  EXPECT_FALSE(Dims(values.data(), 4) == Dims(values.data(), 3));
  EXPECT_FALSE(Dims(values.data(), 2) == Dims(values.data() + 1, 2));
}

TEST(TensorDescTest, ContiguousStridesRunFromTheLastAxis) {
  const std::vector<int64_t> shape = {2, 3, 5, 7};
  const Dims strides = ContiguousStrides(Dims(shape.data(), 4));
  EXPECT_EQ(strides.ToString(), "[105, 35, 7, 1]");
}

TEST(TensorDescTest, NumberOfElementsIsZeroForAnyEmptyAxisAndMinusOneWhenItDoesNotFit) {
  EXPECT_EQ(View({2, 3, 5}, {15, 5, 1}).NumElements(), 30);
  EXPECT_EQ(View({}, {}).NumElements(), 1);
  EXPECT_EQ(View({INT64_MAX, 0, INT64_MAX}, {1, 1, 1}).NumElements(), 0);
  EXPECT_EQ(View({INT64_MAX, 2}, {1, 1}).NumElements(), -1);
  EXPECT_EQ(View({int64_t{1} << 32, int64_t{1} << 32}, {1, 1}).NumElements(), -1);
}

TEST(TensorDescTest, ReachCoversAllPositionsExactly) {
  portacl_test::Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const TensorDesc view = RandomView(random, 9);
    const ElementRange range = ReachOf(view);
    const std::vector<int64_t> positions = Positions(view);
    ASSERT_TRUE(range.valid);
    EXPECT_EQ(view.offset + range.lowest, *std::min_element(positions.begin(), positions.end()));
    EXPECT_EQ(view.offset + range.highest, *std::max_element(positions.begin(), positions.end()));
  }
}

TEST(TensorDescTest, ReachThatOverflowsIsInvalid) {
  EXPECT_FALSE(ReachOf(View({3}, {INT64_MAX})).valid);
  EXPECT_FALSE(ReachOf(View({3, 2}, {INT64_MAX / 2, 2})).valid);
  EXPECT_FALSE(ReachOf(View({3}, {INT64_MIN})).valid);
  EXPECT_TRUE(ReachOf(View({2}, {INT64_MAX})).valid);
}

TEST(TensorDescTest, OverlapWithItselfFollowsTheRuleAndNeverMissesOne) {
  portacl_test::Random random(5);
  int disjoint = 0;
  for (int i = 0; i < 5000; ++i) {
    const TensorDesc view = RandomView(random, 12);
    const std::vector<int64_t> positions = Positions(view);
    const bool really =
        std::set<int64_t>(positions.begin(), positions.end()).size() != positions.size();
    EXPECT_EQ(OverlapsItself(view), !DisjointByTheRule(view));
    if (really) {
      EXPECT_TRUE(OverlapsItself(view));
    }
    disjoint += OverlapsItself(view) ? 0 : 1;
  }
  EXPECT_GT(disjoint, 200);
}

TEST(TensorDescTest, ExtremeStridesOverlapInsteadOfWrapping) {
  EXPECT_TRUE(OverlapsItself(View({2}, {INT64_MIN})));
  EXPECT_TRUE(OverlapsItself(View({INT64_MAX, 2}, {INT64_MAX, 1})));
  EXPECT_FALSE(OverlapsItself(View({0, 5}, {0, 0})));
  EXPECT_FALSE(OverlapsItself(View({1, 5}, {0, 1})));
  EXPECT_TRUE(OverlapsItself(View({2, 5}, {0, 1})));
}

TEST(TensorDescTest, OverlapOfTwoViewsIsNeverMissedAndExactForEqualStrides) {
  portacl_test::Random random(7);
  int interleaved = 0;
  for (int i = 0; i < 20000; ++i) {
    const TensorDesc a = RandomView(random, 12);
    TensorDesc b = random.Coin() ? a : RandomView(random, 12);
    b.offset = random.Integer(0, 40);
    const std::vector<int64_t> pa = Positions(a);
    const std::vector<int64_t> pb = Positions(b);
    const std::set<int64_t> sa(pa.begin(), pa.end());
    const bool really =
        std::any_of(pb.begin(), pb.end(), [&](int64_t p) { return sa.count(p) != 0; });
    const auto* storage = reinterpret_cast<const void*>(0x10000);
    const bool may = MayOverlap(a, storage, b, storage);
    if (really) {
      EXPECT_TRUE(may);
    }
    const bool ranges_intersect =
        *std::min_element(pa.begin(), pa.end()) <= *std::max_element(pb.begin(), pb.end()) &&
        *std::min_element(pb.begin(), pb.end()) <= *std::max_element(pa.begin(), pa.end());
    if (!ranges_intersect) {
      EXPECT_FALSE(may);
    }
    const bool same_layout = a.strides == b.strides && a.shape == b.shape;
    if (same_layout && !OverlapsItself(a)) {
      EXPECT_EQ(may, really);
      interleaved += ranges_intersect && !really ? 1 : 0;
    }
  }
  EXPECT_GT(interleaved, 50);
}

TEST(TensorDescTest, ViewsOfTwoHalvesOfOneRowInterleave) {
  // Columns 0..3 and 4..7 of a 5 x 8 matrix.
  const auto* storage = reinterpret_cast<const void*>(0x1000);
  const TensorDesc left = View({5, 4}, {8, 1}, 0);
  EXPECT_FALSE(MayOverlap(left, storage, View({5, 4}, {8, 1}, 4), storage));
  EXPECT_TRUE(MayOverlap(left, storage, View({5, 4}, {8, 1}, 3), storage));
  // The same by address instead of offset, and a distance that is no whole element.
  EXPECT_FALSE(MayOverlap(left, storage, left, reinterpret_cast<const void*>(0x1000 + 16)));
  EXPECT_TRUE(MayOverlap(left, storage, left, reinterpret_cast<const void*>(0x1000 + 18)));
  // Unequal element sizes or strides: byte ranges decide.
  EXPECT_TRUE(MayOverlap(left, storage, View({5, 4}, {8, 1}, 8, DType::kFloat16), storage));
  EXPECT_FALSE(MayOverlap(left, storage, View({5, 0}, {8, 1}, 0), storage));
}

// Byte ranges that do not fit 64 bits: sums that wrap would put them apart.
TEST(MayOverlapTest, ExtentsMayFillTheAddressSpace) {
  const auto* storage = reinterpret_cast<const void*>(0x1000);
  const TensorDesc small = View({4}, {1}, 0);
  for (const int64_t stride : {INT64_MAX, -INT64_MAX, INT64_MAX / 2, INT64_MAX / 4 + 1}) {
    const TensorDesc vast = View({2}, {stride}, 0);
    EXPECT_TRUE(MayOverlap(vast, storage, small, storage)) << stride;
    EXPECT_TRUE(MayOverlap(small, storage, vast, storage)) << stride;
    EXPECT_TRUE(MayOverlap(vast, storage, vast, storage)) << stride;
  }
  const TensorDesc there_and_back = View({2, 2}, {INT64_MAX, -INT64_MAX}, 0);
  EXPECT_TRUE(MayOverlap(there_and_back, storage, small, storage));
}

}  // namespace
}  // namespace portacl::base
