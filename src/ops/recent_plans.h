// Keeps plans of recent calls, for later calls that differ only by their addresses.
#ifndef PORTACL_OPS_RECENT_PLANS_H_
#define PORTACL_OPS_RECENT_PLANS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/executor.h"
#include "ops/plan.h"

namespace portacl::ops {

// The words of one call: everything that its checks and its planning use, except the addresses of
// tensors. Plans of calls with too_many() words are not kept.
class CallWords {
 public:
  // Begins with the function (any pointer that identifies it) and the settings. Add the arguments.
  explicit CallWords(const void* function);
  explicit CallWords(const Call& call);

  void Add(int64_t word) {
    if (size_ < words_.size()) words_[size_] = word;
    ++size_;
  }
  void AddArgument(const base::TensorDesc* tensor);
  template <class T>
  void AddArgument(const std::vector<T>* values) {
    if (values == nullptr) return GiveUp();
    Add(static_cast<int64_t>(values->size()));
    for (const T value : *values) AddArgument(static_cast<Wide<T>>(value));
  }
  void AddArgument(const std::array<double, 3>& values) {
    for (const double value : values) AddArgument(value);
  }
  void AddArgument(double value);
  void AddArgument(int64_t value);
  void AddArgument(const char* /*word*/) { GiveUp(); }
  void GiveUp() { size_ = words_.size() + 1; }

  bool too_many() const { return size_ > words_.size(); }
  std::span<const int64_t> words() const { return {words_.data(), size_}; }
  int64_t settings() const { return words_[1]; }
  // Call it after all words were added.
  uint64_t Hash() const {
    if (hash_ != 0) return hash_;
    uint64_t hash = 0;
    for (const int64_t word : words()) {
      hash = (std::rotl(hash, 5) ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    }
    return hash_ = hash ^ hash >> 32;
  }

 private:
  void Add(const base::Dims& dims) {
    if (size_ + static_cast<size_t>(dims.rank()) > words_.size()) return GiveUp();
    int64_t* const to = words_.data() + size_;
    for (int i = 0; i < dims.rank(); ++i) to[i] = dims[i];
    size_ += static_cast<size_t>(dims.rank());
  }
  template <class T>
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

  size_t size_ = 0;
  mutable uint64_t hash_ = 0;  // 0: not computed yet
  std::array<int64_t, 160> words_;
};

// Returns the plan of a call with the same words, or null.
std::shared_ptr<const Plan> FindRecentPlan(const CallWords& call);
// Keeps a new plan if its call comes for the second time, because plans of calls that all differ
// would fill the caches. `warnings`: WarningsOfThread() before the plan was made. A plan that gave
// a warning is not kept, because each call must repeat the warning. A plan is not kept either if a
// setting has changed since it was made.
void KeepIfSeen(const CallWords& call, const std::shared_ptr<const Plan>& plan, uint64_t warnings);

// Like MakePlan(), but may use the plan of an earlier call that differs only by the addresses of
// its tensors. Always checks the addresses. Plans of large calls are not kept, because their tables
// are large, too.
base::Status MakeOrReusePlan(const Call& call, PlannedCall* planned);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RECENT_PLANS_H_
