// A plan that runs a computation of libportacl_aten.so. Streams, graphs, guard mode and the
// timeline treat it like other plans.
#include "aten/plan.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "acl/acl_base.h"
#include "aten/library.h"
#include "base/checked.h"
#include "base/status.h"
#include "ops/call.h"
#include "ops/recent_plans.h"
#include "runtime/parallel.h"

namespace portacl::aten {
namespace {

using base::Status;
using base::TensorDesc;

constexpr int32_t kInt4 = 29;
// Calls with at most this many elements in all tensors run on the calling thread.
constexpr int64_t kSmall = 4096;

// Returns a view of the bytes that a view of four-bit elements reaches. Strides are not negative,
// because the backend has refused such views. Values that exceed 64 bits stay as they are; no
// storage holds such views.
TensorDesc BytesOf(const TensorDesc& desc) {
  TensorDesc bytes = desc;
  bytes.dtype = base::DType::kUInt8;
  int64_t count = 0;
  if (desc.NumElements() != 0) {
    const base::ElementRange reach = base::ReachOf(desc);
    int64_t last = 0;
    if (!reach.valid || !base::CheckedAdd(desc.offset, reach.highest, &last)) return bytes;
    count = (last >> 1) - (desc.offset >> 1) + 1;
  }
  bytes.shape = base::Dims(&count, 1);
  bytes.strides = base::ContiguousStrides(bytes.shape);
  bytes.offset = desc.offset >> 1;
  TensorDesc storage;
  storage.shape = desc.storage_shape;
  const int64_t held = (storage.NumElements() + 1) / 2;
  bytes.storage_shape = base::Dims(&held, 1);
  return bytes;
}

class AtenPlan final : public ops::Plan {
 public:
  AtenPlan(const Row& row, std::span<const Value> values,
           std::unique_ptr<const Computation> computation,
           std::span<const std::shared_ptr<TensorDesc>> results)
      : Plan(row.function, ops::Surface::kAclnn), computation_(std::move(computation)) {
    kernel_ = "aten";
    may_alias_ = true;
    any_address_ = true;
    late_addresses_ = true;
    own_threads_ = true;
    in_place_ = !row.parameters.empty() && row.parameters[0].updated() && !row.parameters[0].list();
    int64_t rest = kSmall;  // elements that may follow; a sum might pass 64 bits
    for (const bool outputs : {false, true}) AddTensors(row, values, results, outputs, &rest);
  }

  Status Make() const { return CheckMemory(); }

  // Returns the storages of another call that has the same words.
  ops::Storages StoragesOf(std::span<const Value> values) const {
    ops::Storages storages{};
    storages.Grow(num_tensors());
    size_t at = 0;
    for (const Value& value : values) {
      for (const TensorDesc* const desc : value.tensors) storages[slots_[at++]] = desc->data;
    }
    return storages;
  }

  void Run(const ops::Elements& /*elements*/, void* /*workspace*/) const noexcept override {}

  Status TryRun(const ops::Elements& elements, void* /*workspace*/) const noexcept override {
    try {
      std::array<void*, ops::kMaxTensors> few;
      std::vector<void*> many;
      std::span<void*> addresses(few.data(), few.size());
      if (slots_.size() > few.size()) {
        many.resize(slots_.size());
        addresses = many;
      }
      for (size_t i = 0; i < slots_.size(); ++i) addresses[i] = elements[slots_[i]];
      std::vector<FoundShape> found;
      const Failure failure = computation_->Run(addresses.first(slots_.size()),
                                                small_ ? 1 : runtime::NumThreads(), &found);
      if (failure.code != 0) return {ACL_ERROR_RT_INTERNAL_ERROR, failure.words};
      for (const FoundShape& shape : found) SetShape(shape);
      return {};
    } catch (const std::bad_alloc&) {
      return {ACL_ERROR_RT_MEMORY_ALLOCATION, {}};
    }
  }

 private:
  // Adds inputs or outputs. `slots_` gets each tensor's plan index, in the order of parameters.
  void AddTensors(const Row& row, std::span<const Value> values,
                  std::span<const std::shared_ptr<TensorDesc>> results, bool outputs,
                  int64_t* rest) {
    size_t at = 0;
    for (size_t i = 0; i < row.parameters.size(); ++i) {
      const Parameter& parameter = row.parameters[i];
      if (!parameter.tensor()) continue;
      if (!values[i].given) {
        if (parameter.output() == outputs) AddTensor(parameter.name, {}, outputs, false);
        continue;
      }
      for (const TensorDesc* const desc : values[i].tensors) {
        if (slots_.size() <= at) slots_.resize(at + 1);
        if (parameter.output() == outputs) {
          slots_[at] = static_cast<size_t>(num_tensors());
          const bool packed = static_cast<int32_t>(desc->dtype) == kInt4;
          ops::TensorSlot& slot = AddTensor(parameter.name, packed ? BytesOf(*desc) : *desc,
                                            outputs, true, parameter.updated());
          if (packed) slot.packed = std::make_unique<const TensorDesc>(*desc);
          if (at < results.size()) slot.found = results[at];
          small_ = small_ && slot.HasAtMost(*rest);
          if (small_) *rest -= slot.elements;
        }
        ++at;
      }
    }
  }

  void SetShape(const FoundShape& found) const {
    TensorDesc* const desc = tensor(static_cast<int>(slots_[found.tensor])).found.get();
    if (desc == nullptr) return;
    desc->shape = base::Dims(found.sizes.data(), static_cast<int>(found.sizes.size()));
    desc->strides = base::ContiguousStrides(desc->shape);
  }

  const std::unique_ptr<const Computation> computation_;
  std::vector<size_t> slots_;
};

ops::CallWords WordsOf(const Row& row, std::span<const Value> values) {
  ops::CallWords words(&row);
  for (const Value& value : values) {
    const size_t count =
        value.tensors.size() + value.scalars.size() + value.ints.size() + value.doubles.size();
    words.Add(static_cast<int64_t>(count * 2 + (value.given ? 1 : 0)));
    for (const TensorDesc* const desc : value.tensors) words.AddArgument(desc);
    for (const ScalarValue& scalar : value.scalars) {
      std::array<int64_t, 2> bytes;
      std::memcpy(bytes.data(), scalar.bytes, sizeof bytes);
      words.Add(scalar.dtype);
      for (const int64_t word : bytes) words.Add(word);
    }
    for (const int64_t one : value.ints) words.Add(one);
    for (const double one : value.doubles) words.AddArgument(one);
    // A parameter has only one of the two; the other is 0.
    words.Add(value.integer | std::bit_cast<int64_t>(value.number));
    if (value.text != nullptr) words.GiveUp();
  }
  return words;
}

Status MakeNew(const Row& row, std::span<const Value> values,
               std::span<const std::shared_ptr<TensorDesc>> results,
               std::shared_ptr<const ops::Plan>* plan) {
  const Backend* const backend = LoadedBackend();
  if (backend == nullptr) {
    return {ACLNN_ERR_INNER_NULLPTR, std::string(row.function) + ": " + WhyNone()};
  }
  std::unique_ptr<const Computation> computation;
  const Failure failure = backend->plan(row, values, &computation);
  if (failure.code != 0) {
    return {failure.code, std::string(row.function) + ": " + failure.words};
  }
  auto made = std::make_shared<AtenPlan>(row, values, std::move(computation), results);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace

Status MakePlan(const Row& row, std::span<const Value> values,
                std::span<const std::shared_ptr<TensorDesc>> results, ops::PlannedCall* planned) {
  const ops::CallWords words = WordsOf(row, values);
  if (words.too_many() || !results.empty()) {
    return MakeNew(row, values, results, &planned->plan);
  }
  if (std::shared_ptr<const ops::Plan> plan = ops::FindRecentPlan(words)) {
    const auto storages = static_cast<const AtenPlan&>(*plan).StoragesOf(values);
    if (plan->CheckAddresses(storages).ok()) {
      *planned = {std::move(plan), storages};
      return {};
    }
  }
  const uint64_t warnings = base::WarningsOfThread();
  PORTACL_RETURN_IF_ERROR(MakeNew(row, values, results, &planned->plan));
  ops::KeepIfSeen(words, planned->plan, warnings);
  return {};
}

}  // namespace portacl::aten
