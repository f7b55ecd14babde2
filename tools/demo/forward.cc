// Photographs, forward functions and small pictures of the scenes.
#include "tools/demo/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/cli_error.h"
#include "tools/data/embedded.h"
#include "tools/picture/cell_picture.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

void Check(const Status& status, const char* call) {
  ThrowOnStatus(status.code(), call, status.message());
}

HostTensor ConvertOrEmpty(const HostTensor& tensor, DataType dtype) {
  return tensor.empty() ? HostTensor() : tensor.ConvertedTo(dtype, "input");
}

HostTensor LikeOrEmpty(const HostTensor& tensor, DataType dtype) {
  return tensor.empty() ? HostTensor() : HostTensor(dtype, tensor.shape(), "result");
}

}  // namespace

HostTensor Photograph(const char* file) { return DecodePicture(EmbeddedFile(file), file); }

HostTensor Sample(const HostTensor& input, const HostTensor& grid) {
  HostTensor output(input.dtype(),
                    {input.extent(0), input.extent(1), grid.extent(1), grid.extent(2)}, "output");
  Check(grid_sampler_2d(input.View(), grid.View(), output.View()), "grid_sampler_2d");
  return output;
}

Job SampleGradientJob(const HostTensor& grad_output, const HostTensor& input,
                      const HostTensor& grid) {
  Job job;
  job.op = Operator::kGridSampler2dBackward;
  job.grad_output = Copy(grad_output);
  job.input = Copy(input);
  job.grid = Copy(grid);
  job.input_grad = HostTensor(input.dtype(), input.shape(), "input_grad");
  job.grid_grad = HostTensor(grid.dtype(), grid.shape(), "grid_grad");
  return job;
}

HostTensor Enlarge(const HostTensor& input, int64_t height, int64_t width) {
  HostTensor output(input.dtype(), {input.extent(0), input.extent(1), height, width}, "output");
  Check(upsample_nearest_exact(input.View(), output.View()), "upsample_nearest_exact");
  return output;
}

Job EnlargeGradientJob(const HostTensor& grad_output, int64_t height, int64_t width) {
  Job job;
  job.op = Operator::kUpsampleNearestExact2dBackward;
  job.grad_output = Copy(grad_output);
  job.grad_input =
      HostTensor(grad_output.dtype(), {grad_output.extent(0), grad_output.extent(1), height, width},
                 "grad_input");
  return job;
}

Job ConvertJob(const Job& job, DataType dtype) {
  Job result;
  result.op = job.op;
  result.grad_output = job.grad_output.ConvertedTo(dtype, "grad_output");
  result.grad_input = LikeOrEmpty(job.grad_input, dtype);
  result.scales = job.scales;
  result.input = ConvertOrEmpty(job.input, dtype);
  result.grid = ConvertOrEmpty(job.grid, dtype);
  result.input_grad = LikeOrEmpty(job.input_grad, dtype);
  result.grid_grad = LikeOrEmpty(job.grid_grad, dtype);
  result.interpolation = job.interpolation;
  result.padding = job.padding;
  result.align_corners = job.align_corners;
  return result;
}

DemoCase MakeCase(const std::string& name, const Job& job) {
  const auto shared = std::make_shared<Job>(ConvertJob(job, job.grad_output.dtype()));
  return {name, [shared](DataType dtype) { return ConvertJob(*shared, dtype); }};
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
