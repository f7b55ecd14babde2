// The tables of linear, cubic, antialiased and Lanczos resizing, one per axis. A table has the
// sources of each destination and their weights.
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
// in Pillow. kNone: they stay floating-point numbers.
enum class FixedWeights { kNone, kPyTorch, kPillow };

// Lanczos has three lobes and always antialiases.
enum class ResampleMode { kLinear, kCubic, kAntialiasedLinear, kAntialiasedCubic, kLanczos };

// One axis of the forward function: `in` elements become `out`.
struct ResampleRule {
  ResampleMode mode = ResampleMode::kLinear;
  int64_t in = 1;  // extents are at least 1
  int64_t out = 1;
  bool align_corners = false;
  bool from_top_left = false;  // output o lies at input ratio * o: TensorFlow's oldest rule
  double scale = 0;        // outputs per input, given by the caller; 0 or less: from the extents
  bool in_double = false;  // compute and weigh in double: for double tensors and bytes
  FixedWeights fixed = FixedWeights::kNone;  // if not kNone: forward only

  // Returns inputs per output, in the table's type. Infinite if 1 / scale is infinite; checks of
  // antialiased modes must refuse such a scale.
  double Ratio() const;

  // Returns an upper bound of all outputs' taps; 0 for an identity, which has no table.
  double MostTaps() const;
};

// Makes a ResampleAxis and owns its arrays, unless the caller gives a place for them.
class ResampleTable {
 public:
  // Makes the forward table, or (backward) its transpose: a destination's taps ascend by output,
  // then by tap. `place` is null or has room for Bytes(). Throws std::bad_alloc.
  ResampleTable(const ResampleRule& rule, bool backward, std::byte* place = nullptr);
  static size_t Bytes(const ResampleRule& rule, bool backward);
  // Makes a table of nearest for bytes: the rule gives the source of each of `out` destinations.
  ResampleTable(const NearestIndexRule& rule, int64_t in, int64_t out);
  ResampleTable(const ResampleTable&) = delete;
  ResampleTable& operator=(const ResampleTable&) = delete;
  const ResampleAxis& axis() const { return axis_; }

 private:
  template <class F>
  void Make(const ResampleRule& rule, bool backward, std::byte* place);
  void MakeFixed(const ResampleRule& rule);
  // `most`: the taps of the destination with the most taps; 0: Describe() counts them.
  void Describe(const int64_t* start, const int64_t* source, const void* weight, int64_t most = 0);

  // The arrays of a table for bytes. They are apart, because with them a plan of resizing would
  // exceed 1 KiB, and then glibc allocates slowly.
  struct Fixed {
    std::vector<int64_t> start;
    std::vector<int64_t> source;
    std::vector<int32_t> weight;
  };

  std::unique_ptr<std::byte[]> memory_;  // all arrays, unless they are in fixed_
  std::unique_ptr<Fixed> fixed_;
  ResampleAxis axis_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RESAMPLE_AXIS_H_
