// The memory of the Python package's results, given back where no memory is left.
#include "python/src/result_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "faults/injection.h"

namespace portacl_test {
namespace {

using portacl_python::ResultPool;

TEST(ResultPool, ReturnNeedsNoMemory) {
  ResultPool& pool = ResultPool::Get();
  if (pool.limit() < size_t{64} << 20) GTEST_SKIP() << "the pool is off (PORTACL_POOL_MB)";
  pool.Trim();
  std::vector<ResultPool::Block> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(pool.Take(ResultPool::kPooledBytes));
  const size_t bytes = blocks[0].bytes;
  {
    Injection injection(Fault::kMemory, Repeat::kForEver, 0);
    for (const ResultPool::Block& block : blocks) pool.Return(block);
    EXPECT_FALSE(injection.End()) << "memory was asked for";
  }
  EXPECT_EQ(pool.kept(), blocks.size() * bytes);
  pool.Trim();
  EXPECT_EQ(pool.kept(), 0u);
}

}  // namespace
}  // namespace portacl_test
