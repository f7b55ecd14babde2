// The one entry of Exif data that changes a picture, and the eight ways to turn and mirror.
#include "tools/picture/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace portacl::cli {
namespace {

constexpr uint32_t kOrientation = 0x0112, kShort = 3;

// Numbers of either byte order; 0 beyond the end.
class Reader {
 public:
  explicit Reader(std::span<const unsigned char> bytes)
      : bytes_(bytes), little_(bytes.size() > 1 && bytes[0] == 'I') {}
  uint32_t Number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[at + (little_ ? size - 1 - i : i)];
    }
    return value;
  }

 private:
  std::span<const unsigned char> bytes_;
  bool little_;
};

}  // namespace

int ExifOrientation(std::span<const unsigned char> tiff) {
  const bool known = tiff.size() > 8 && (std::memcmp(tiff.data(), "II*\0", 4) == 0 ||
                                         std::memcmp(tiff.data(), "MM\0*", 4) == 0);
  if (!known) return 1;
  const Reader reader(tiff);
  const size_t table = reader.Number(4, 4);
  const size_t entries = reader.Number(table, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = table + 2 + 12 * i;
    if (reader.Number(entry, 2) != kOrientation || reader.Number(entry + 2, 2) != kShort) continue;
    const uint32_t value = reader.Number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int JpegOrientation(std::span<const unsigned char> file) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr unsigned char kApp1 = 0xE1, kScan = 0xDA;
  size_t at = 2;
  while (at + 4 <= file.size() && file[at] == 0xFF && file[at + 1] != kScan) {
    const size_t size = static_cast<size_t>(file[at + 2]) << 8 | file[at + 3];
    if (size < 2 || size > file.size() - at - 2) break;
    const std::span<const unsigned char> body = file.subspan(at + 4, size - 2);
    if (file[at + 1] == kApp1 && body.size() > kExif.size() &&
        std::memcmp(body.data(), kExif.data(), kExif.size()) == 0) {
      return ExifOrientation(body.subspan(kExif.size()));
    }
    at += 2 + size;
  }
  return 1;
}

Samples Upright(Samples samples, int orientation) {
  if (orientation <= 1 || orientation > 8) return samples;
  // From stored to upright: 2 to 4 mirror or turn by 180 degrees, 5 to 8 swap the axes too.
  const bool swap = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Samples seen = samples;
  if (swap) std::swap(seen.width, seen.height);
  const auto size = static_cast<size_t>(samples.channels) * (samples.deep ? 2 : 1);
  for (int y = 0; y < seen.height; ++y) {
    for (int x = 0; x < seen.width; ++x) {
      int column = swap ? y : x, row = swap ? x : y;
      if (flip_x) column = samples.width - 1 - column;
      if (flip_y) row = samples.height - 1 - row;
      std::copy_n(
          samples.bytes.data() + (static_cast<size_t>(row) * static_cast<size_t>(samples.width) +
                                  static_cast<size_t>(column)) *
                                     size,
          size,
          seen.bytes.data() +
              (static_cast<size_t>(y) * static_cast<size_t>(seen.width) + static_cast<size_t>(x)) *
                  size);
    }
  }
  return seen;
}

}  // namespace portacl::cli
