/* The runtime from C: two streams ordered by an event, a timing, and an error with its message. */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 1 << 20 };

static void check(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  printf("%s failed with %d: %s\n", what, code, message != NULL ? message : "");
  exit(1);
}

int main(void) {
  check(aclInit(NULL), "init");
  check(aclrtSetDevice(0), "set device");
  aclrtStream producer = NULL, consumer = NULL;
  check(aclrtCreateStream(&producer), "create stream");
  check(aclrtCreateStream(&consumer), "create stream");
  aclrtEvent begin = NULL, filled = NULL;
  check(aclrtCreateEvent(&begin), "create event");
  check(aclrtCreateEvent(&filled), "create event");
  void *device = NULL, *host = NULL;
  check(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  check(aclrtMallocHost(&host, kBytes), "malloc host");

  check(aclrtRecordEvent(begin, producer), "record");
  check(aclrtMemsetAsync(device, kBytes, 0x2A, kBytes, producer), "memset");
  check(aclrtRecordEvent(filled, producer), "record");
  check(aclrtStreamWaitEvent(consumer, filled), "wait");
  check(aclrtMemcpyAsync(host, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, consumer),
        "copy");
  check(aclrtSynchronizeStream(consumer), "synchronise");

  size_t right = 0;
  for (size_t i = 0; i < kBytes; ++i) right += ((const unsigned char*)host)[i] == 0x2A;
  printf("%zu of %d bytes right\n", right, kBytes);
  float ms = -1.0f;
  check(aclrtEventElapsedTime(&ms, begin, filled), "elapsed time");
  printf("the fill took some time: %s\n", ms > 0.0f ? "yes" : "no");

  const aclError code = aclrtMemcpy(device, 4, host, 8, ACL_MEMCPY_HOST_TO_DEVICE);
  printf("a copy that does not fit: %d, %s\n", code, aclGetRecentErrMsg());

  check(aclrtFreeHost(host), "free host");
  check(aclrtFree(device), "free");
  check(aclrtDestroyEvent(begin), "destroy event");
  check(aclrtDestroyEvent(filled), "destroy event");
  check(aclrtDestroyStream(producer), "destroy stream");
  check(aclrtDestroyStream(consumer), "destroy stream");
  check(aclrtResetDevice(0), "reset device");
  check(aclFinalize(), "finalize");
  return 0;
}
