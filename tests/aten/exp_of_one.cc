// A program, not a test: prints exp(1) by aclnnExp. exp_of_one [FILE] first loads FILE, the
// libtorch_cpu.so of a PyTorch, as a Python process does.
#include <dlfcn.h>

#include <cstdio>

#include "acl/acl.h"
#include "aclnnop/aclnn_exp.h"

int main(int argc, char** argv) {
  if (argc > 1 && dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* memory = nullptr;
  aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  const float one = 1;
  aclrtMemcpy(memory, sizeof one, &one, sizeof one, ACL_MEMCPY_HOST_TO_DEVICE);
  const int64_t shape[] = {1};
  aclTensor* const tensor =
      aclCreateTensor(shape, 1, ACL_FLOAT, shape, 0, ACL_FORMAT_ND, shape, 1, memory);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (aclnnExpGetWorkspaceSize(tensor, tensor, &size, &executor) != 0 ||
      aclnnExp(nullptr, size, executor, nullptr) != 0 || aclrtSynchronizeDevice() != 0) {
    std::fprintf(stderr, "%s\n", aclGetRecentErrMsg());
    return 1;
  }
  float result = 0;
  aclrtMemcpy(&result, sizeof result, memory, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%.4f\n", result);
  return result > 2.7182 && result < 2.7184 ? 0 : 1;
}
