// Drawing of the line chart: axes, ticks, curve.
#include "tools/picture/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/picture/canvas.h"
#include "tools/picture/contact_sheet.h"

namespace portacl::cli {
namespace {

constexpr Colour kPaper = {250, 251, 252};
constexpr Colour kGrid = {226, 230, 235};
constexpr Colour kLineColour = {37, 99, 235};
const TextStyle kTick{12, Weight::kRegular, {84, 94, 107}};
constexpr double kLabelGap = 7;  // from a point to its label
const TextStyle kLabel{12.5, Weight::kMedium, {24, 29, 36}};

// The plot's area inside the image, and values to pixels.
struct Frame {
  double left, right, top, bottom;
  double low, high;  // decades: log10 of the axis's ends
  size_t steps;

  double X(size_t step) const {
    return left + (right - left) * static_cast<double>(step) /
                      static_cast<double>(std::max<size_t>(steps, 1));
  }
  double Y(double value) const {
    return bottom - (bottom - top) * (std::log10(value) - low) / (high - low);
  }
};

// Leaves room on the right for the last value's label.
Frame MakeFrame(const Curve& curve, int width) {
  const std::vector<double>& values = curve.values;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const bool labelled = curve.labels.size() == values.size() && !curve.labels.back().empty();
  const double margin = labelled ? kLabelGap + TextWidth(curve.labels.back(), kLabel) + 8 : 24;
  const double low = std::floor(std::log10(*least)), high = std::ceil(std::log10(*most) + 0.05);
  return {
      52, width - margin, 44, kPanelSide - 34.0, low, std::max(high, low + 1), values.size() - 1};
}

void DrawAxes(Canvas& canvas, const Frame& frame, const std::string& axis_label) {
  const int decades = static_cast<int>(frame.high - frame.low);
  const int stride = std::max(1, (decades + 5) / 6);
  for (int decade = 0; decade <= decades; decade += stride) {
    const double value = std::pow(10.0, frame.low + decade);
    canvas.DrawLine(frame.left, frame.Y(value), frame.right, frame.Y(value), 1, kGrid);
    const std::string text = value >= 0.01 && value < 1e5
                                 ? fmt::format("{:g}", value)
                                 : fmt::format("1e{}", static_cast<int>(frame.low) + decade);
    canvas.DrawText(frame.left - 8 - TextWidth(text, kTick), frame.Y(value) + 4, text, kTick);
  }
  const size_t tick = std::max<size_t>(1, (frame.steps + 7) / 8);
  for (size_t step = 0; step <= frame.steps; step += tick) {
    const std::string text = std::to_string(step);
    canvas.DrawText(frame.X(step) - TextWidth(text, kTick) / 2, frame.bottom + 16, text, kTick);
  }
  canvas.DrawText(8, 16, axis_label, kTick);
  canvas.DrawText(frame.right - TextWidth("step", kTick), frame.bottom + 30, "step", kTick);
}

}  // namespace

Image DrawLossPlot(const Curve& curve, int width, const std::string& axis_label) {
  Canvas canvas(width, kPanelSide, kPaper);
  const Frame frame = MakeFrame(curve, width);
  DrawAxes(canvas, frame, axis_label);
  for (size_t i = 1; i < curve.values.size(); ++i) {
    canvas.DrawLine(frame.X(i - 1), frame.Y(curve.values[i - 1]), frame.X(i),
                    frame.Y(curve.values[i]), 2, kLineColour);
  }
  for (size_t i = 0; i < curve.values.size(); ++i) {
    const double x = frame.X(i), y = frame.Y(curve.values[i]);
    canvas.FillDisc(x, y, curve.values.size() > 20 ? 2.2 : 3.5, kLineColour);
    if (i >= curve.labels.size() || curve.labels[i].empty()) continue;
    canvas.DrawText(x + kLabelGap, y - kLabelGap, curve.labels[i], kLabel);
  }
  return canvas.image();
}

}  // namespace portacl::cli
