// Pictures in and out: 8-bit RGB images, PNG and JPEG files, and their conversion to tensors.
#ifndef PORTACL_TOOLS_PICTURE_IMAGE_H_
#define PORTACL_TOOLS_PICTURE_IMAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
};

// Rows of pixels, top row first.
class Image {
 public:
  Image() = default;
  Image(int width, int height, Colour fill = {});

  int width() const { return width_; }
  int height() const { return height_; }
  Colour& At(int x, int y) { return pixels_[static_cast<size_t>(y) * width_ + x]; }
  const Colour& At(int x, int y) const { return pixels_[static_cast<size_t>(y) * width_ + x]; }
  const void* data() const { return pixels_.data(); }

 private:
  int width_ = 0;
  int height_ = 0;
  std::vector<Colour> pixels_;
};

// Decodes PNG or JPEG into a float32 tensor (1, C, H, W), values 0..1. C is 1 for grey pictures and
// 3 for coloured ones; an alpha channel is dropped. `name` is for messages.
HostTensor DecodePicture(std::span<const unsigned char> file, const std::string& name,
                         DataType dtype = DataType::kFloat32);
HostTensor ReadPicture(const std::string& path, DataType dtype = DataType::kFloat32);

// How values become grey levels, per channel.
struct ValueRange {
  double low = 0;   // black
  double high = 1;  // white
};

// The range of a gradient: 0..max if nothing is negative, else -max..max, so that 0 is mid-grey.
// Values that are not finite do not count.
ValueRange AutomaticRange(const HostTensor& tensor);

// A tensor (C, H, W) or (1, C, H, W) with C = 1 or 3 as a picture; NaN and infinity are magenta.
// Throws BadInput for other shapes.
Image TensorToImage(const HostTensor& tensor, ValueRange range, const std::string& what);

// Writes .png, or .jpg/.jpeg in quality 92.
void WriteImage(const std::string& path, const Image& image);

bool IsPictureExtension(const std::string& extension);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_IMAGE_H_
