/* Gradient of nearest-exact upsampling of a signal: 3 samples were stretched to 7, and the gradient
 * of the 7 is gathered back to the 3.
 *
 *   g++ upsample_nearest_exact1d_backward.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer from(std::vector<float>{1, 2, 3, 4, 5, 6, 7});
  const example::Buffer to(3 * sizeof(float));
  aclTensor* grad_output = example::MakeTensor({1, 1, 7}, ACL_FORMAT_NCL, from);
  aclTensor* out = example::MakeTensor({1, 1, 3}, ACL_FORMAT_NCL, to);
  const int64_t output_size[] = {7};
  const int64_t input_size[] = {1, 1, 3};
  aclIntArray* output_sizes = aclCreateIntArray(output_size, 1);
  aclIntArray* input_sizes = aclCreateIntArray(input_size, 3);

  // Phase 1: checks and plans. scales = 0: the sizes count.
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
      grad_output, output_sizes, input_sizes, 0.0, out, &workspace_size, &executor));

  // Phase 2: runs.
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact1dBackward(workspace.data(), workspace_size, executor,
                                                        device.stream()));
  device.Synchronize();
  example::Print("gradient of the signal", to.Read(), 3);

  aclDestroyIntArray(output_sizes);
  aclDestroyIntArray(input_sizes);
  aclDestroyTensor(grad_output);
  aclDestroyTensor(out);
  return 0;
}
