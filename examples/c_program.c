/* The aclnn interface from C11, with an error and a result.
 *
 *   gcc -std=c11 c_program.c -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64 \
 *       -lascendcl -lnnopbase -lopapi
 */
#include <stdint.h>
#include <stdio.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"

static const int64_t kLarge[] = {1, 1, 6};
static const int64_t kSmall[] = {1, 1, 3};

/* Both phases; scales is gradOutput's extent / out's extent, 0: use the sizes. */
static int Run(const aclTensor* gradOutput, aclTensor* out, double scales, aclrtStream stream) {
  aclIntArray* outputSize = aclCreateIntArray(kLarge + 2, 1);
  aclIntArray* inputSize = aclCreateIntArray(kSmall, 3);
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = NULL;
  void* workspace = NULL;
  int status = aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
      gradOutput, outputSize, inputSize, scales, out, &workspaceSize, &executor);
  if (status == ACLNN_SUCCESS && workspaceSize > 0) {
    status = aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST);
  }
  if (status == ACLNN_SUCCESS) {
    status = aclnnUpsampleNearestExact1dBackward(workspace, workspaceSize, executor, stream);
  }
  if (status == ACLNN_SUCCESS) status = aclrtSynchronizeStream(stream);
  if (workspace != NULL) aclrtFree(workspace);
  aclDestroyIntArray(outputSize);
  aclDestroyIntArray(inputSize);
  return status;
}

int main(void) {
  const float from[] = {1, 2, 3, 4, 5, 6};
  float to[3] = {0};
  void* fromDevice = NULL;
  void* toDevice = NULL;
  aclrtStream stream = NULL;
  int status = aclInit(NULL);
  if (status == ACL_SUCCESS) status = aclrtSetDevice(0);
  if (status == ACL_SUCCESS) status = aclrtCreateStream(&stream);
  if (status == ACL_SUCCESS) {
    status = aclrtMalloc(&fromDevice, sizeof(from), ACL_MEM_MALLOC_HUGE_FIRST);
  }
  if (status == ACL_SUCCESS) status = aclrtMalloc(&toDevice, sizeof(to), ACL_MEM_MALLOC_HUGE_FIRST);
  if (status == ACL_SUCCESS) {
    status = aclrtMemcpy(fromDevice, sizeof(from), from, sizeof(from), ACL_MEMCPY_HOST_TO_DEVICE);
  }
  if (status != ACL_SUCCESS) {
    printf("no device: %d\n", status);
    return 1;
  }
  aclTensor* gradOutput =
      aclCreateTensor(kLarge, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, kLarge, 3, fromDevice);
  aclTensor* out =
      aclCreateTensor(kSmall, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, kSmall, 3, toDevice);

  status = Run(gradOutput, out, -1.0, stream);
  printf("refused on purpose, scales -1: %d: %s\n", status, aclGetRecentErrMsg());

  status = Run(gradOutput, out, 0.0, stream);
  if (status == ACLNN_SUCCESS) {
    status = aclrtMemcpy(to, sizeof(to), toDevice, sizeof(to), ACL_MEMCPY_DEVICE_TO_HOST);
  }
  if (status == ACLNN_SUCCESS) {
    printf("scales 0: %g %g %g\n", (double)to[0], (double)to[1], (double)to[2]);
  } else {
    printf("scales 0: %d: %s\n", status, aclGetRecentErrMsg());
  }

  aclDestroyTensor(gradOutput);
  aclDestroyTensor(out);
  aclrtFree(fromDevice);
  aclrtFree(toDevice);
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  aclFinalize();
  return status == ACLNN_SUCCESS ? 0 : 1;
}
