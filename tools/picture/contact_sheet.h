// A page of captioned pictures in sections, drawn into one image.
#ifndef PORTACL_TOOLS_PICTURE_CONTACT_SHEET_H_
#define PORTACL_TOOLS_PICTURE_CONTACT_SHEET_H_

#include <string>
#include <vector>

#include "tools/picture/image.h"

namespace portacl::cli {

inline constexpr int kSheetColumns = 5;
inline constexpr int kPanelSide = 256;  // pixels of a one-column panel, width and height
inline constexpr int kPanelGap = 20;

// Width of a panel that spans columns.
constexpr int PanelWidth(int columns) { return columns * (kPanelSide + kPanelGap) - kPanelGap; }

struct Panel {
  std::string title;
  std::string caption;  // wrapped to the panel's width
  Image image;          // scaled to the panel
  std::string file{};   // name for the picture as a file of its own, "" for none
  int columns = 1;
  bool frame = true;
};

struct Section {
  std::string title;
  std::string text;  // wrapped to the page's width
  std::vector<std::vector<Panel>> rows;
};

struct Sheet {
  std::string title;
  std::string subtitle;
  std::string badge;  // the verdict, in a coloured pill
  bool badge_good = true;
  std::vector<Section> sections;
  std::vector<std::string> footer;
};

Image DrawSheet(const Sheet& sheet);

// One section alone, with the same layout.
Image DrawSection(const Section& section);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_CONTACT_SHEET_H_
