// The list of kept plans behind plan_cache.h.
#include "plan_cache.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "cuda_stream.h"

namespace portacl_python {
namespace {

// Plans are kept up to so many bytes, about: a thousand of images of 64 x 64 pixels.
constexpr size_t kMostBytes = size_t{32} << 20;

// The planning functions, by operator.
constexpr auto kNatives = [] {
  std::array<const portacl::ops::Signature*, std::size(portacl::ops::kOperators)> natives{};
  for (const auto* const function : portacl::ops::kNativeFunctions) {
    natives[static_cast<size_t>(function->op)] = function;
  }
  return natives;
}();
const portacl::ops::Signature& NativeOf(Op op) { return *kNatives[static_cast<size_t>(op)]; }

using SharedPlan = std::shared_ptr<const portaclPlan>;

// Everything that a plan depends on, without addresses. It has only as many words as the tensors
// have axes, and takes few steps, because small calls are all overhead.
class Key {
 public:
  explicit Key(const Call& call) {
    Add(Pack(static_cast<int32_t>(call.op), portaclGetNumThreads()));  // plans share work out
    Add(Pack(CurrentStream().device, 0));
    Add(Pack(call.choices[0], call.choices[1]));
    Add(Pack(call.flags[0], call.flags[1]));
    for (const double real : call.reals) Add(std::bit_cast<uint64_t>(real));
    for (const int64_t integer : call.integers) Add(static_cast<uint64_t>(integer));
    if (NativeOf(call.op).CountOf(portacl::ops::Form::kInts) > 0) {
      for (const int64_t value : call.lists) Add(static_cast<uint64_t>(value));
    }
    for (const portaclTensor* tensor : call.tensors) {
      if (tensor == nullptr) {
        Add(Pack(-1, -1));
        continue;
      }
      Add(Pack(tensor->dtype, tensor->rank));
      for (int32_t axis = 0; axis < tensor->rank; ++axis) {
        Add(static_cast<uint64_t>(tensor->shape[axis]));
        Add(static_cast<uint64_t>(tensor->strides[axis]));
      }
    }
    hash_ = Hash();
  }
  std::span<const uint64_t> words() const { return {words_.data(), size_}; }
  uint64_t hash() const { return hash_; }

 private:
  static constexpr size_t kAxes = std::extent_v<decltype(portaclTensor::shape)>;

  static uint64_t Pack(int32_t high, int32_t low) {
    return uint64_t{static_cast<uint32_t>(high)} << 32 | static_cast<uint32_t>(low);
  }
  void Add(uint64_t word) { words_[size_++] = word; }

  // Four chains run at a time, because each step of a chain waits for the one before it.
  uint64_t Hash() const {
    constexpr size_t kChains = 4;
    std::array<uint64_t, kChains> chains{};
    const auto step = [](uint64_t hash, uint64_t word) {
      return (std::rotl(hash, 5) ^ word) * 0x9E3779B97F4A7C15;
    };
    size_t i = 0;
    for (; i + kChains <= size_; i += kChains) {
      for (size_t k = 0; k < kChains; ++k) chains[k] = step(chains[k], words_[i + k]);
    }
    uint64_t hash = 0;
    for (; i < size_; ++i) hash = step(hash, words_[i]);
    for (const uint64_t chain : chains) hash = step(hash, chain);
    return hash;
  }

  uint64_t hash_ = 0;
  size_t size_ = 0;
  std::array<uint64_t, 20 + kMaxTensors*(1 + 2 * kAxes)> words_;  // the first size_ count
};

class PlanCache {
 public:
  static PlanCache& Get() {
    static PlanCache* const cache = [] {
      pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                     [] { Get().mutex_.unlock(); });
      return new PlanCache;  // leaked: calls may come while the process ends
    }();
    return *cache;
  }

  // *again: whether the same call came before and left no plan.
  SharedPlan Find(const Key& key, bool* again) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key.hash());
    if (found == places_.end() || !std::ranges::equal(found->second->words, key.words())) {
      *again = See(key.hash());
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }

  void Keep(const Key& key, const SharedPlan& plan, size_t bytes) {
    std::list<Entry> forgotten;  // die behind the lock: that may wait for a GPU
    std::list<Entry> mine;
    mine.push_back({{key.words().begin(), key.words().end()}, key.hash(), plan, bytes});
    const std::lock_guard lock(mutex_);
    if (const auto same = places_.find(key.hash()); same != places_.end()) {
      Forget(same->second, &forgotten);
    }
    while (!entries_.empty() && bytes_ + bytes > kMostBytes) {
      Forget(std::prev(entries_.end()), &forgotten);
    }
    places_[key.hash()] = mine.begin();
    bytes_ += bytes;
    entries_.splice(entries_.begin(), mine);
  }

  // A plan with tables that a graph of CUDA's reads whenever it is replayed.
  void KeepForever(const SharedPlan& plan) {
    const std::lock_guard lock(mutex_);
    if (std::find(captured_.begin(), captured_.end(), plan) == captured_.end()) {
      captured_.push_back(plan);
    }
  }

  void Clear() {
    std::list<Entry> forgotten;
    const std::lock_guard lock(mutex_);
    while (!entries_.empty()) Forget(entries_.begin(), &forgotten);
  }

 private:
  struct Entry {
    std::vector<uint64_t> words;  // of its key
    uint64_t hash;
    SharedPlan plan;
    size_t bytes;
  };

  // Notes a call; whether it had been noted.
  bool See(uint64_t hash) {
    auto& row = seen_[hash % seen_.size()];
    if (std::find(row.begin(), row.end(), hash) != row.end()) return true;
    std::copy_backward(row.begin(), row.end() - 1, row.end());
    row[0] = hash;
    return false;
  }

  void Forget(std::list<Entry>::iterator entry, std::list<Entry>* forgotten) {
    places_.erase(entry->hash);
    bytes_ -= entry->bytes;
    forgotten->splice(forgotten->begin(), entries_, entry);
  }

  std::mutex mutex_;
  std::list<Entry> entries_;                                         // the last used one first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> places_;  // by the hashes of their keys
  size_t bytes_ = 0;
  std::array<std::array<uint64_t, 8>, 1024> seen_{};  // hashes of the newest calls, by rows
  std::vector<SharedPlan> captured_;
};

// Gives a call's arguments one behind the other, in the order of the planning function.
class Arguments {
 public:
  explicit Arguments(const Call& call) : call_(call) {}

  template <portacl::ops::Form kForm>
  auto Next() {
    using portacl::ops::Form;
    if constexpr (kForm == Form::kRead || kForm == Form::kWritten) {
      return call_.tensors[tensor_++];
    } else if constexpr (kForm == Form::kReals) {
      return call_.reals.data();
    } else if constexpr (kForm == Form::kReal) {
      return call_.reals[real_++];
    } else if constexpr (kForm == Form::kInteger) {
      return call_.integers[integer_++];
    } else if constexpr (kForm == Form::kInts) {
      const portacl::ops::Signature& function = NativeOf(call_.op);
      const size_t at = function.PositionOf(Form::kInts, list_++);
      const int64_t* const list = call_.lists.data() + listed_;
      listed_ += PartsOf(function.parameters[at]);
      return list;
    } else if constexpr (kForm == Form::kChoice) {
      return call_.choices[choice_++];
    } else {
      static_assert(kForm == Form::kFlag);
      return call_.flags[flag_++];
    }
  }

 private:
  const Call& call_;
  size_t tensor_ = 0, real_ = 0, integer_ = 0, choice_ = 0, flag_ = 0;
  size_t list_ = 0, listed_ = 0;
};

int32_t MakePlan(const Call& call, portaclPlan** plan) {
  Arguments from(call);
  switch (call.op) {
#define PORTACL_TAKE(kind, ...) from.Next<portacl::ops::FormOf(portacl::ops::Kind::k##kind)>(),
// The elements of a braced list are evaluated from the left to the right.
#define PORTACL_NATIVE(function, Name, traits, ...) \
  case Op::k##Name:                                 \
    return std::apply(function, std::tuple{PORTACL_FOR_EACH(PORTACL_TAKE, __VA_ARGS__) plan});
#include "src/ops/operator_list.inc"
#undef PORTACL_TAKE
  }
  return PORTACL_ERROR_INTERNAL;
}

// Makes the plan for the device of this thread's calls, whatever the thread has set for its plans.
int32_t MakePlanOnDevice(const Call& call, portaclPlan** plan) {
  const CudaStream& current = CurrentStream();
  if (!current.on_gpu() && std::string_view(portaclGetDevice()) == "cpu") {
    return MakePlan(call, plan);
  }
  const std::string device = current.on_gpu() ? "cuda:" + std::to_string(current.device) : "cpu";
  const std::string before = portaclGetDevice();
  if (device == before) return MakePlan(call, plan);
  if (const int32_t code = portaclSetDevice(device.c_str()); code != PORTACL_OK) return code;
  const int32_t code = MakePlan(call, plan);
  portaclSetDevice(before.c_str());
  return code;
}

int32_t RunPlan(const SharedPlan& plan, void* const* addresses) {
  const CudaStream& current = CurrentStream();
  if (!current.on_gpu()) return portaclPlanRun(plan.get(), addresses, nullptr, 0);
  if (current.is_captured) PlanCache::Get().KeepForever(plan);
  return portaclPlanEnqueue(plan.get(), addresses, nullptr, 0, current.stream);
}

// A run replaces only addresses that are not null. So a plan for memory that is freed may be used
// again only if every tensor has an address.
bool IsReusable(const Call& call) {
  return std::all_of(call.tensors.begin(), call.tensors.end(), [](const portaclTensor* tensor) {
    return tensor == nullptr || tensor->data != nullptr;
  });
}

// Roughly the memory of a plan: itself, and the tables of the axes that are resized.
size_t BytesOf(const Call& call) {
  constexpr int64_t kPlan = 8 << 10, kElement = 96;
  constexpr int64_t kMost = kMostBytes / kElement;
  int64_t bytes = kPlan;
  for (const portaclTensor* tensor : call.tensors) {
    if (tensor == nullptr) continue;
    for (int32_t axis = 2; axis < tensor->rank; ++axis) {
      bytes += kElement * std::min(tensor->shape[axis], kMost);
    }
  }
  return static_cast<size_t>(bytes);
}

}  // namespace

int32_t RunCall(const Call& call) {
  const bool reusable = IsReusable(call);
  const Key key(call);
  bool again = false;
  SharedPlan plan = reusable ? PlanCache::Get().Find(key, &again) : nullptr;
  if (plan == nullptr) {
    portaclPlan* made = nullptr;
    if (const int32_t code = MakePlanOnDevice(call, &made); code != PORTACL_OK) return code;
    plan = SharedPlan(
        made, [](const portaclPlan* p) { portaclPlanDestroy(const_cast<portaclPlan*>(p)); });
    // If all calls differ, their plans would fill the CPU's caches; and the end of a plan waits for
    // its work on a GPU.
    if (reusable && (again || CurrentStream().on_gpu())) {
      PlanCache::Get().Keep(key, plan, BytesOf(call));
    }
    return RunPlan(plan, nullptr);
  }
  std::array<void*, kMaxTensors> addresses{};
  for (size_t i = 0; i < kMaxTensors; ++i) {
    if (call.tensors[i] != nullptr) addresses[i] = call.tensors[i]->data;
  }
  return RunPlan(plan, addresses.data());
}

void ClearPlans() { PlanCache::Get().Clear(); }

}  // namespace portacl_python
