// Device memory for PyTorch's CPU kernels: portacl's device memory is host memory.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

namespace portacl_npu {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;

// Finds the library in the process and replaces PyTorch's CPU allocator. Called once, before any
// operator is routed; throws if the ACL library of this process is not portacl.
void InstallMemory();

// The address by which host code reaches device memory: the same, but for guard mode.
void* HostAddress(void* device_address, size_t bytes);

// All work on the device's current stream is done.
void SynchronizeStreamOf(c10::Device device);

// Memory of the current device that the host may write at once. After the call waited for the
// stream, another thread may have put work on the stream and freed this work's memory. The
// allocator gives such memory to the next request, so this waits again. (0.3 us if the stream is
// idle.)
c10::DataPtr AllocateForHost(size_t bytes);

// During its lifetime, CPU kernels of this thread allocate device memory. `kLarge`: small blocks
// stay host memory, because most hold no result, and a small result is quickly copied. `kAll` is
// for calls that do not write to this memory.
class Lending {
 public:
  enum Kind { kNone, kLarge, kAll };
  explicit Lending(Kind kind);
  ~Lending();
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

 private:
  const Kind outer_;
};

// Memory of a CPU storage that `Lending` gave: the device's own handle of it.
bool IsLent(const c10::DataPtr& data);
c10::DataPtr TakeLent(c10::DataPtr& data);            // the storage gives it up
void* DeviceAddressOfLent(const c10::DataPtr& data);  // the storage keeps it

// A handle on memory that keeps `storage` alive.
c10::DataPtr HoldStorage(void* address, const c10::Storage& storage, c10::Device device);

// For storages that borrow or lend memory: may resize.
c10::Allocator* LendingAllocator();

// Whether somebody reads of calls (timeline, log), and the place to report one.
bool Watched();
void ReportCall(const char* name, const char* tensors, double microseconds);

}  // namespace portacl_npu
