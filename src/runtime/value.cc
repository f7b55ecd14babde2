// Tasks that write a number, and tasks that wait for a number.
#include "runtime/value.h"

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/stream.h"

namespace portacl::runtime {
namespace {

// Finds the address by which this process reaches `bytes` bytes of device memory.
base::Status ResolveDevice(const void* address, size_t bytes, const char* name, void** reached) {
  AllocationInfo info;
  if (address == nullptr) return InvalidParam("{} is null", name);
  if (!FindAllocation(address, &info) || info.host) {
    return InvalidParam("{} is {}, which is not device memory", name, address);
  }
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  if (bytes > info.size - offset) {
    return InvalidParam("{} bytes at {} {} leave its allocation, which ends after {}", bytes, name,
                        address, info.size - offset);
  }
  *reached = static_cast<char*>(info.kernel_base) + offset;
  return {};
}

base::Status ResolveNumber(void* address, uint64_t** number) {
  void* reached = nullptr;
  PORTACL_RETURN_IF_ERROR(ResolveDevice(address, sizeof **number, "devAddr", &reached));
  if (reinterpret_cast<uintptr_t>(reached) % sizeof **number != 0) {
    return InvalidParam("devAddr is {}, wanted a multiple of {}", address, sizeof **number);
  }
  *number = static_cast<uint64_t*>(reached);
  return {};
}

bool Holds(ValueTest test, uint64_t number, uint64_t value) {
  switch (test) {
    case ValueTest::kGreaterEqual:
      return number >= value;
    case ValueTest::kEqual:
      return number == value;
    case ValueTest::kAnd:
      return (number & value) != 0;
    case ValueTest::kNor:
      return ~(number | value) != 0;
  }
  return true;
}

}  // namespace

base::Status WriteValue(void* address, uint64_t value, void* stream_handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  uint64_t* number = nullptr;
  PORTACL_RETURN_IF_ERROR(ResolveNumber(address, &number));
  Task task;
  task.work.name = "value write";
  task.work.category = "event";
  task.work.small = true;
  task.work.run = [number, value] {
    std::atomic_ref<uint64_t>(*number).store(value, std::memory_order_release);
    return base::Status();
  };
  task.visible = true;
  if (LazyEnabled()) NoteSignal(*stream, number);
  return stream->Enqueue(std::move(task));
}

base::Status WaitForValue(void* address, uint64_t value, ValueTest test, void* stream_handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  uint64_t* number = nullptr;
  PORTACL_RETURN_IF_ERROR(ResolveNumber(address, &number));
  Task task;
  task.work.name = "value wait";
  task.work.category = "event";
  task.work.small = true;
  task.ready = [number, value, test] {
    return Holds(test, std::atomic_ref<uint64_t>(*number).load(std::memory_order_acquire), value);
  };
  if (LazyEnabled()) NoteWaitForNumber(*stream, number);
  return stream->Enqueue(std::move(task));
}

base::Status CheckCacheOperation(const void* address, size_t bytes, void* stream_handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  if (bytes == 0) return InvalidParam("size is 0, wanted at least 1 byte");
  void* reached = nullptr;
  return ResolveDevice(address, bytes, "src", &reached);
}

}  // namespace portacl::runtime
