// A planned call of the two-phase API: the plan and the addresses of its tensors' storages.
#ifndef PORTACL_OPS_EXECUTOR_H_
#define PORTACL_OPS_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/status.h"
#include "ops/plan.h"

namespace portacl::ops {

// The result of phase 1. Without storages, the plan runs at the addresses it was planned with.
struct PlannedCall {
  std::shared_ptr<const Plan> plan;
  std::optional<Storages> storages;
};

// Thread-safe. Each enqueued run has a copy of the addresses. So an executor may be enqueued again,
// or get other addresses, while earlier runs are pending.
class Executor {
 public:
  explicit Executor(PlannedCall planned);

  const Plan& plan() const { return *plan_; }

  // A one-shot executor may run once: only the first ClaimRun() is granted.
  enum class Claim { kRepeatable, kGranted, kTaken };
  void SetRepeatable() { repeatable_ = true; }
  Claim ClaimRun() {
    if (repeatable_) return Claim::kRepeatable;
    return claimed_.exchange(true) ? Claim::kTaken : Claim::kGranted;
  }
  void ReturnOneShot() { claimed_ = false; }  // after the granted run was refused

  // Replaces the storage address of tensor `index` of the plan. First checks the memory rules that
  // concern only this tensor.
  base::Status SetAddress(int index, void* storage);

  // Checks the workspace and enqueues a run on a stream (null: the context's default stream).
  base::Status Enqueue(void* workspace, uint64_t workspace_size, void* stream) const;

 private:
  const std::shared_ptr<const Plan> plan_;
  mutable std::mutex mutex_;
  Storages storages_;  // guarded by mutex_
  bool unchecked_;     // guarded by mutex_: Enqueue() must check the addresses
  std::atomic<bool> repeatable_ = false;
  std::atomic<bool> claimed_ = false;
};

// Resolves the elements to addresses that kernels may touch, and enqueues one run of a plan. The
// workspace must be large enough. `keep_alive`, if not null, lives until the run is over.
base::Status LaunchPlan(std::shared_ptr<const Plan> plan, Elements elements, void* workspace,
                        void* stream, std::shared_ptr<void> keep_alive = nullptr);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_EXECUTOR_H_
