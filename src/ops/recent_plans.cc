// Finds plans by the words of a call: everything that checks and planning use, except the addresses
// of tensors.
#include "ops/recent_plans.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>
#include <variant>

#include "base/fork.h"
#include "base/status.h"
#include "ops/settings.h"
#include "runtime/parallel.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

// Packs the settings that checks and plans use.
int64_t SettingsOfCalls() {
  const auto profile = static_cast<int64_t>(CurrentProfile());
  const auto edition = static_cast<int64_t>(CurrentEdition());
  return ((int64_t{runtime::NumThreads()} << 8 | profile) << 8 | edition) << 8 | (Strict() ? 1 : 0);
}

// Returns the addresses of a call's tensors, in the order of the plan's tensors.
Storages StoragesOf(const Call& call, const Plan& plan) {
  Storages storages{};
  storages.Grow(plan.num_tensors());
  for (int i = 0; i < plan.num_inputs(); ++i) {
    storages[static_cast<size_t>(plan.input(i))] = call.input(static_cast<size_t>(i))->data;
  }
  for (int i = 0; i < plan.num_outputs(); ++i) {
    storages[static_cast<size_t>(plan.output(i))] = call.output(static_cast<size_t>(i))->data;
  }
  return storages;
}

bool MapsOneToOne(const Call& call, const Plan& plan) {
  const auto count = [&](Form form) { return static_cast<int>(call.signature().CountOf(form)); };
  return count(Form::kRead) == plan.num_inputs() && count(Form::kWritten) == plan.num_outputs() &&
         plan.num_inputs() + plan.num_outputs() == plan.num_tensors();
}

// Thread-safe. A thread that would have to wait for another thread finds nothing and keeps nothing.
class RecentPlans {
 public:
  std::shared_ptr<const Plan> Find(const CallWords& call) {
    const uint64_t hash = call.Hash();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    const Entry& entry = EntryOf(hash);
    const bool equal = entry.hash == hash && std::ranges::equal(entry.words, call.words());
    return equal ? entry.plan : nullptr;
  }

  // Notes a call. Returns true if an equal call was noted lately.
  bool See(uint64_t hash) {
    return seen_[hash % kEntries].exchange(hash, std::memory_order_relaxed) == hash;
  }

  void Keep(const CallWords& call, std::shared_ptr<const Plan> plan) {
    const uint64_t hash = call.Hash();
    Entry made{hash, {call.words().begin(), call.words().end()}, std::move(plan)};
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) std::swap(EntryOf(hash), made);  // the lock ends before the old plan
  }

 private:
  struct Entry {
    uint64_t hash = 0;
    std::vector<int64_t> words;
    std::shared_ptr<const Plan> plan;
  };
  static constexpr size_t kEntries = 256;
  Entry& EntryOf(uint64_t hash) { return entries_[hash % kEntries]; }

  base::ForkSafe<std::mutex> mutex_{base::LockRank::kSettings};
  std::array<Entry, kEntries> entries_;
  std::array<std::atomic<uint64_t>, kEntries> seen_{};  // hashes of the newest calls
};

RecentPlans& Recent() {
  static constinit base::Immortal<RecentPlans> plans;
  return plans.Get();
}

bool MayBeKept(const Call& call, const Plan& plan) {
  return plan.small() && plan.parts().empty() && MapsOneToOne(call, plan);
}

// Returns true if no setting has changed since `call` was made: a plan may mix old and new.
bool AreSettingsOf(const CallWords& call) {
  return !ImplIsForced() && call.settings() == SettingsOfCalls();
}

}  // namespace

CallWords::CallWords(const void* function) {
  Add(std::bit_cast<intptr_t>(function));
  Add(SettingsOfCalls());
}

CallWords::CallWords(const Call& call) : CallWords(&call.signature()) {
  for (size_t i = 0; i < call.size(); ++i) {
    std::visit([this](const auto& argument) { AddArgument(argument); }, call.argument(i));
  }
}

void CallWords::AddArgument(const TensorDesc* tensor) {
  if (tensor == nullptr) return GiveUp();
  Add(static_cast<int64_t>(tensor->dtype) << 32 |
      static_cast<int64_t>(static_cast<uint32_t>(tensor->format)));
  const bool whole = tensor->storage_shape == tensor->shape;
  int64_t head = (tensor->has_storage ? 1 : 0) | (whole ? 2 : 0);
  for (const base::Dims* dims : {&tensor->shape, &tensor->strides, &tensor->storage_shape}) {
    head = head << 8 | dims->rank();
  }
  Add(head);
  Add(tensor->offset);
  Add(tensor->shape);
  Add(tensor->strides);
  if (!whole) Add(tensor->storage_shape);
}

void CallWords::AddArgument(double value) { Add(std::bit_cast<int64_t>(value)); }
void CallWords::AddArgument(int64_t value) { Add(value); }

std::shared_ptr<const Plan> FindRecentPlan(const CallWords& call) { return Recent().Find(call); }

void KeepIfSeen(const CallWords& call, const std::shared_ptr<const Plan>& plan, uint64_t warnings) {
  if (warnings != base::WarningsOfThread() || !AreSettingsOf(call)) return;
  if (Recent().See(call.Hash())) Recent().Keep(call, plan);
}

Status MakeOrReusePlan(const Call& call, PlannedCall* planned) {
  const CallWords words(call);
  if (words.too_many() || !call.has_workspace_size || !call.has_executor || ImplIsForced()) {
    return MakePlan(call, &planned->plan);
  }
  if (std::shared_ptr<const Plan> plan = FindRecentPlan(words)) {
    const Storages storages = StoragesOf(call, *plan);
    // The refusals of a new plan, in its order.
    if (plan->CheckAddresses(storages).ok()) {
      runtime::PrepareThreads();
      *planned = {std::move(plan), storages};
      return {};
    }
  }
  const uint64_t warnings = base::WarningsOfThread();
  PORTACL_RETURN_IF_ERROR(MakePlan(call, &planned->plan));
  if (MayBeKept(call, *planned->plan)) KeepIfSeen(words, planned->plan, warnings);
  return {};
}

}  // namespace portacl::ops
