// Vectors as colours: hue is the direction, saturation the length, white is zero.
#ifndef PORTACL_TOOLS_PICTURE_FLOW_PICTURE_H_
#define PORTACL_TOOLS_PICTURE_FLOW_PICTURE_H_

#include <string>

#include "tools/picture/canvas.h"
#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// Colour of a vector (x right, y down): saturation is the square root of the length up to 1; longer
// vectors are darker.
Colour FlowColour(double x, double y);

// The length that is shown with full saturation. It is the 98th percentile of the lengths of a
// tensor (1, H, W, 2), and above 0. Vectors that are not finite do not count.
double FlowReference(const HostTensor& vectors);

// Whether a vector of the tensor is drawn black.
bool HasNotFinite(const HostTensor& vectors);

// A tensor (1, H, W, 2) as a picture; not finite is black. Throws BadInput for other shapes.
Image FlowPicture(const HostTensor& vectors, double reference);

// The wheel of all directions, on the canvas's background; the rim stands for `reference`.
void DrawFlowLegend(Canvas& canvas, double centre_x, double centre_y, double radius);

// Picture, wheel and the scale in one, with `title` above.
Image FlowPictureWithLegend(const HostTensor& vectors, const std::string& title);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PICTURE_FLOW_PICTURE_H_
