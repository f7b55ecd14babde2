// Cases of the nearest-exact kernels: index tables by the float rule, tensors of any layout between
// guard pages, and the comparison of a kernel with the reference.
#ifndef PORTACL_TESTS_SUPPORT_NEAREST_CASE_H_
#define PORTACL_TESTS_SUPPORT_NEAREST_CASE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::test {

// One axis by the float rule, with its table.
class NearestTable {
 public:
  NearestTable(int64_t in, int64_t out, double scale = 0);
  ops::NearestAxis axis() const;

 private:
  std::vector<int64_t> begin_;
  int64_t in_;
  int64_t out_;
};

// How the elements of an (n, c, h, w) tensor stand in memory.
enum class Layout {
  kContiguous,
  kChannelsLast,
  kTransposed,     // H is the dense axis
  kPaddedRows,     // contiguous rows with gaps between rows and planes
  kPaddedLines,    // ... every row starts at a multiple of 128 bytes from the first
  kPaddedPixels,   // channels last, with gaps between pixels and rows
  kStepped,        // every second element of a row
  kReversed,       // contiguous, walked backwards along H and W
  kReversedRows,   // contiguous, walked backwards along H
  kExpanded,       // all strides 0; sources only
  kExpandedPixel,  // one pixel of contiguous channels for all; sources only
};
inline constexpr Layout kAllLayouts[] = {
    Layout::kContiguous,   Layout::kChannelsLast, Layout::kTransposed,    Layout::kPaddedRows,
    Layout::kPaddedLines,  Layout::kPaddedPixels, Layout::kStepped,       Layout::kReversed,
    Layout::kReversedRows, Layout::kExpanded,     Layout::kExpandedPixel,
};
// Several elements share a place in memory: for sources only.
inline constexpr bool IsExpanded(Layout layout) {
  return layout == Layout::kExpanded || layout == Layout::kExpandedPixel;
}
const char* LayoutName(Layout layout);

using Shape = std::array<int64_t, 4>;
std::array<int64_t, 4> LayoutStrides(Layout layout, const Shape& shape);

// A tensor whose storage is exactly what its strides reach, between two pages without access.
class GuardedTensor {
 public:
  // `at_end`: the storage ends where the second guard page starts; otherwise it starts `offset`
  // elements behind the first one, so that addresses are unaligned.
  GuardedTensor(base::DType dtype, const Shape& shape, Layout layout, bool at_end, size_t offset);
  ~GuardedTensor();
  GuardedTensor(const GuardedTensor&) = delete;
  GuardedTensor& operator=(const GuardedTensor&) = delete;

  void* origin() const { return origin_; }  // element (0, 0, 0, 0)
  const std::array<int64_t, 4>& strides() const { return strides_; }

  void FillRandom(std::mt19937_64& rng, bool finite);
  void FillBytes(unsigned char value);
  // The whole storage, gaps included, with every NaN of the dtype made the same one.
  std::vector<unsigned char> CanonicalBytes() const;

 private:
  base::DType dtype_;
  size_t element_size_;
  std::array<int64_t, 4> strides_;
  unsigned char* map_ = nullptr;
  size_t map_bytes_ = 0;
  unsigned char* storage_ = nullptr;
  size_t storage_bytes_ = 0;
  unsigned char* origin_ = nullptr;
};

// One call: small side (in) and large side (out) of each axis and both layouts.
struct NearestCase {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 1, c = 1;
  int64_t h_in = 1, h_out = 1;
  int64_t w_in = 1, w_out = 1;
  double h_scale = 0, w_scale = 0;
  Layout from = Layout::kContiguous;  // what the kernel reads
  Layout to = Layout::kContiguous;    // what it writes
  bool at_end = true;
  size_t offset = 0;
  bool finite = true;
  uint64_t seed = 1;
};
std::ostream& operator<<(std::ostream& os, const NearestCase& c);

// Random shapes: all dtypes and layouts; extents around vector lengths; equal, general, large and
// downscaling ratios. At most about `max_elements` elements a side.
NearestCase RandomNearestCase(std::mt19937_64& rng, int64_t max_elements);

inline constexpr base::DType kFloatingTypes[] = {base::DType::kFloat, base::DType::kFloat16,
                                                 base::DType::kBFloat16, base::DType::kDouble};

// PORTACL_TEST_SEED and PORTACL_TEST_REPETITIONS, or what is given.
uint64_t Seed(uint64_t otherwise);
int Repetitions(int otherwise);

}  // namespace portacl::test

#endif  // PORTACL_TESTS_SUPPORT_NEAREST_CASE_H_
