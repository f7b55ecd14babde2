// Products of extents, checked against overflow and the machine.
#include "tools/tensor/checked_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "tools/cli_error.h"

namespace portacl::cli {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 62;

uint64_t PhysicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_size <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size);
}

}  // namespace

int64_t CountElements(const Shape& shape, const std::string& what) {
  int64_t count = 1;
  bool too_large = false;
  for (const int64_t extent : shape) {
    if (extent < 0) throw BadInput(fmt::format("{}: extent {} is negative", what, extent));
    if (extent != 0 && count > kMaxElements / extent) too_large = true;
    if (!too_large) count *= extent;
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (too_large) {
    throw BadInput(fmt::format("{}: shape {} has more than 2^62 elements", what, ToString(shape)));
  }
  return count;
}

size_t CountBytes(const Shape& shape, size_t element_size, const std::string& what) {
  const uint64_t count = static_cast<uint64_t>(CountElements(shape, what));
  const uint64_t memory = PhysicalMemory();
  if (count > memory / element_size) {
    throw BadInput(fmt::format("{}: shape {} needs {:.3g} GB, but this machine has {:.3g} GB", what,
                               ToString(shape),
                               static_cast<double>(count) * static_cast<double>(element_size) / 1e9,
                               static_cast<double>(memory) / 1e9));
  }
  return static_cast<size_t>(count) * element_size;
}

std::vector<int64_t> DenseStrides(const Shape& shape, bool fortran_order) {
  std::vector<int64_t> strides(shape.size());
  uint64_t next = 1;  // wraps around only in an empty tensor, where no element is reached
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = static_cast<int64_t>(next);
    next *= static_cast<uint64_t>(std::max<int64_t>(shape[axis], 1));
  }
  return strides;
}

std::string ToString(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace portacl::cli
