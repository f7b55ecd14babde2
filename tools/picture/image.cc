// Decoding and encoding of PNG and JPEG, and values to grey levels.
#include "tools/picture/image.h"

#include <fmt/format.h>
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"

namespace portacl::cli {
namespace {

constexpr int64_t kMaxExtent = 32768;  // per side
constexpr Colour kNotFinite = {255, 0, 255};

struct FreePixels {
  void operator()(void* pixels) const { stbi_image_free(pixels); }
};

uint8_t ToLevel(double value, ValueRange range) {
  const double level = (value - range.low) / (range.high - range.low) * 255.0;
  return static_cast<uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
}

void AppendBytes(void* context, void* data, int size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                             static_cast<size_t>(size));
}

// Interleaved pixels -> planes, each value divided by the largest of its type.
template <class T>
void CopyPlanes(const T* pixels, int stored_channels, HostTensor& tensor) {
  const int64_t channels = tensor.extent(1);
  const int64_t plane = tensor.extent(2) * tensor.extent(3);
  const float largest = std::numeric_limits<T>::max();
  float* values = reinterpret_cast<float*>(tensor.data());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < plane; ++i) {
      values[c * plane + i] = static_cast<float>(pixels[i * stored_channels + c]) / largest;
    }
  }
}

}  // namespace

Image::Image(int width, int height, Colour fill)
    : width_(width), height_(height), pixels_(static_cast<size_t>(width) * height, fill) {}

HostTensor DecodePicture(std::span<const unsigned char> file, const std::string& name) {
  if (file.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw BadInput(fmt::format("{}: a picture file of {} bytes is too large", name, file.size()));
  }
  const int size = static_cast<int>(file.size());
  int width = 0, height = 0, stored = 0;
  if (stbi_info_from_memory(file.data(), size, &width, &height, &stored) == 0) {
    throw BadInput(fmt::format("{}: not a PNG or JPEG picture ({})", name, stbi_failure_reason()));
  }
  if (width > kMaxExtent || height > kMaxExtent) {
    throw BadInput(fmt::format("{}: {} x {} pixels, but at most {} per side are read", name, width,
                               height, kMaxExtent));
  }
  const bool deep = stbi_is_16_bit_from_memory(file.data(), size) != 0;
  std::unique_ptr<void, FreePixels> pixels;
  if (deep) {
    pixels.reset(stbi_load_16_from_memory(file.data(), size, &width, &height, &stored, 0));
  } else {
    pixels.reset(stbi_load_from_memory(file.data(), size, &width, &height, &stored, 0));
  }
  if (pixels == nullptr) {
    throw BadInput(fmt::format("{}: damaged picture ({})", name, stbi_failure_reason()));
  }
  const int channels = stored >= 3 ? 3 : 1;
  HostTensor tensor(DataType::kFloat32, {1, channels, height, width}, name);
  if (deep) {
    CopyPlanes(static_cast<const uint16_t*>(pixels.get()), stored, tensor);
  } else {
    CopyPlanes(static_cast<const uint8_t*>(pixels.get()), stored, tensor);
  }
  return tensor;
}

HostTensor ReadPicture(const std::string& path) {
  InputFile file(path);
  const size_t size = CountBytes({static_cast<int64_t>(file.size())}, 1, path);
  std::vector<unsigned char> bytes(size);
  file.Read(bytes.data(), bytes.size(), "picture");
  return DecodePicture(bytes, path);
}

ValueRange AutomaticRange(const HostTensor& tensor) {
  double low = 0, high = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.Get(i);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double most = std::max(high, -low);
  if (most == 0) return {low < 0 ? -1.0 : 0.0, 1.0};
  return {low < 0 ? -most : 0.0, most};
}

Image TensorToImage(const HostTensor& tensor, ValueRange range, const std::string& what) {
  const Shape& shape = tensor.shape();
  const bool fits = (shape.size() == 3 || (shape.size() == 4 && shape[0] == 1)) &&
                    (shape[shape.size() - 3] == 1 || shape[shape.size() - 3] == 3) &&
                    shape[shape.size() - 2] >= 1 && shape[shape.size() - 1] >= 1 &&
                    shape[shape.size() - 2] <= kMaxExtent && shape[shape.size() - 1] <= kMaxExtent;
  if (!fits) {
    throw BadInput(fmt::format(
        "{}: shape {} does not make a picture; wanted [1, C, H, W] with C 1 or 3, sides up to {}",
        what, ToString(shape), kMaxExtent));
  }
  const int64_t channels = shape[shape.size() - 3];
  const int height = static_cast<int>(shape[shape.size() - 2]);
  const int width = static_cast<int>(shape[shape.size() - 1]);
  const int64_t plane = static_cast<int64_t>(height) * width;
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double values[3];
      for (int64_t c = 0; c < 3; ++c) {
        values[c] = tensor.Get(std::min(c, channels - 1) * plane + int64_t{y} * width + x);
      }
      const bool finite =
          std::isfinite(values[0]) && std::isfinite(values[1]) && std::isfinite(values[2]);
      image.At(x, y) = finite ? Colour{ToLevel(values[0], range), ToLevel(values[1], range),
                                       ToLevel(values[2], range)}
                              : kNotFinite;
    }
  }
  return image;
}

void WriteImage(const std::string& path, const Image& image) {
  std::string file;
  int written = 0;
  if (Extension(path) == "png") {
    written = stbi_write_png_to_func(AppendBytes, &file, image.width(), image.height(), 3,
                                     image.data(), image.width() * 3);
  } else {
    constexpr int kQuality = 92;
    written = stbi_write_jpg_to_func(AppendBytes, &file, image.width(), image.height(), 3,
                                     image.data(), kQuality);
  }
  if (written == 0) throw RuntimeFailure(fmt::format("{}: the picture could not be encoded", path));
  WriteFile(path, file, nullptr, 0);
}

bool IsPictureExtension(const std::string& extension) {
  return extension == "png" || extension == "jpg" || extension == "jpeg";
}

}  // namespace portacl::cli
