// Decoding and encoding of PNG and JPEG, and values to grey levels.
#include "tools/picture/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/picture/codec.h"

namespace portacl::cli {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 29;  // more than any picture within the budget
constexpr Colour kNotFinite = {255, 0, 255};

uint8_t ToLevel(double value, ValueRange range) {
  const double level = (value - range.low) / (range.high - range.low) * 255.0;
  return static_cast<uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
}

void SetElement(uint8_t sample, uint8_t* element) { *element = sample; }
void SetElement(uint16_t sample, uint8_t* element) {
  *element = static_cast<uint8_t>((uint32_t{sample} * 255 + 32767) / 65535);
}
template <class T>
void SetElement(T sample, float* element) {
  *element = static_cast<float>(sample) / static_cast<float>(std::numeric_limits<T>::max());
}

// Interleaved samples -> planes: bytes, or each value divided by the largest of its type.
template <class T, class Element>
void CopyPlanes(const Samples& samples, HostTensor& tensor) {
  const int64_t channels = tensor.extent(1);
  const int64_t plane = tensor.extent(2) * tensor.extent(3);
  auto* const elements = reinterpret_cast<Element*>(tensor.data());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < plane; ++i) {
      T sample = 0;
      std::memcpy(&sample, samples.bytes.data() + (i * channels + c) * int64_t{sizeof(T)},
                  sizeof(T));
      SetElement(sample, elements + c * plane + i);
    }
  }
}

template <class Element>
void CopyPlanes(const Samples& samples, HostTensor& tensor) {
  if (samples.deep) {
    CopyPlanes<uint16_t, Element>(samples, tensor);
  } else {
    CopyPlanes<uint8_t, Element>(samples, tensor);
  }
}

}  // namespace

Image::Image(int width, int height, Colour fill)
    : width_(width), height_(height), pixels_(static_cast<size_t>(width) * height, fill) {}

HostTensor DecodePicture(std::span<const unsigned char> file, const std::string& name,
                         DataType dtype) {
  const Samples samples = DecodeSamples(file, name);
  HostTensor tensor(dtype, {1, samples.channels, samples.height, samples.width}, name);
  if (dtype == kUInt8) {
    CopyPlanes<uint8_t>(samples, tensor);
  } else {
    CopyPlanes<float>(samples, tensor);
  }
  return tensor;
}

HostTensor ReadPicture(const std::string& path, DataType dtype) {
  InputFile file(path);
  if (file.size() > kMaxFileBytes) {
    throw BadInput(fmt::format("{}: a picture file of {} bytes, but at most {} are read", path,
                               file.size(), kMaxFileBytes));
  }
  std::vector<unsigned char> bytes(static_cast<size_t>(file.size()));
  file.Read(bytes.data(), bytes.size(), "picture");
  return DecodePicture(bytes, path, dtype);
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
  const auto encode = Extension(path) == "png" ? EncodePng : EncodeJpeg;
  WriteFile(path, encode(image.data(), image.width(), image.height(), path), nullptr, 0);
}

bool IsPictureExtension(const std::string& extension) {
  return extension == "png" || extension == "jpg" || extension == "jpeg";
}

}  // namespace portacl::cli
