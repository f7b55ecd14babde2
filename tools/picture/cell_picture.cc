// Drawing of magnified cells.
#include "tools/picture/cell_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/picture/canvas.h"
#include "tools/picture/contact_sheet.h"

namespace portacl::cli {

Colour HeatColour(double value) {
  // Light to dark in equal steps.
  static constexpr Colour kStops[] = {
      {255, 255, 255}, {253, 224, 163}, {244, 143, 71}, {196, 45, 86}, {72, 16, 98}};
  constexpr int kLast = 4;
  const double place = std::clamp(value, 0.0, 1.0) * kLast;
  const int stop = std::min(static_cast<int>(place), kLast - 1);
  const auto level = [&](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(std::lround(from + (to - from) * (place - stop)));
  };
  const Colour a = kStops[stop], b = kStops[stop + 1];
  return {level(a.r, b.r), level(a.g, b.g), level(a.b, b.b)};
}

Image CellPicture(const HostTensor& map, const Crop& crop, double most, bool numbers,
                  const std::vector<GridPoint>& points) {
  constexpr Colour kGap = {226, 230, 235}, kDot = {20, 60, 160}, kHalo = {255, 255, 255};
  Canvas canvas(kPanelSide, kPanelSide, kGap);
  const double cell = static_cast<double>(kPanelSide) / crop.side;
  const auto edge = [cell](int index) { return static_cast<int>(std::lround(index * cell)); };
  for (int row = 0; row < crop.side; ++row) {
    for (int column = 0; column < crop.side; ++column) {
      const double value = map.Get(int64_t{crop.top + row} * map.extent(3) + crop.left + column);
      canvas.FillRectangle(edge(column), edge(row), edge(column + 1) - edge(column) - 1,
                           edge(row + 1) - edge(row) - 1, HeatColour(value / most));
      if (!numbers) continue;
      const bool dark = value > 0.6 * most;
      const TextStyle style{cell * 0.62, Weight::kMedium,
                            dark ? Colour{255, 255, 255} : Colour{60, 60, 70}};
      const std::string text = fmt::format("{:.3g}", value);
      canvas.DrawText((column + 0.5) * cell - TextWidth(text, style) / 2 - 0.5,
                      (row + 0.5) * cell + style.size * 0.34, text, style);
    }
  }
  for (const GridPoint& point : points) {
    const double x = (point.x + 0.5 - crop.left) * cell, y = (point.y + 0.5 - crop.top) * cell;
    if (x < 0 || y < 0 || x > kPanelSide || y > kPanelSide) continue;
    canvas.FillDisc(x, y, 3.4, kHalo);
    canvas.FillDisc(x, y, 2.4, kDot);
  }
  return canvas.image();
}

}  // namespace portacl::cli
