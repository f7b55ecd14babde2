// What the demo's scenes share: the photographs, forward functions and small pictures.
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

// A job for the gradients of Sample.
Job SampleGradientJob(const HostTensor& grad_output, const HostTensor& input,
                      const HostTensor& grid);

// Enlarging with nearest-exact to height x width.
HostTensor Enlarge(const HostTensor& input, int64_t height, int64_t width);

// A job for the gradient of Enlarge, from a gradOutput to height x width.
Job EnlargeGradientJob(const HostTensor& grad_output, int64_t height, int64_t width);

// The same job with every input rounded to another dtype.
Job ConvertJob(const Job& job, DataType dtype);

// DemoCase whose inputs are those of `job`, which is copied.
DemoCase MakeCase(const std::string& name, const Job& job);

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
