// Made inputs: the same bits on every machine and in Python (portacl/testing/_values.py). Nothing
// but a 64-bit integer generator and + - * / on doubles, one rounding to the element type at the
// end.
//
//   uniform:LOW:HIGH    in [LOW, HIGH); the default, -1 to 1, for grids -1.1 to 1.1
//   integers:LOW:HIGH   whole numbers, both ends included; of uint8 the default, 0 to 255
//   constant:VALUE      ones = constant:1
//   ramp                0, 1, 2, ... in row-major order
//   nonfinite           uniform:-1:1 with NaN, infinities and 1e30 among it
// and for grids
//   identity            points on the image's own pixels
//   smooth              identity, slightly turned and enlarged
//   onecell             every point between the same pixels
//   kinks               pixel centres, halves between them, edges, folds: where derivatives jump
#ifndef PORTACL_TOOLS_TESTING_VALUES_H_
#define PORTACL_TOOLS_TESTING_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace portacl::golden {

// Number i of the stream of a seed: SplitMix64, without the steps before it.
uint64_t Draw(uint64_t seed, uint64_t i);
// In [0, 1), with 53 random bits.
inline double Unit(uint64_t draw) { return static_cast<double>(draw >> 11) * 0x1p-53; }

// The words above, without their numbers.
std::vector<std::string> ValueWords(bool grid);

// "" if `spec` is one of the above, else the problem.
std::string ValuesProblem(const std::string& spec, bool grid);

// The image that a grid points at.
struct GridFrame {
  std::vector<int64_t> points;  // its own extents without the batch and the last: OH, OW
  std::vector<int64_t> image;   // spatial extents of the image: H, W
  bool align_corners = false;
};

// `count` values in row-major order, not yet rounded. The spec must have no problem; `grid` is null
// for tensors that are no grids.
std::vector<double> MakeValues(const std::string& spec, uint64_t seed, int64_t count,
                               const GridFrame* grid);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_VALUES_H_
