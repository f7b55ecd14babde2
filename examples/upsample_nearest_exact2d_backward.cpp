/* Gradient of nearest-exact upsampling of an image, with the calls and the data of the vendor's
 * sample: gradOutput 4 x 2, out 8 x 4, both scales 2. The scales count, not the sizes, so only the
 * first column of the first two rows receives anything.
 *
 *   g++ upsample_nearest_exact2d_backward.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer from(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  const example::Buffer to(std::vector<float>(32, 0));
  aclTensor* grad_output = example::MakeTensor({1, 1, 4, 2}, ACL_FORMAT_NCHW, from);
  aclTensor* out = example::MakeTensor({1, 1, 8, 4}, ACL_FORMAT_NCHW, to);
  const int64_t output_size[] = {4, 2};
  const int64_t input_size[] = {1, 1, 8, 4};
  aclIntArray* output_sizes = aclCreateIntArray(output_size, 2);
  aclIntArray* input_sizes = aclCreateIntArray(input_size, 4);

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
      grad_output, output_sizes, input_sizes, 2.0, 2.0, out, &workspace_size, &executor));
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact2dBackward(workspace.data(), workspace_size, executor,
                                                        device.stream()));
  device.Synchronize();
  example::Print("gradOutput, 4 x 2", from.Read(), 2);
  example::Print(
      "out, 8 x 4: scales of 2 say that 4 x 2 pixels came from 2 x 1, so only those receive sums",
      to.Read(), 4);

  aclDestroyIntArray(output_sizes);
  aclDestroyIntArray(input_sizes);
  aclDestroyTensor(grad_output);
  aclDestroyTensor(out);
  return 0;
}
