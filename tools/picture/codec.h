// PNG and JPEG files from and to pixels in memory, by libpng and libjpeg-turbo.
#ifndef PORTACL_TOOLS_PICTURE_CODEC_H_
#define PORTACL_TOOLS_PICTURE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace portacl::cli {

// Pictures with more pixels are not read: a file of a few kilobytes may claim any number. Such a
// picture takes 1.2 GB at its peak (16 bits a channel), 0.8 GB of them as a float32 tensor.
inline constexpr int64_t kMaxPixels = int64_t{1} << 26;
inline constexpr int64_t kMaxExtent = 32768;  // per side, read and written

// Decoded pixels: rows from the top, channels interleaved, alpha left out.
struct Samples {
  int width = 0, height = 0;
  int channels = 0;   // 1 grey, 3 red, green, blue
  bool deep = false;  // 16 bits each, of this machine's byte order, otherwise 8
  std::vector<unsigned char> bytes;
};

// Decodes a file of either kind. Throws BadInput ("NAME: ...") if it is neither, damaged, cut
// short, or larger than the budget, before memory is allocated.
Samples DecodeSamples(std::span<const unsigned char> file, const std::string& name);

bool IsPng(std::span<const unsigned char> file);
bool IsJpeg(std::span<const unsigned char> file);
Samples DecodePng(std::span<const unsigned char> file, const std::string& name);
Samples DecodeJpeg(std::span<const unsigned char> file, const std::string& name);

// Throws BadInput for a picture that is larger than the budget.
void CheckBudget(int64_t width, int64_t height, const std::string& name);

// 8-bit RGB, rows from the top without gaps. Throw RuntimeFailure if there is no memory for it.
std::string EncodePng(const void* pixels, int width, int height, const std::string& name);
std::string EncodeJpeg(const void* pixels, int width, int height, const std::string& name);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_CODEC_H_
