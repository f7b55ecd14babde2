// The common part of the demo's scenes: the photographs, forward functions and small pictures.
#ifndef PORTACL_TOOLS_DEMO_FORWARD_H_
#define PORTACL_TOOLS_DEMO_FORWARD_H_

#include <functional>
#include <string>

#include "tools/demo/scene.h"
#include "tools/tensor/grids.h"

namespace portacl::cli {

// An embedded photograph: (1, 3, 256, 256), float32, 0..1.
HostTensor Photograph(const char* file);

// Sampling with bilinear interpolation and zeros padding, in the input's dtype.
HostTensor Sample(const HostTensor& input, const HostTensor& grid);

// The gradients of Sample, or of sampling in other modes.
struct SamplingModes {
  Interpolation interpolation = Interpolation::kBilinear;
  Padding padding = Padding::kZeros;
  bool input_grad_only = false;
};
Call SampleGradients(const HostTensor& grad_output, const HostTensor& input, const HostTensor& grid,
                     const SamplingModes& modes = {});

// Enlarging with nearest-exact to height x width.
HostTensor Enlarge(const HostTensor& input, int64_t height, int64_t width);

// The gradient of Enlarge for an input of these spatial extents; with one extent, in 1D.
Call EnlargeGradient(const HostTensor& grad_output, const Shape& extents);

// A call that has been run by the C++ API, and one of its tensors by its name there.
Call Ran(Call call);
HostTensor TensorOf(const Call& call, std::string_view native);

// A photograph of the demo, and as many points as it has pixels.
inline constexpr GridFrame kPhotoFrame = {1, 256, 256, 256, 256, false};

// (1, OH, OW, 2) in float32 (or another dtype) from a function of the identity grid's points.
HostTensor GridFrom(const GridFrame& frame, const std::function<GridPoint(GridPoint)>& map,
                    DataType dtype = DataType::kFloat32);

// A photograph as it is, and a signed gradient with mid-grey for 0.
Image PhotoImage(const HostTensor& tensor);
Image GradientImage(const HostTensor& tensor);

// The first channel as a heat map: white for 0 to violet for `most`.
Image HeatImage(const HostTensor& tensor, double most);

// "|largest| 3.2", for captions.
std::string LargestText(const HostTensor& tensor);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_DEMO_FORWARD_H_
