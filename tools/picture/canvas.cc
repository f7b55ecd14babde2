// Coverage of shapes and glyphs, blended into pixels.
#include "tools/picture/canvas.h"

#include <stb/stb_truetype.h>

#include <algorithm>
#include <cmath>

#include "tools/cli_error.h"
#include "tools/data/embedded.h"

namespace portacl::cli {
namespace {

// A font file from tools/data, parsed once.
class Font {
 public:
  explicit Font(const char* file) {
    const unsigned char* data = EmbeddedFile(file).data();
    if (stbtt_InitFont(&info_, data, stbtt_GetFontOffsetForIndex(data, 0)) == 0) {
      throw RuntimeFailure(std::string("the embedded font ") + file + " is damaged");
    }
  }
  const stbtt_fontinfo* info() const { return &info_; }
  float Scale(double size) const {
    return stbtt_ScaleForMappingEmToPixels(&info_, static_cast<float>(size));
  }
  static const Font& Get(Weight weight) {
    static const Font regular("Roboto-Regular.ttf");
    static const Font medium("Roboto-Medium.ttf");
    return weight == Weight::kMedium ? medium : regular;
  }

 private:
  stbtt_fontinfo info_;
};

// Code points of UTF-8 text; a malformed byte stands for itself.
std::vector<int> DecodeUtf8(const std::string& text) {
  std::vector<int> points;
  for (size_t i = 0; i < text.size();) {
    const unsigned char first = static_cast<unsigned char>(text[i]);
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (length == 1 || i + length > text.size()) {
      points.push_back(first);
      ++i;
      continue;
    }
    int point = first & (0xFF >> (length + 1));
    for (size_t k = 1; k < length; ++k) point = point << 6 | (text[i + k] & 0x3F);
    points.push_back(point);
    i += length;
  }
  return points;
}

// Calls visit(code point, pen position in pixels) for each character; returns the advance.
template <class Visit>
double LayOut(const std::string& text, const TextStyle& style, Visit visit) {
  const Font& font = Font::Get(style.weight);
  const float scale = font.Scale(style.size);
  const std::vector<int> points = DecodeUtf8(text);
  double pen = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    visit(points[i], pen);
    int advance = 0, bearing = 0;
    stbtt_GetCodepointHMetrics(font.info(), points[i], &advance, &bearing);
    if (i + 1 < points.size()) {
      advance += stbtt_GetCodepointKernAdvance(font.info(), points[i], points[i + 1]);
    }
    pen += static_cast<double>(advance) * static_cast<double>(scale);
  }
  return pen;
}

// Sums of the pixels of `image` under [x0, x1) x [y0, y1), divided by the area.
Colour AreaMean(const Image& image, double x0, double y0, double x1, double y1) {
  double sum[3] = {}, area = 0;
  const int last_x = std::min(static_cast<int>(std::ceil(x1)), image.width());
  const int last_y = std::min(static_cast<int>(std::ceil(y1)), image.height());
  for (int y = static_cast<int>(y0); y < last_y; ++y) {
    const double height = std::min(y1, y + 1.0) - std::max(y0, static_cast<double>(y));
    for (int x = static_cast<int>(x0); x < last_x; ++x) {
      const double part = height * (std::min(x1, x + 1.0) - std::max(x0, static_cast<double>(x)));
      const Colour pixel = image.At(x, y);
      sum[0] += part * pixel.r;
      sum[1] += part * pixel.g;
      sum[2] += part * pixel.b;
      area += part;
    }
  }
  const auto level = [area](double s) { return static_cast<uint8_t>(std::lround(s / area)); };
  return {level(sum[0]), level(sum[1]), level(sum[2])};
}

}  // namespace

double TextWidth(const std::string& text, const TextStyle& style) {
  return LayOut(text, style, [](int, double) {});
}

std::vector<std::string> WrapText(const std::string& text, const TextStyle& style, double width) {
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find(' ', i), text.size());
    const std::string word = text.substr(i, end - i);
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (!lines.back().empty() && TextWidth(longer, style) > width) {
      lines.push_back(word);
    } else {
      lines.back() = longer;
    }
    i = end + 1;
  }
  return lines;
}

void Canvas::Blend(int x, int y, Colour colour, double coverage) {
  if (x < 0 || y < 0 || x >= width() || y >= height() || coverage <= 0) return;
  const auto mix = [coverage](uint8_t below, uint8_t above) {
    return static_cast<uint8_t>(std::lround(below + (above - below) * std::min(coverage, 1.0)));
  };
  Colour& pixel = image_.At(x, y);
  pixel = {mix(pixel.r, colour.r), mix(pixel.g, colour.g), mix(pixel.b, colour.b)};
}

void Canvas::FillRectangle(int x, int y, int width, int height, Colour colour) {
  for (int row = y; row < y + height; ++row) {
    for (int column = x; column < x + width; ++column) Blend(column, row, colour, 1);
  }
}

void Canvas::DrawFrame(int x, int y, int width, int height, Colour colour) {
  FillRectangle(x, y, width, 1, colour);
  FillRectangle(x, y + height - 1, width, 1, colour);
  FillRectangle(x, y, 1, height, colour);
  FillRectangle(x + width - 1, y, 1, height, colour);
}

// Colours the pixels that have their centre inside the shape (distance below 0); the edge is
// blended over one pixel.
template <class Distance>
void Canvas::FillShape(double left, double top, double right, double bottom, Colour colour,
                       Distance distance) {
  const int last_x = std::min(static_cast<int>(std::ceil(right)) + 1, width());
  const int last_y = std::min(static_cast<int>(std::ceil(bottom)) + 1, height());
  for (int y = std::max(static_cast<int>(top) - 1, 0); y < last_y; ++y) {
    for (int x = std::max(static_cast<int>(left) - 1, 0); x < last_x; ++x) {
      Blend(x, y, colour, std::clamp(0.5 - distance(x + 0.5, y + 0.5), 0.0, 1.0));
    }
  }
}

void Canvas::FillRoundedRectangle(int x, int y, int width, int height, double radius,
                                  Colour colour) {
  const double half_width = width / 2.0 - radius, half_height = height / 2.0 - radius;
  const double centre_x = x + width / 2.0, centre_y = y + height / 2.0;
  FillShape(x, y, x + width, y + height, colour, [=](double px, double py) {
    const double dx = std::max(std::fabs(px - centre_x) - half_width, 0.0);
    const double dy = std::max(std::fabs(py - centre_y) - half_height, 0.0);
    return std::hypot(dx, dy) - radius;
  });
}

void Canvas::FillDisc(double x, double y, double radius, Colour colour) {
  FillShape(x - radius, y - radius, x + radius, y + radius, colour,
            [=](double px, double py) { return std::hypot(px - x, py - y) - radius; });
}

void Canvas::DrawLine(double x0, double y0, double x1, double y1, double width, Colour colour) {
  const double dx = x1 - x0, dy = y1 - y0;
  const double length_squared = std::max(dx * dx + dy * dy, 1e-12);
  FillShape(std::min(x0, x1) - width, std::min(y0, y1) - width, std::max(x0, x1) + width,
            std::max(y0, y1) + width, colour, [=](double px, double py) {
              const double along =
                  std::clamp(((px - x0) * dx + (py - y0) * dy) / length_squared, 0.0, 1.0);
              return std::hypot(px - x0 - along * dx, py - y0 - along * dy) - width / 2;
            });
}

void Canvas::DrawImage(const Image& image, int x, int y, int width, int height) {
  const double step_x = static_cast<double>(image.width()) / width;
  const double step_y = static_cast<double>(image.height()) / height;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const Colour mean =
          AreaMean(image, column * step_x, row * step_y, (column + 1) * step_x, (row + 1) * step_y);
      Blend(x + column, y + row, mean, 1);
    }
  }
}

void Canvas::DrawText(double x, double y, const std::string& text, const TextStyle& style) {
  const Font& font = Font::Get(style.weight);
  const float scale = font.Scale(style.size);
  LayOut(text, style, [&](int point, double pen) {
    const double left = x + pen;
    const float shift = static_cast<float>(left - std::floor(left));
    int width = 0, height = 0, offset_x = 0, offset_y = 0;
    unsigned char* glyph = stbtt_GetCodepointBitmapSubpixel(
        font.info(), scale, scale, shift, 0, point, &width, &height, &offset_x, &offset_y);
    if (glyph == nullptr) return;  // a space
    for (int row = 0; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        Blend(static_cast<int>(std::floor(left)) + offset_x + column,
              static_cast<int>(std::lround(y)) + offset_y + row, style.colour,
              glyph[row * width + column] / 255.0);
      }
    }
    stbtt_FreeBitmap(glyph, nullptr);
  });
}

}  // namespace portacl::cli
