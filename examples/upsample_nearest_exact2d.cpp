/* Nearest-exact upsampling of an image of 2 x 2 pixels to 3 x 4.
 *
 *   g++ upsample_nearest_exact2d.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_upsample_nearest_exact2d.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer from(std::vector<float>{1, 2, 3, 4});
  const example::Buffer to(3 * 4 * sizeof(float));
  aclTensor* self = example::MakeTensor({1, 1, 2, 2}, ACL_FORMAT_NCHW, from);
  aclTensor* out = example::MakeTensor({1, 1, 3, 4}, ACL_FORMAT_NCHW, to);
  const int64_t output_size[] = {3, 4};
  aclIntArray* output_sizes = aclCreateIntArray(output_size, 2);

  // Phase 1: checks and plans. Scales of 0: the sizes count.
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact2dGetWorkspaceSize(self, output_sizes, 0.0, 0.0, out,
                                                                &workspace_size, &executor));

  // Phase 2: runs.
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(
      aclnnUpsampleNearestExact2d(workspace.data(), workspace_size, executor, device.stream()));
  device.Synchronize();
  example::Print("the larger image", to.Read(), 4);

  aclDestroyIntArray(output_sizes);
  aclDestroyTensor(self);
  aclDestroyTensor(out);
  return 0;
}
