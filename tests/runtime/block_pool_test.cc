// The pool of blocks and scratch memory: alignment, reuse, the bound.
#include "runtime/block_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "runtime/scratch.h"

namespace portacl::runtime {
namespace {

class BlockPool : public testing::Test {
 protected:
  void SetUp() override { TrimPool(); }
  void TearDown() override { TrimPool(); }
};

TEST_F(BlockPool, BlocksAreAlignedBigEnoughAndWritable) {
  for (const Pages pages : {Pages::kHuge, Pages::kNormal}) {
    for (const size_t bytes : {size_t{1}, size_t{511}, size_t{65535}, size_t{65536}, size_t{65537},
                               size_t{1000000}, (size_t{1} << 20) + 1, size_t{5} << 20}) {
      const Block block = TakeBlock(bytes, pages);
      ASSERT_NE(block.data, nullptr) << bytes;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 512, 0u) << bytes;
      EXPECT_GE(block.bytes, bytes);
      EXPECT_LE(block.bytes, bytes + bytes / 2 + (size_t{2} << 20));
      std::memset(block.data, 0x5A, bytes);
      ReturnBlock(block);
    }
  }
}

TEST_F(BlockPool, BigBlocksComeBackInsteadOfFreshPages) {
  for (const size_t bytes : {size_t{100000}, size_t{4} << 20}) {
    const Block first = TakeBlock(bytes, Pages::kHuge);
    std::memset(first.data, 0x5A, bytes);
    ReturnBlock(first);
    EXPECT_EQ(PooledBytes(), first.bytes);
    const Block second = TakeBlock(bytes - bytes / 20, Pages::kHuge);
    EXPECT_EQ(second.data, first.data);
    EXPECT_EQ(PooledBytes(), 0u);
    EXPECT_EQ(static_cast<const char*>(second.data)[bytes / 2], 0x5A)
        << "its pages are still there";
    ReturnBlock(second);
    const Block other_pages = TakeBlock(bytes, Pages::kNormal);
    EXPECT_NE(other_pages.data, first.data) << "the policy is honoured";
    ReturnBlock(other_pages);
    const Block much_smaller = TakeBlock(bytes / 2, Pages::kHuge);
    EXPECT_NE(much_smaller.data, first.data) << "a block is not wasted on a small request";
    ReturnBlock(much_smaller);
    TrimPool();
  }
}

TEST_F(BlockPool, KeepsNoMoreThanItsLimit) {
  const size_t bytes = PoolLimit() / 3;
  std::vector<Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(TakeBlock(bytes, Pages::kHuge));  // never touched
  for (const Block& block : blocks) {
    ReturnBlock(block);
    EXPECT_LE(PooledBytes(), PoolLimit());
  }
  EXPECT_GT(PooledBytes(), 0u);
  const Block newest = TakeBlock(bytes, Pages::kHuge);
  EXPECT_EQ(newest.data, blocks.back().data) << "the oldest went first";
  ReturnBlock(newest);
}

TEST_F(BlockPool, KeepsNoMoreThanACoupleOfHundredBlocks) {
  std::vector<Block> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(TakeBlock(65536, Pages::kHuge));
  for (const Block& block : blocks) ReturnBlock(block);
  EXPECT_LE(PooledBytes(), size_t{256} * blocks[0].bytes);
}

TEST_F(BlockPool, AbsurdRequestsGiveNothing) {
  for (const size_t bytes : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    EXPECT_EQ(TakeBlock(bytes, Pages::kHuge).data, nullptr);
    EXPECT_EQ(Scratch(bytes).data(), nullptr);
  }
  EXPECT_EQ(Scratch(0).data(), nullptr);
}

TEST_F(BlockPool, ScratchOfManyThreadsIsNeverShared) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) {
        const size_t bytes = 50000 + static_cast<size_t>(i) * 700;
        const Scratch scratch(bytes);
        ASSERT_NE(scratch.data(), nullptr);
        auto* const data = static_cast<volatile char*>(scratch.data());
        data[0] = static_cast<char>(t);
        data[bytes - 1] = static_cast<char>(t);
        std::this_thread::yield();
        ASSERT_EQ(data[0], static_cast<char>(t));
        ASSERT_EQ(data[bytes - 1], static_cast<char>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace portacl::runtime
