// The tables of linear, cubic, antialiased and Lanczos resizing, one per axis: the sources of each
// destination, and their weights.
#ifndef PORTACL_OPS_RESAMPLE_AXIS_H_
#define PORTACL_OPS_RESAMPLE_AXIS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/nearest_axis.h"
#include "ops/resample_params.h"

namespace portacl::ops {

// How weights of bytes become fixed-point numbers: with 15 bits as in PyTorch, or with 22 bits as
// in Pillow.
enum class FixedWeights { kNone, kPyTorch, kPillow };

// Lanczos, with three lobes, is antialiased always.
enum class ResampleMode { kLinear, kCubic, kAntialiasedLinear, kAntialiasedCubic, kLanczos };

// One axis of the forward function: `in` elements become `out`.
struct ResampleRule {
  ResampleMode mode = ResampleMode::kLinear;
  int64_t in = 1;  // extents of at least 1
  int64_t out = 1;
  bool align_corners = false;
  bool from_top_left = false;  // output o lies at ratio * o: TensorFlow's oldest rule
  double scale = 0;        // outputs per input as the caller gave it; 0 or less: from the extents
  bool in_double = false;  // compute and weigh in double: for double tensors and bytes
  FixedWeights fixed = FixedWeights::kNone;  // others: forward only

  // Inputs per output, in the type of the table. Infinite if 1 / scale is infinite: antialiased
  // modes must refuse such a scale.
  double Ratio() const;

  // The taps of all outputs at most; 0 of an identity, which has no table.
  double MostTaps() const;
};

// Owns the arrays that a ResampleAxis points to, unless it gets a place for them.
class ResampleTable {
 public:
  // The forward table, or its transpose: there the taps of a destination ascend by output, then by
  // tap. `place` has room for Bytes(), or is null. Throws std::bad_alloc.
  ResampleTable(const ResampleRule& rule, bool backward, std::byte* place = nullptr);
  static size_t Bytes(const ResampleRule& rule, bool backward);
  // For bytes: each of `out` destinations is the source that the rule says.
  ResampleTable(const NearestIndexRule& rule, int64_t in, int64_t out);
  ResampleTable(const ResampleTable&) = delete;
  ResampleTable& operator=(const ResampleTable&) = delete;
  const ResampleAxis& axis() const { return axis_; }

 private:
  template <class F>
  void Make(const ResampleRule& rule, bool backward, std::byte* place);
  void MakeFixed(const ResampleRule& rule);
  // `most`: taps of the destination that has most; 0: to be counted.
  void Describe(const int64_t* start, const int64_t* source, const void* weight, int64_t most = 0);

  // The arrays of a table for bytes. By themselves: with them in it a plan of resizing would be
  // above 1 KiB, a slow allocation (glibc).
  struct Fixed {
    std::vector<int64_t> start;
    std::vector<int64_t> source;
    std::vector<int32_t> weight;
  };

  std::unique_ptr<std::byte[]> memory_;  // of all arrays of other types
  std::unique_ptr<Fixed> fixed_;
  ResampleAxis axis_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RESAMPLE_AXIS_H_
