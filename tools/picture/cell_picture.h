// A few pixels of a map, magnified so that each is a cell with its value or the points around it.
#ifndef PORTACL_TOOLS_PICTURE_CELL_PICTURE_H_
#define PORTACL_TOOLS_PICTURE_CELL_PICTURE_H_

#include <vector>

#include "tools/picture/image.h"
#include "tools/tensor/grids.h"
#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// Square part of a map (1, 1, H, W): `side` pixels from (left, top).
struct Crop {
  int left = 0, top = 0, side = 16;
};

// The heat map of the crop, kPanelSide pixels wide. `most` is its dark end.
// With `numbers`, each cell shows its value. `points` are drawn as dots; their coordinates are
// pixels of the map (0 is the centre of the first pixel).
Image CellPicture(const HostTensor& map, const Crop& crop, double most, bool numbers,
                  const std::vector<GridPoint>& points = {});

// The colour of a value: white for 0, over sand, orange and crimson to violet for 1 and more.
Colour HeatColour(double value);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_CELL_PICTURE_H_
