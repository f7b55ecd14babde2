// portacl's own C++ API: the operators on plain memory, without devices or streams.
//
//   g++ -std=c++17 native_api.cc -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 -lportacl
#include <cstdio>
#include <vector>

#include "portacl/portacl.h"

namespace {

bool Report(const char* what, const portacl::Status& status) {
  if (!status.ok()) std::printf("%s: %d: %s\n", what, status.code(), status.message().c_str());
  return status.ok();
}

}  // namespace

int main() {
  // A 2 x 3 image was doubled to 4 x 6; its gradient is gathered back.
  std::vector<float> grad_output(24);
  for (size_t i = 0; i < grad_output.size(); ++i) grad_output[i] = static_cast<float>(i) / 4;
  std::vector<float> grad_input(6);
  if (!Report("upsample_nearest_exact_backward",
              portacl::upsample_nearest_exact_backward(
                  portacl::Tensor(grad_output.data(), {1, 1, 4, 6}),
                  portacl::Tensor(grad_input.data(), {1, 1, 2, 3})))) {
    return 1;
  }
  for (const float value : grad_input) std::printf("%g ", static_cast<double>(value));
  std::printf("\n");

  // A plan checks once and runs often. Only inputGrad is wanted here; bicubic and reflection need
  // no profile.
  const std::vector<double> image = {0, 1, 2, 10, 20, 40};
  const std::vector<double> points = {0, 0, -0.5, 0.25};
  const std::vector<double> ones = {1, 1};
  std::vector<double> input_grad(6);
  portacl::Plan plan;
  if (!Report("grid_sampler_2d_backward",
              plan.grid_sampler_2d_backward(portacl::Tensor(ones.data(), {1, 1, 1, 2}),
                                            portacl::Tensor(image.data(), {1, 1, 2, 3}),
                                            portacl::Tensor(points.data(), {1, 1, 2, 2}),
                                            portacl::Tensor(input_grad.data(), {1, 1, 2, 3}),
                                            portacl::Tensor(), portacl::Interpolation::kBicubic,
                                            portacl::Padding::kReflection)) ||
      !Report("run", plan.run())) {
    return 1;
  }
  for (const double value : input_grad) std::printf("%.6f ", value);
  std::printf("\n");

  // A wrong call gets a message that names the fault.
  const portacl::Status refused =
      portacl::upsample_nearest_exact_backward(portacl::Tensor(grad_output.data(), {1, 1, 4, 6}),
                                               portacl::Tensor(grad_input.data(), {1, 2, 1, 3}));
  std::printf("refused on purpose: %d: %s\n", refused.code(), refused.message().c_str());
  return 0;
}
