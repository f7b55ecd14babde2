/* What printers_test.sh looks at in gdb: a handle of each kind, all alive in Stop(). */
#include <stdint.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"

static void Stop(const aclTensor* tensor, const aclTensor* odd, const aclIntArray* ints,
                 const aclFloatArray* floats, const aclBoolArray* bools, const aclScalar* scalar,
                 const aclTensorList* list, aclOpExecutor* executor, aclrtStream stream) {
  (void)tensor, (void)odd, (void)ints, (void)floats, (void)bools, (void)scalar, (void)list;
  (void)executor, (void)stream; /* line that the test stops at */
}

int main(void) {
  const int64_t shape[] = {1, 2, 4, 6}, small[] = {1, 2, 2, 3}, strides[] = {48, 24, 1, 4};
  const int64_t sizes[] = {4, 6};
  const int64_t input[] = {1, 2, 2, 3};
  const float numbers[] = {0.5f, 2.0f};
  const bool flags[] = {true, false, true};
  float value = 1.5f;
  void *gradient = 0, *result = 0;
  aclrtStream stream = 0;
  aclOpExecutor* executor = 0;
  uint64_t workspace = 0;
  if (aclInit(0) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 2;
  aclrtMalloc(&gradient, 192, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&result, 48, ACL_MEM_MALLOC_HUGE_FIRST);
  aclTensor* tensor =
      aclCreateTensor(shape, 4, ACL_FLOAT, 0, 0, ACL_FORMAT_NCHW, shape, 4, gradient);
  aclTensor* out = aclCreateTensor(small, 4, ACL_FLOAT, 0, 0, ACL_FORMAT_NCHW, small, 4, result);
  aclTensor* odd =
      aclCreateTensor(shape, 4, ACL_BF16, strides, 3, ACL_FORMAT_ND, shape, 4, gradient);
  aclIntArray* ints = aclCreateIntArray(sizes, 2);
  aclIntArray* ints4 = aclCreateIntArray(input, 4);
  aclFloatArray* floats = aclCreateFloatArray(numbers, 2);
  aclBoolArray* bools = aclCreateBoolArray(flags, 3);
  aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
  const aclTensor* members[] = {
      aclCreateTensor(small, 4, ACL_INT32, 0, 0, ACL_FORMAT_ND, small, 4, result)};
  aclTensorList* list = aclCreateTensorList(members, 1);
  if (aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(tensor, ints, ints4, 0.0, 0.0, out,
                                                          &workspace, &executor) != ACL_SUCCESS) {
    return 3;
  }
  Stop(tensor, odd, ints, floats, bools, scalar, list, executor, stream);
  return 0;
}
