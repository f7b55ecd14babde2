// Layout and drawing of the contact sheet.
#include "tools/picture/contact_sheet.h"

#include <algorithm>

#include "tools/picture/canvas.h"

namespace portacl::cli {
namespace {

constexpr int kMargin = 40;
constexpr int kPageWidth = PanelWidth(kSheetColumns) + 2 * kMargin;
constexpr int kHeaderHeight = 118;
constexpr int kSectionGap = 36;
constexpr int kRowGap = 22;

constexpr Colour kPaper = {255, 255, 255};
constexpr Colour kBand = {17, 24, 39};
constexpr Colour kInk = {24, 29, 36};
constexpr Colour kSoftInk = {84, 94, 107};
constexpr Colour kLine = {218, 223, 229};
constexpr Colour kAccent = {37, 99, 235};
constexpr Colour kGood = {22, 128, 74};
constexpr Colour kBad = {196, 43, 43};

const TextStyle kSectionTitle{23, Weight::kMedium, kInk};
const TextStyle kSectionText{15.5, Weight::kRegular, kSoftInk};
const TextStyle kPanelTitle{15, Weight::kMedium, kInk};
const TextStyle kPanelCaption{13, Weight::kRegular, kSoftInk};
const TextStyle kFooter{13, Weight::kRegular, kSoftInk};

constexpr int kSectionTitleHeight = 34;
constexpr int kSectionTextLine = 22;
constexpr int kPanelTitleHeight = 24;
constexpr int kCaptionLine = 17;

int CaptionHeight(const std::vector<Panel>& row) {
  size_t lines = 0;
  for (const Panel& panel : row) {
    lines =
        std::max(lines, WrapText(panel.caption, kPanelCaption, PanelWidth(panel.columns)).size());
  }
  return static_cast<int>(lines) * kCaptionLine + 4;
}

int RowHeight(const std::vector<Panel>& row) {
  return kPanelTitleHeight + kPanelSide + CaptionHeight(row);
}

int SectionHeight(const Section& section) {
  const size_t lines = WrapText(section.text, kSectionText, PanelWidth(kSheetColumns)).size();
  int height = kSectionTitleHeight + static_cast<int>(lines) * kSectionTextLine + 10;
  for (const auto& row : section.rows) height += RowHeight(row) + kRowGap;
  return height - kRowGap;
}

void DrawPanel(Canvas& canvas, const Panel& panel, int x, int y) {
  const int width = PanelWidth(panel.columns);
  canvas.DrawText(x, y + 15, panel.title, kPanelTitle);
  const int top = y + kPanelTitleHeight;
  canvas.DrawImage(panel.image, x, top, width, kPanelSide);
  if (panel.frame) canvas.DrawFrame(x - 1, top - 1, width + 2, kPanelSide + 2, kLine);
  int baseline = top + kPanelSide + 17;
  for (const std::string& line : WrapText(panel.caption, kPanelCaption, width)) {
    canvas.DrawText(x, baseline, line, kPanelCaption);
    baseline += kCaptionLine;
  }
}

// Returns the row below the section.
int DrawSectionAt(Canvas& canvas, const Section& section, int y) {
  canvas.FillRectangle(kMargin, y + 3, 5, 22, kAccent);
  canvas.DrawText(kMargin + 16, y + 22, section.title, kSectionTitle);
  y += kSectionTitleHeight;
  for (const std::string& line : WrapText(section.text, kSectionText, PanelWidth(kSheetColumns))) {
    canvas.DrawText(kMargin, y + 16, line, kSectionText);
    y += kSectionTextLine;
  }
  y += 10;
  for (const auto& row : section.rows) {
    int x = kMargin;
    for (const Panel& panel : row) {
      DrawPanel(canvas, panel, x, y);
      x += PanelWidth(panel.columns) + kPanelGap;
    }
    y += RowHeight(row) + kRowGap;
  }
  return y - kRowGap;
}

void DrawHeader(Canvas& canvas, const Sheet& sheet) {
  canvas.FillRectangle(0, 0, kPageWidth, kHeaderHeight, kBand);
  canvas.DrawText(kMargin, 56, sheet.title, {36, Weight::kMedium, {255, 255, 255}});
  canvas.DrawText(kMargin, 90, sheet.subtitle, {16, Weight::kRegular, {196, 205, 217}});
  const TextStyle style{16, Weight::kMedium, {255, 255, 255}};
  const int width = static_cast<int>(TextWidth(sheet.badge, style)) + 36;
  const int left = kPageWidth - kMargin - width;
  canvas.FillRoundedRectangle(left, 30, width, 36, 18, sheet.badge_good ? kGood : kBad);
  canvas.DrawText(left + 18, 54, sheet.badge, style);
}

}  // namespace

Image DrawSheet(const Sheet& sheet) {
  int height = kHeaderHeight + kSectionGap;
  for (const Section& section : sheet.sections) height += SectionHeight(section) + kSectionGap;
  height += static_cast<int>(sheet.footer.size()) * 20 + 36;
  Canvas canvas(kPageWidth, height, kPaper);
  DrawHeader(canvas, sheet);
  int y = kHeaderHeight + kSectionGap;
  for (const Section& section : sheet.sections) {
    y = DrawSectionAt(canvas, section, y) + kSectionGap;
  }
  canvas.FillRectangle(kMargin, y - kSectionGap / 2, kPageWidth - 2 * kMargin, 1, kLine);
  for (const std::string& line : sheet.footer) {
    canvas.DrawText(kMargin, y + 16, line, kFooter);
    y += 20;
  }
  return canvas.image();
}

Image DrawSection(const Section& section) {
  Canvas canvas(kPageWidth, SectionHeight(section) + 2 * kSectionGap, kPaper);
  DrawSectionAt(canvas, section, kSectionGap);
  return canvas.image();
}

}  // namespace portacl::cli
