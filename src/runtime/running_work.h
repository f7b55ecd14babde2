// The work that runs now and the memory that it uses, for guard mode's reports. Signal handlers
// make these reports, on any thread of a kernel.
#ifndef PORTACL_RUNTIME_RUNNING_WORK_H_
#define PORTACL_RUNTIME_RUNNING_WORK_H_

#include <cstddef>
#include <cstdint>

#include "runtime/guard_stack.h"
#include "runtime/stream.h"

namespace portacl::runtime {

// Enters work into a slot during the object's life. If no slot is free, the work is not found.
class RunningWork {
 public:
  RunningWork(const Work& work, int32_t stream);
  ~RunningWork();
  RunningWork(const RunningWork&) = delete;
  RunningWork& operator=(const RunningWork&) = delete;

 private:
  size_t slot_;
};

struct WorkAtAddress {
  const char* work = nullptr;  // null: no running work uses the address
  int32_t stream = 0;
  const char* tensor = "";
  bool write = false;
  GuardStack launched;  // stack of the call that put it on the stream; empty if unknown
};

// Finds running work that uses an address. Allocates nothing and takes no lock.
WorkAtAddress FindRunningWork(uintptr_t address);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_RUNNING_WORK_H_
