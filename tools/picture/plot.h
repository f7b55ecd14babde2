// A small line chart: a loss over the steps of a descent.
#ifndef PORTACL_TOOLS_PICTURE_PLOT_H_
#define PORTACL_TOOLS_PICTURE_PLOT_H_

#include <string>
#include <vector>

#include "tools/picture/image.h"

namespace portacl::cli {

struct Curve {
  std::vector<double> values;       // above 0; drawn on a logarithmic axis over 0, 1, 2, ...
  std::vector<std::string> labels;  // beside the points, "" for none; may be shorter
};

// `width` x kPanelSide pixels.
Image DrawLossPlot(const Curve& curve, int width, const std::string& axis_label);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_PLOT_H_
