/* Gradients of sampling an image at points: where each point's gradient goes in the image, and how
 * moving a point would change the result. Three points on a 2 x 3 image.
 *
 *   g++ grid_sampler_2d_backward.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_grid_sampler2d_backward.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer grad_output_data(std::vector<float>{1, 1, 1});
  const example::Buffer input_data(std::vector<float>{0, 1, 2, 10, 20, 40});
  // x, y of each point: the image's centre, a place between four pixels, and one outside.
  const example::Buffer grid_data(std::vector<float>{0, 0, -0.5F, 0.25F, 3, 3});
  const example::Buffer input_grad_data(6 * sizeof(float));
  const example::Buffer grid_grad_data(6 * sizeof(float));
  aclTensor* grad_output = example::MakeTensor({1, 1, 1, 3}, ACL_FORMAT_ND, grad_output_data);
  aclTensor* input = example::MakeTensor({1, 1, 2, 3}, ACL_FORMAT_ND, input_data);
  aclTensor* grid = example::MakeTensor({1, 1, 3, 2}, ACL_FORMAT_ND, grid_data);
  aclTensor* input_grad = example::MakeTensor({1, 1, 2, 3}, ACL_FORMAT_ND, input_grad_data);
  aclTensor* grid_grad = example::MakeTensor({1, 1, 3, 2}, ACL_FORMAT_ND, grid_grad_data);
  const bool both[] = {true, true};
  aclBoolArray* output_mask = aclCreateBoolArray(both, 2);

  constexpr int64_t kBilinear = 0;
  constexpr int64_t kZeros = 0;
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(aclnnGridSampler2DBackwardGetWorkspaceSize(
      grad_output, input, grid, kBilinear, kZeros, false, output_mask, input_grad, grid_grad,
      &workspace_size, &executor));
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(
      aclnnGridSampler2DBackward(workspace.data(), workspace_size, executor, device.stream()));
  device.Synchronize();
  example::Print("input, 2 x 3", input_data.Read(), 3);
  example::Print("grid (x, y of each point): the centre, between four pixels, outside",
                 grid_data.Read(), 2);
  example::Print("inputGrad: what each pixel receives from the points near it",
                 input_grad_data.Read(), 3);
  example::Print("gridGrad: how moving a point along x, y changes its sample",
                 grid_grad_data.Read(), 2);

  aclDestroyBoolArray(output_mask);
  for (const aclTensor* tensor : {grad_output, input, grid, input_grad, grid_grad}) {
    aclDestroyTensor(tensor);
  }
  return 0;
}
