// The live handles of one kind. The library looks up a caller's opaque pointer here before it
// touches the object. So a null, foreign or destroyed handle is an error and never a crash.
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

#include "base/fork.h"

namespace portacl::base {

// Thread-safe. The table shares ownership: Find() keeps an object alive for its user, even if
// another thread destroys the handle.
//
// The address of a destroyed handle is used again only after kQuarantine more handles were
// destroyed (usually kShards times as many). So a stale handle is an error, not a new object.
template <class T>
class HandleTable {
 public:
  static constexpr size_t kQuarantine = 64;  // in each shard

  // Registers an object made by std::make_shared. Returns its handle: the object's address.
  T* Add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    shard.live.emplace(handle, std::move(object));
    return handle;
  }

  // Returns the object of a live handle, or null.
  std::shared_ptr<T> Find(const void* handle) {
    if (handle == nullptr) return nullptr;
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.live.find(handle);
    return found == shard.live.end() ? nullptr : found->second;
  }

  // Removes a live handle and returns its object, or null. Of two racing calls only one gets it.
  std::shared_ptr<T> Take(const void* handle) {
    if (handle == nullptr) return nullptr;
    std::weak_ptr<T> oldest;  // freed without the lock
    Shard& shard = ShardOf(handle);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.live.find(handle);
    if (found == shard.live.end()) return nullptr;
    return Take(shard, found, &oldest);
  }

  // Removes a live object for which matches(object) is true, and returns it; null if there is none.
  // Allocates nothing.
  template <class Matches>
  std::shared_ptr<T> TakeOne(Matches&& matches) {
    std::weak_ptr<T> oldest;  // freed without the lock
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (auto entry = shard.live.begin(); entry != shard.live.end(); ++entry) {
        if (matches(*entry->second)) return Take(shard, entry, &oldest);
      }
    }
    return nullptr;
  }

  // Returns true if there is a live object for which matches(object) is true.
  template <class Matches>
  bool HasOne(Matches&& matches) {
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (const auto& entry : shard.live) {
        if (matches(*entry.second)) return true;
      }
    }
    return false;
  }

  // Returns all live objects, in no order.
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
  static constexpr int kShardBits = 4;
  static constexpr size_t kShards = 1 << kShardBits;
  struct alignas(64) Shard {
    ForkSafe<std::mutex> mutex{LockRank::kHandles};
    std::unordered_map<const void*, std::shared_ptr<T>> live;
    // The handles destroyed last. A weak pointer keeps the memory that make_shared allocated, so no
    // new object gets the address. The object itself ends with its last user.
    std::array<std::weak_ptr<T>, kQuarantine> dead;
    size_t next_dead = 0;
  };
  using Entry = typename std::unordered_map<const void*, std::shared_ptr<T>>::iterator;

  // The caller holds the shard's lock.
  static std::shared_ptr<T> Take(Shard& shard, Entry entry, std::weak_ptr<T>* oldest) {
    std::shared_ptr<T> object = std::move(entry->second);
    shard.live.erase(entry);
    *oldest = std::exchange(shard.dead[shard.next_dead], object);
    shard.next_dead = (shard.next_dead + 1) % kQuarantine;
    return object;
  }
  Shard& ShardOf(const void* handle) {
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads addresses of any spacing
    return shards_[reinterpret_cast<uintptr_t>(handle) * kGoldenRatio >> (64 - kShardBits)];
  }
  std::array<Shard, kShards> shards_;
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_HANDLE_TABLE_H_
