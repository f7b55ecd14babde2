// The live handles of one kind: an opaque pointer that a caller passes in is looked up here before
// it is touched, so that a null, foreign or destroyed handle is an error and never a crash.
#ifndef PORTACL_BASE_HANDLE_TABLE_H_
#define PORTACL_BASE_HANDLE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace portacl::base {

// Thread-safe. The table shares ownership: Find keeps an object alive for its user while another
// thread destroys the handle.
template <class T>
class HandleTable {
 public:
  // Registers an object and returns its handle, the object's address.
  T* Add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    shard.live.emplace(handle, std::move(object));
    return handle;
  }

  // The object of a live handle, or null.
  std::shared_ptr<T> Find(const void* handle) {
    if (handle == nullptr) return nullptr;
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.live.find(handle);
    return found == shard.live.end() ? nullptr : found->second;
  }

  // Removes a live handle and returns its object, or null: of two racing calls one gets it.
  std::shared_ptr<T> Take(const void* handle) {
    if (handle == nullptr) return nullptr;
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.live.find(handle);
    if (found == shard.live.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    shard.live.erase(found);
    return object;
  }

  // All live objects, in no order.
  std::vector<std::shared_ptr<T>> Snapshot() {
    std::vector<std::shared_ptr<T>> all;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (const auto& entry : shard.live) all.push_back(entry.second);
    }
    return all;
  }

  size_t size() {
    size_t total = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      total += shard.live.size();
    }
    return total;
  }

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const void*, std::shared_ptr<T>> live;
  };
  Shard& ShardOf(const void* handle) {
    return shards_[(reinterpret_cast<uintptr_t>(handle) >> 5) % kShards];
  }
  std::array<Shard, kShards> shards_;
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_HANDLE_TABLE_H_
