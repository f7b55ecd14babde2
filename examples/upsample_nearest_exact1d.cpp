/* Nearest-exact upsampling of a signal of 3 samples to 7.
 *
 *   g++ upsample_nearest_exact1d.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi
 */
#include "aclnnop/aclnn_upsample_nearest_exact1d.h"

#include "acl_example.h"

int main() {
  const example::Device device;
  const example::Buffer from(std::vector<float>{1, 2, 3});
  const example::Buffer to(7 * sizeof(float));
  aclTensor* self = example::MakeTensor({1, 1, 3}, ACL_FORMAT_NCL, from);
  aclTensor* out = example::MakeTensor({1, 1, 7}, ACL_FORMAT_NCL, to);
  const int64_t output_size[] = {7};
  aclIntArray* output_sizes = aclCreateIntArray(output_size, 1);

  // Phase 1: checks and plans. scales = 0: the sizes count.
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_EXAMPLE_CHECK(aclnnUpsampleNearestExact1dGetWorkspaceSize(self, output_sizes, 0.0, out,
                                                                &workspace_size, &executor));

  // Phase 2: runs.
  const example::Buffer workspace(workspace_size);
  ACL_EXAMPLE_CHECK(
      aclnnUpsampleNearestExact1d(workspace.data(), workspace_size, executor, device.stream()));
  device.Synchronize();
  example::Print("the longer signal", to.Read(), 7);

  aclDestroyIntArray(output_sizes);
  aclDestroyTensor(self);
  aclDestroyTensor(out);
  return 0;
}
