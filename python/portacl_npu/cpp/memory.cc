// The allocator that lends device memory to CPU kernels, and the way to the library.
#include "memory.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace portacl_npu {
namespace {

c10::Allocator* host_allocator = nullptr;
thread_local Lending::Kind lending = Lending::kNone;

int32_t (*watched)() = nullptr;
void (*report_call)(const char*, const char*, double) = nullptr;
void* (*host_address)(const void*, size_t) = nullptr;  // null: the same address

// Memory that CPU kernels got, by its address. A table, because some kernels (oneDNN) give only the
// address when they free memory.
struct LentBlocks {
  std::mutex mutex;
  std::unordered_map<void*, c10::DataPtr> blocks;

  void Add(void* address, c10::DataPtr block) {
    const std::lock_guard<std::mutex> lock(mutex);
    blocks[address] = std::move(block);
  }
  c10::DataPtr Take(void* address) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto node = blocks.extract(address);
    return node ? std::move(node.mapped()) : c10::DataPtr();
  }
  void* DeviceAddress(void* address) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = blocks.find(address);
    return found == blocks.end() ? address : found->second.get();
  }
};

// Small blocks of the host, taken and given back without a lock: one bit each.
class SmallBlocks {
 public:
  static constexpr size_t kBytes = 8192;
  // Null if none is left.
  void* Take() {
    uint64_t free = free_.load(std::memory_order_relaxed);
    while (free != 0 && !free_.compare_exchange_weak(free, free & (free - 1))) {
    }
    return free == 0 ? nullptr : memory_ + kStride * static_cast<size_t>(std::countr_zero(free));
  }
  // Takes a block back; false if the block is none of these.
  bool Give(void* address) {
    const auto at = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(memory_);
    if (at >= sizeof(memory_)) return false;
    free_.fetch_or(uint64_t{1} << (at / kStride));
    return true;
  }

 private:
  static constexpr size_t kStride = kBytes + 192;  // blocks in the same cache sets would collide
  std::atomic<uint64_t> free_{~uint64_t{0}};
  alignas(64) char memory_[64 * kStride];
};

SmallBlocks small_blocks;

LentBlocks& Lent() {  // outlives every tensor of the program
  static auto& lent = *new LentBlocks;
  return lent;
}

void DropBlock(void* address) {
  if (small_blocks.Give(address)) return;
  if (!Lent().Take(address)) host_allocator->raw_deallocate(address);
}

void DropSmall(void* address) { small_blocks.Give(address); }

using StoragePointer = c10::intrusive_ptr<c10::StorageImpl>;

void DropStorage(void* storage) {
  StoragePointer::reclaim(static_cast<c10::StorageImpl*>(storage));
}

struct Lender final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (lending == Lending::kNone || bytes == 0) return host_allocator->allocate(bytes);
    if (lending == Lending::kLarge && bytes <= SmallBlocks::kBytes) {
      void* const small = small_blocks.Take();
      if (small != nullptr) return {small, small, &DropSmall, c10::Device(c10::kCPU)};
    }
    c10::DataPtr block = lending == Lending::kAll ? c10::GetAllocator(kNpu)->allocate(bytes)
                                                  : AllocateForHost(bytes);
    void* const address = HostAddress(block.get(), bytes);
    Lent().Add(address, std::move(block));
    return {address, address, &DropBlock, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &DropBlock; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    host_allocator->copy_data(to, from, bytes);
  }
};

Lender lender;

template <class Function>
void Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  TORCH_CHECK(*function != nullptr, "portacl_npu: the ACL library of this process has no ", name,
              ": it is not portacl, or another version of it");
}

}  // namespace

void InstallMemory() {
  if (host_allocator != nullptr) return;
  void* const library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
  TORCH_CHECK(library != nullptr, "portacl_npu: libascendcl.so is not in this process");
  int32_t (*guarded)() = nullptr;
  Find(library, "portaclNpuGuarded", &guarded);
  Find(library, "portaclNpuWatched", &watched);
  Find(library, "portaclNpuReportCall", &report_call);
  if (guarded() != 0) Find(library, "portaclNpuHostAddress", &host_address);
  constexpr uint8_t kHighestPriority = 255;
  host_allocator = c10::GetAllocator(c10::kCPU);
  c10::SetAllocator(c10::kCPU, &lender, kHighestPriority);
}

void* HostAddress(void* device_address, size_t bytes) {
  if (C10_LIKELY(host_address == nullptr) || device_address == nullptr) return device_address;
  void* const address = host_address(device_address, bytes);
  TORCH_CHECK(address != nullptr, "portacl_npu: ", device_address,
              " is not device memory of this process");
  return address;
}

void SynchronizeStreamOf(c10::Device device) {
  const auto* guard = c10::impl::getDeviceGuardImpl(kNpu);
  guard->synchronizeStream(guard->getStream(device));
}

c10::DataPtr AllocateForHost(size_t bytes) {
  c10::DataPtr block = c10::GetAllocator(kNpu)->allocate(bytes);
  SynchronizeStreamOf(block.device());
  return block;
}

Lending::Lending(Kind kind) : outer_(lending) { lending = kind; }
Lending::~Lending() { lending = outer_; }

bool IsLent(const c10::DataPtr& data) { return data.get_deleter() == &DropBlock; }

c10::DataPtr TakeLent(c10::DataPtr& data) { return Lent().Take(data.release_context()); }

void* DeviceAddressOfLent(const c10::DataPtr& data) { return Lent().DeviceAddress(data.get()); }

c10::DataPtr HoldStorage(void* address, const c10::Storage& storage, c10::Device device) {
  auto owner = StoragePointer::reclaim_copy(storage.unsafeGetStorageImpl());
  return {address, owner.release(), &DropStorage, device};
}

c10::Allocator* LendingAllocator() { return &lender; }

bool Watched() { return watched() != 0; }

void ReportCall(const char* name, const char* tensors, double microseconds) {
  report_call(name, tensors, microseconds);
}

}  // namespace portacl_npu
