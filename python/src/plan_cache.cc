// The list of kept plans behind plan_cache.h.
#include "plan_cache.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

namespace portacl_python {
namespace {

constexpr size_t kMaxPlans = 32;

using SharedPlan = std::shared_ptr<const portaclPlan>;

// Everything that a plan depends on; addresses are not part of it. Compared as bytes: made from
// zeroed memory.
struct Key {
  Call call;
  std::array<portaclTensor, kMaxTensors> tensors;
  int32_t threads;  // plans share their work out to so many

  explicit Key(const Call& from) {
    std::memset(static_cast<void*>(this), 0, sizeof *this);
    call.op = from.op;
    call.scales = from.scales;
    call.interpolation = from.interpolation;
    call.padding = from.padding;
    call.align_corners = from.align_corners;
    threads = portaclGetNumThreads();
    for (size_t i = 0; i < kMaxTensors; ++i) {
      const portaclTensor* tensor = from.tensors[i];
      if (tensor == nullptr) continue;
      tensors[i].dtype = tensor->dtype;
      tensors[i].rank = tensor->rank;
      std::copy_n(tensor->shape, tensor->rank, tensors[i].shape);
      std::copy_n(tensor->strides, tensor->rank, tensors[i].strides);
    }
  }
  bool operator==(const Key& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
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

  SharedPlan Find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    if (found == entries_.end()) return nullptr;
    std::rotate(entries_.begin(), found, found + 1);  // newest first
    return entries_.front().plan;
  }

  void Keep(const Key& key, const SharedPlan& plan) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == kMaxPlans) entries_.pop_back();
    entries_.insert(entries_.begin(), Entry{key, plan});
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  struct Entry {
    Key key;
    SharedPlan plan;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

int32_t MakePlan(const Call& call, portaclPlan** plan) {
  const auto& t = call.tensors;
  switch (call.op) {
    case Op::kUpsampleNearestExact:
      return portaclPlanUpsampleNearestExact(t[0], t[1], call.scales.data(), plan);
    case Op::kUpsampleNearestExactBackward:
      return portaclPlanUpsampleNearestExactBackward(t[0], t[1], call.scales.data(), plan);
    case Op::kGridSampler2D:
      return portaclPlanGridSampler2D(t[0], t[1], t[2], call.interpolation, call.padding,
                                      call.align_corners ? 1 : 0, plan);
    case Op::kGridSampler2DBackward:
      return portaclPlanGridSampler2DBackward(t[0], t[1], t[2], t[3], t[4], call.interpolation,
                                              call.padding, call.align_corners ? 1 : 0, plan);
    case Op::kGridSampler3D:
      return portaclPlanGridSampler3D(t[0], t[1], t[2], call.interpolation, call.padding,
                                      call.align_corners ? 1 : 0, plan);
    case Op::kGridSampler3DBackward:
      return portaclPlanGridSampler3DBackward(t[0], t[1], t[2], t[3], t[4], call.interpolation,
                                              call.padding, call.align_corners ? 1 : 0, plan);
  }
  return PORTACL_ERROR_INTERNAL;
}

// A run replaces only addresses that are not null, so a plan made for memory that has gone may be
// used again only where every tensor has an address.
bool IsReusable(const Call& call) {
  return std::all_of(call.tensors.begin(), call.tensors.end(), [](const portaclTensor* tensor) {
    return tensor == nullptr || tensor->data != nullptr;
  });
}

}  // namespace

int32_t RunCall(const Call& call) {
  const bool reusable = IsReusable(call);
  const Key key(call);
  SharedPlan plan = reusable ? PlanCache::Get().Find(key) : nullptr;
  if (plan == nullptr) {
    portaclPlan* made = nullptr;
    if (const int32_t code = MakePlan(call, &made); code != PORTACL_OK) return code;
    plan = SharedPlan(
        made, [](const portaclPlan* p) { portaclPlanDestroy(const_cast<portaclPlan*>(p)); });
    if (reusable) PlanCache::Get().Keep(key, plan);
    return portaclPlanRun(plan.get(), nullptr, nullptr, 0);
  }
  std::array<void*, kMaxTensors> addresses{};
  for (size_t i = 0; i < kMaxTensors; ++i) {
    if (call.tensors[i] != nullptr) addresses[i] = call.tensors[i]->data;
  }
  return portaclPlanRun(plan.get(), addresses.data(), nullptr, 0);
}

void ClearPlans() { PlanCache::Get().Clear(); }

}  // namespace portacl_python
