// The choice of the decoder by a file's first bytes, and the budget.
#include "tools/picture/codec.h"

#include <fmt/format.h>

#include "tools/cli_error.h"

namespace portacl::cli {

Samples DecodeSamples(std::span<const unsigned char> file, const std::string& name) {
  if (IsPng(file)) return DecodePng(file, name);
  if (IsJpeg(file)) return DecodeJpeg(file, name);
  throw BadInput(fmt::format("{}: not a PNG or JPEG picture", name));
}

void CheckBudget(int64_t width, int64_t height, const std::string& name) {
  if (width <= kMaxExtent && height <= kMaxExtent && width * height <= kMaxPixels) return;
  throw BadInput(fmt::format("{}: {} x {} pixels, but at most {} and {} per side are read", name,
                             width, height, kMaxPixels, kMaxExtent));
}

}  // namespace portacl::cli
