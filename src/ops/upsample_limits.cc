// The pages' largest extents, numbers of rows and of bytes.
#include "ops/upsample_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace portacl::ops::upsample {
namespace {

using base::Dims;
using base::DType;

// Products of extents, in double: they may pass 2^63.
double Product(const Dims& shape, int from, int to) {
  double product = 1;
  for (int axis = from; axis < to; ++axis) product *= static_cast<double>(shape[axis]);
  return product;
}

std::string TooLong(const PageLimits& limits, const Dims& shape, DType dtype) {
  const bool wide = dtype == DType::kDouble || dtype == DType::kUInt8;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t longest = limits.longest > 0 ? limits.longest : shape[axis];
    if (wide && axis >= 2 && limits.longest_wide > 0) {
      longest = std::min(longest, limits.longest_wide);
    }
    if (shape[axis] > longest) {
      return fmt::format("an extent is {}, but the page's longest is {}", shape[axis], longest);
    }
  }
  return {};
}

// The numbers of elements that the page counts together.
double Counted(Reach reach, const Dims& in, const Dims& out, bool backward) {
  const Dims& read = backward ? out : in;
  const Dims& written = backward ? in : out;
  const int last = in.rank() - 1;
  const double images = Product(in, 0, 2);
  const double both = Product(in, 2, last + 1) + Product(out, 2, last + 1);
  switch (reach) {
    case Reach::kLine:
      return images * (Product(read, 2, 3) + 2 * Product(written, 2, 3));
    case Reach::kSixteens:
      return static_cast<double>(in[0]) * static_cast<double>((in[1] + 15) / 16 * 16) * both;
    case Reach::kPlane:
      return images * (both + static_cast<double>(read[2]) * static_cast<double>(written[3]));
    case Reach::kVolume:
      return images * (both + static_cast<double>(in[2]) * static_cast<double>(out[4]) *
                                  (static_cast<double>(in[3]) + static_cast<double>(out[3])));
    default:
      return 0;
  }
}

std::string TooLarge(Reach reach, const Dims& in, const Dims& out, bool backward, DType dtype) {
  const bool in_float = reach == Reach::kPlane || reach == Reach::kVolume;
  const double bytes = Counted(reach, in, out, backward) *
                       static_cast<double>(in_float ? 4 : base::DTypeSize(dtype));
  constexpr double kGiB = int64_t{1} << 30;
  if (bytes < 60 * kGiB) return {};
  return fmt::format(
      "the page's largest input, output and intermediate results have 60 GiB{}, these {:.1f}",
      in_float ? " in float" : "", bytes / kGiB);
}

// The rows of the read tensor, and the planes of a written volume.
std::string TooMany(Reach reach, const Dims& in, const Dims& out, bool backward) {
  constexpr double k2To31 = int64_t{1} << 31;
  if (reach == Reach::kAny || reach == Reach::kSixteens) return {};
  const Dims& read = backward ? out : in;
  const double rows = Product(read, 0, read.rank() - 1);
  if (rows >= k2To31) {
    return fmt::format("what is read has {:.0f} rows, but the page wants less than 2^31", rows);
  }
  if (reach != Reach::kVolume) return {};
  const double plane = Product(backward ? in : out, 3, 5);
  if (plane < k2To31) return {};
  return fmt::format("H * W of what is written is {:.0f}, but the page wants less than 2^31",
                     plane);
}

}  // namespace

std::string BeyondPage(const PageLimits& limits, const Dims& in, const Dims& out, bool backward,
                       DType dtype) {
  if (limits == PageLimits()) return {};
  for (const Dims* const shape : {&in, &out}) {
    if (std::string text = TooLong(limits, *shape, dtype); !text.empty()) return text;
  }
  if (limits.reach == Reach::kAny) return {};
  std::string text = TooMany(limits.reach, in, out, backward);
  return text.empty() ? TooLarge(limits.reach, in, out, backward, dtype) : text;
}

}  // namespace portacl::ops::upsample
