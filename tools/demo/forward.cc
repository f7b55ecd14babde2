// Photographs, forward functions and small pictures of the scenes.
#include "tools/demo/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/cli_error.h"
#include "tools/data/embedded.h"
#include "tools/picture/cell_picture.h"
#include "tools/run_call.h"
#include "tools/tensor/tensor_math.h"
#include "tools/testing/host_tensors.h"

namespace portacl::cli {
namespace {

void Check(const Status& status, const char* call) {
  ThrowOnStatus(status.code(), call, status.message());
}

golden::Case CaseOf(const char* op) {
  golden::Case c;
  c.op = golden::FindOperator(op);
  c.arguments.resize(c.op->parameters.size());
  return c;
}

}  // namespace

HostTensor Photograph(const char* file) { return DecodePicture(EmbeddedFile(file), file); }

HostTensor Sample(const HostTensor& input, const HostTensor& grid) {
  HostTensor output(input.dtype(),
                    {input.extent(0), input.extent(1), grid.extent(1), grid.extent(2)}, "output");
  Check(grid_sampler_2d(input.View(), grid.View(), output.View()), "grid_sampler_2d");
  return output;
}

Call SampleGradients(const HostTensor& grad_output, const HostTensor& input, const HostTensor& grid,
                     const SamplingModes& modes) {
  golden::Case c = CaseOf("grid_sampler_2d_backward");
  const auto set = [&](const char* parameter, std::vector<int64_t> integers) {
    c.arguments[*c.op->Find(parameter)].integers = std::move(integers);
  };
  set("interpolationMode", {static_cast<int64_t>(modes.interpolation)});
  set("paddingMode", {static_cast<int64_t>(modes.padding)});
  set("outputMask", {1, modes.input_grad_only ? 0 : 1});
  std::vector<HostTensor> inputs;
  for (const HostTensor* const tensor : {&grad_output, &input, &grid})
    inputs.push_back(Copy(*tensor));
  return golden::CallOn(std::move(c), inputs);
}

HostTensor Enlarge(const HostTensor& input, int64_t height, int64_t width) {
  HostTensor output(input.dtype(), {input.extent(0), input.extent(1), height, width}, "output");
  Check(upsample_nearest_exact(input.View(), output.View()), "upsample_nearest_exact");
  return output;
}

Call EnlargeGradient(const HostTensor& grad_output, const Shape& extents) {
  golden::Case c = CaseOf(extents.size() == 1 ? "upsample_nearest_exact1d_backward"
                                              : "upsample_nearest_exact2d_backward");
  Shape shape = {grad_output.extent(0), grad_output.extent(1)};
  shape.insert(shape.end(), extents.begin(), extents.end());
  c.arguments[c.op->First(golden::Role::kOutput)].shape = shape;
  std::vector<HostTensor> inputs;
  inputs.push_back(Copy(grad_output));
  return golden::CallOn(std::move(c), inputs);
}

Call Ran(Call call) {
  RunCall(call, "native");
  return call;
}

HostTensor TensorOf(const Call& call, std::string_view native) {
  size_t i = 0;
  while (native != call.op->parameters.at(i).native) ++i;
  return golden::HostCopy(call.arguments[i].tensor);
}

HostTensor GridFrom(const GridFrame& frame, const std::function<GridPoint(GridPoint)>& map,
                    DataType dtype) {
  HostTensor grid(dtype, {1, frame.out_height, frame.out_width, 2}, "grid");
  int64_t i = 0;
  for (int64_t row = 0; row < frame.out_height; ++row) {
    for (int64_t column = 0; column < frame.out_width; ++column) {
      const GridPoint point = map(IdentityPoint(frame, row, column));
      grid.Set(i++, point.x);
      grid.Set(i++, point.y);
    }
  }
  return grid;
}

Image PhotoImage(const HostTensor& tensor) { return TensorToImage(tensor, {0, 1}, "photograph"); }

Image GradientImage(const HostTensor& tensor) {
  const double most = std::max(LargestMagnitude(tensor), 1e-30);
  return TensorToImage(tensor, {-most, most}, "gradient");
}

Image HeatImage(const HostTensor& tensor, double most) {
  const int height = static_cast<int>(tensor.extent(2)), width = static_cast<int>(tensor.extent(3));
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.At(x, y) = HeatColour(tensor.Get(int64_t{y} * width + x) / most);
    }
  }
  return image;
}

std::string LargestText(const HostTensor& tensor) {
  return fmt::format("largest {:.3g}", LargestMagnitude(tensor));
}

}  // namespace portacl::cli
