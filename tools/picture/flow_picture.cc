// The colours of vectors and the legend beside them.
#include "tools/picture/flow_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tools/cli_error.h"

namespace portacl::cli {
namespace {

constexpr Colour kNoFlow = {0, 0, 0};

// Colours of the directions 0 (right), 60, 120, ... degrees clockwise, of about equal strength.
constexpr Colour kWheel[6] = {{229, 57, 53},    // right: red
                              {245, 166, 35},   // right and down: orange
                              {139, 195, 74},   // left and down: green
                              {0, 172, 193},    // left: cyan
                              {57, 93, 219},    // left and up: blue
                              {190, 60, 200}};  // right and up: purple

double Mix(double from, double to, double part) { return from + (to - from) * part; }

void CheckShape(const HostTensor& vectors) {
  const Shape& shape = vectors.shape();
  constexpr int64_t kMaxExtent = 32768;
  if (shape.size() != 4 || shape[0] != 1 || shape[3] != 2 || shape[1] < 1 || shape[2] < 1 ||
      shape[1] > kMaxExtent || shape[2] > kMaxExtent) {
    throw BadInput(fmt::format("gridGrad of shape {} does not make a picture; wanted [1, H, W, 2]",
                               ToString(shape)));
  }
}

}  // namespace

Colour FlowColour(double x, double y) {
  const double length = std::hypot(x, y);
  if (!std::isfinite(length)) return kNoFlow;
  double sextant = std::atan2(y, x) / (std::numbers::pi / 3);
  if (sextant < 0) sextant += 6;
  const int index = static_cast<int>(sextant) % 6;
  const double part = sextant - std::floor(sextant);
  const Colour& a = kWheel[index];
  const Colour& b = kWheel[(index + 1) % 6];
  const double saturation = std::sqrt(std::min(length, 1.0));  // lets short vectors show
  const double darkening = length > 1 ? 0.82 : 1.0;
  const auto level = [&](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(std::lround(Mix(255, Mix(from, to, part), saturation) * darkening));
  };
  return {level(a.r, b.r), level(a.g, b.g), level(a.b, b.b)};
}

double FlowReference(const HostTensor& vectors) {
  CheckShape(vectors);
  std::vector<double> lengths;
  lengths.reserve(static_cast<size_t>(vectors.count() / 2));
  for (int64_t i = 0; i + 1 < vectors.count(); i += 2) {
    const double length = std::hypot(vectors.Get(i), vectors.Get(i + 1));
    if (std::isfinite(length) && length > 0) lengths.push_back(length);
  }
  if (lengths.empty()) return 1;
  const auto nth = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() * 98 / 100);
  std::nth_element(lengths.begin(), nth, lengths.end());
  return *nth;
}

bool HasNotFinite(const HostTensor& vectors) {
  for (int64_t i = 0; i < vectors.count(); ++i) {
    if (!std::isfinite(vectors.Get(i))) return true;
  }
  return false;
}

Image FlowPicture(const HostTensor& vectors, double reference) {
  CheckShape(vectors);
  const int height = static_cast<int>(vectors.extent(1));
  const int width = static_cast<int>(vectors.extent(2));
  Image image(width, height);
  int64_t i = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x, i += 2) {
      image.At(x, y) = FlowColour(vectors.Get(i) / reference, vectors.Get(i + 1) / reference);
    }
  }
  return image;
}

void DrawFlowLegend(Canvas& canvas, double centre_x, double centre_y, double radius) {
  constexpr Colour kRim = {134, 142, 150};
  canvas.FillDisc(centre_x, centre_y, radius + 1, kRim);
  const int reach = static_cast<int>(std::ceil(radius));
  for (int y = 0; y < 2 * reach; ++y) {
    for (int x = 0; x < 2 * reach; ++x) {
      const double dx = (x + 0.5 - reach) / radius, dy = (y + 0.5 - reach) / radius;
      if (std::hypot(dx, dy) < 1) {
        canvas.FillRectangle(static_cast<int>(centre_x) - reach + x,
                             static_cast<int>(centre_y) - reach + y, 1, 1, FlowColour(dx, dy));
      }
    }
  }
}

Image FlowPictureWithLegend(const HostTensor& vectors, const std::string& title) {
  const double reference = FlowReference(vectors);
  const Image picture = FlowPicture(vectors, reference);
  constexpr int kMargin = 24, kLegendWidth = 200, kTitleHeight = 44, kMinimum = 512;
  const int zoom = std::max(1, kMinimum / std::max(picture.width(), picture.height()));
  const int width = picture.width() * zoom, height = picture.height() * zoom;
  Canvas canvas(width + kLegendWidth + 3 * kMargin,
                std::max(height, 310) + kTitleHeight + 2 * kMargin, {255, 255, 255});
  const TextStyle heading{20, Weight::kMedium, {33, 37, 41}};
  const TextStyle text{14, Weight::kRegular, {73, 80, 87}};
  canvas.DrawText(kMargin, kMargin + 18, title, heading);
  const int top = kMargin + kTitleHeight;
  canvas.DrawImage(picture, kMargin, top, width, height);
  canvas.DrawFrame(kMargin - 1, top - 1, width + 2, height + 2, {206, 212, 218});

  const double left = width + 2.0 * kMargin;
  const double centre_x = left + kLegendWidth / 2.0, centre_y = top + 20 + 72;
  DrawFlowLegend(canvas, centre_x, centre_y, 64);
  canvas.DrawText(centre_x - TextWidth("up (\u2212y)", text) / 2, centre_y - 74, "up (\u2212y)",
                  text);
  canvas.DrawText(centre_x - TextWidth("down (+y)", text) / 2, centre_y + 86, "down (+y)", text);
  canvas.DrawText(centre_x + 70, centre_y + 5, "+x", text);
  canvas.DrawText(centre_x - 70 - TextWidth("\u2212x", text), centre_y + 5, "\u2212x", text);
  std::vector<std::string> lines = {"Colour: direction", "White: no gradient",
                                    fmt::format("Rim: length {:.3g}", reference),
                                    "Half way: a quarter of it", "Darker: longer"};
  if (HasNotFinite(vectors)) lines.emplace_back("Black: NaN or infinity");
  double y = centre_y + 116;
  for (const std::string& line : lines) {
    canvas.DrawText(centre_x - TextWidth(line, text) / 2, y, line, text);
    y += 20;
  }
  return canvas.image();
}

}  // namespace portacl::cli
