/* Samples an image of 2 x 2 pixels along its diagonal, halfway between the pixels too.
 *
 *   g++ grid_sampler_2d.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_grid_sampler2d.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer image(std::vector<float>{1, 2, 3, 4});
  const example::Buffer points(std::vector<float>{-1, -1, 0, 0, 1, 1});  // x, y of each
  const example::Buffer to(3 * sizeof(float));
  aclTensor* input = example::MakeTensor({1, 1, 2, 2}, ACL_FORMAT_ND, image);
  aclTensor* grid = example::MakeTensor({1, 1, 3, 2}, ACL_FORMAT_ND, points);
  aclTensor* out = example::MakeTensor({1, 1, 1, 3}, ACL_FORMAT_ND, to);

  // Phase 1: checks and plans. Bilinear (0), zeros outside (0), corners are pixel centres.
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(
      aclnnGridSampler2DGetWorkspaceSize(input, grid, 0, 0, true, out, &workspace_size, &executor));

  // Phase 2: runs.
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(
      aclnnGridSampler2D(workspace.data(), workspace_size, executor, device.stream()));
  device.Synchronize();
  example::Print("samples", to.Read(), 3);

  aclDestroyTensor(input);
  aclDestroyTensor(grid);
  aclDestroyTensor(out);
  return 0;
}
