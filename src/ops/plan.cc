// A plan's tensors: addresses, elements and descriptions. Below, the rules on their memory: null
// addresses, views inside their storage, allocations, overlaps. At the end, the times of its
// phases.
#include "ops/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <string_view>

#include "base/checked.h"
#include "base/log.h"
#include "ops/call_log.h"
#include "runtime/memory.h"
#include "runtime/observers.h"
#include "runtime/parallel.h"

namespace portacl::ops {
namespace {

using base::Status;

// Returns the view's number of elements if they lie in the order of their indices, without gaps.
// Returns 0 for other views and for views without elements.
int64_t DenseElements(const base::TensorDesc& desc) {
  int64_t elements = 1;
  for (int i = desc.shape.rank(); i-- > 0;) {
    const int64_t extent = desc.shape[i];
    if (extent < 1 || (extent > 1 && desc.strides[i] != elements)) return 0;
    if (__builtin_mul_overflow(elements, extent, &elements)) return 0;
  }
  return elements;
}

// `dense` is the result of DenseElements().
ByteSpan SpanOf(const base::TensorDesc& desc, int64_t dense) {
  const base::ElementRange reach =
      dense > 0 ? base::ElementRange{true, 0, dense - 1} : base::ReachOf(desc);
  const int64_t size = base::DTypeSize(desc.dtype);
  ByteSpan span;
  int64_t end = 0;
  const bool known = reach.valid && base::CheckedAdd(desc.offset, reach.lowest, &span.begin) &&
                     base::CheckedMul(span.begin, size, &span.begin) &&
                     base::CheckedAdd(desc.offset, reach.highest, &end) &&
                     base::CheckedAdd(end, int64_t{1}, &end) &&
                     base::CheckedMul(end, size, &span.end);
  return known ? span : ByteSpan();
}

// Returns -1 if an extent is negative or 64 bits do not hold the size.
int64_t StorageBytes(const base::TensorDesc& desc) {
  int64_t bytes = base::DTypeSize(desc.dtype);
  for (int i = 0; i < desc.storage_shape.rank(); ++i) {
    const int64_t extent = desc.storage_shape[i];
    if (extent < 0 || !base::CheckedMul(bytes, extent, &bytes)) return -1;
  }
  return bytes;
}

// Returns the function that names a call in the log: the called aclnn function, else the first
// aclnn function that computes the same. (The affine grid has one function for all ranks.)
const Signature* LoggedFunction(const Call& call) {
  if (*call.signature().case_name != '\0') return &call.signature();
  const Op op = call.signature().op;
  const Signature* const function = AclnnOf(op, call.axes(), call.antialias());
  return function != nullptr ? function : AclnnOf(op, 0);
}

}  // namespace

LoggedNumbers::LoggedNumbers(const Call& call)
    : reals(call.scales()),
      integers{call.integer(0), call.integer(1), call.integer(2)},
      choices{call.mode(0), call.mode(1)},
      flags{call.flag(0), call.flag(1)} {
  for (size_t i = 0; i < lists.size(); ++i) {
    const std::vector<int64_t>* const given = call.ints(i);
    if (given == nullptr) continue;
    lists[i].fill(1);
    const size_t count = std::min(given->size(), lists[i].size());
    std::copy_n(given->end() - static_cast<std::ptrdiff_t>(count), count, lists[i].end() - count);
  }
}

TensorSlot::TensorSlot(const char* its_name, const base::TensorDesc& its_desc, bool is_output,
                       bool is_active, bool is_updated)
    : name(its_name), desc(its_desc), output(is_output), active(is_active), updated(is_updated) {
  const int64_t in_order = DenseElements(desc);
  dense = in_order > 0;
  elements = dense ? in_order : desc.NumElements();
  nonempty = active && elements != 0;
  if (!nonempty) return;
  span = SpanOf(desc, in_order);
  if (desc.has_storage) storage_bytes = StorageBytes(desc);
}

Plan::Plan(const Call& call)
    : refusals_(call.op(), call.surface()), device_(DeviceOf(call.surface())) {
  if (runtime::Observed() && base::CallLogEnabled()) {
    logged_ = LoggedFunction(call);
    logged_numbers_ = std::make_unique<LoggedNumbers>(call);
  }
  tensors_.reserve(call.signature().CountOf(Form::kRead) +
                   call.signature().CountOf(Form::kWritten));
}

TensorSlot& Plan::AddTensor(const char* name, const base::TensorDesc& desc, bool output,
                            bool active, bool updated) {
  TensorSlot& slot = tensors_.emplace_back(name, desc, output, active, updated);
  if (!output) ++num_inputs_;
  return slot;
}

void Plan::AddTensors(const Call& call) {
  const auto add = [&](const char* name, const base::TensorDesc* tensor, bool output) {
    AddTensor(name, tensor != nullptr ? *tensor : base::TensorDesc(), output, tensor != nullptr);
  };
  const Signature& row = call.signature();
  for (size_t i = 0; i < row.CountOf(Form::kRead); ++i) {
    add(call.input_name(i), call.input(i), false);
  }
  for (size_t i = 0; i < row.outputs(); ++i) add(call.output_name(i), call.output(i), true);
}

std::string Plan::LayoutDifference(int index, const base::TensorDesc& given) const {
  const TensorSlot& slot = tensor(index);
  if (slot.found.get() == &given) return {};  // its shape may be set by an earlier run
  return base::LayoutDifference(slot.packed != nullptr ? *slot.packed : slot.desc, given);
}

bool Plan::WritesNothing() const {
  return std::none_of(tensors_.begin(), tensors_.end(),
                      [](const TensorSlot& t) { return t.output && t.has_elements(); });
}

bool Plan::HasAtMost(int64_t elements) const {
  return std::all_of(tensors_.begin(), tensors_.end(), [=](const TensorSlot& t) {
    return !t.has_elements() || t.HasAtMost(elements);
  });
}

Storages Plan::PlannedStorages() const {
  Storages storages{};
  storages.Grow(num_tensors());
  for (int i = 0; i < num_tensors(); ++i) storages[static_cast<size_t>(i)] = tensor(i).desc.data;
  return storages;
}

bool Plan::LacksAddress() const {
  return late_addresses_ && std::any_of(tensors_.begin(), tensors_.end(), [](const TensorSlot& t) {
           return t.has_elements() && t.desc.data == nullptr;
         });
}

Elements Plan::ElementsAt(const Storages& storages) const {
  Elements elements{};
  elements.Grow(num_tensors());
  for (int i = 0; i < num_tensors(); ++i) {
    if (!tensor(i).has_elements()) continue;
    const base::TensorDesc& desc = tensor(i).desc;
    const auto at = static_cast<size_t>(i);
    elements[at] = static_cast<char*>(storages[at]) + desc.offset * base::DTypeSize(desc.dtype);
  }
  return elements;
}

// Returns equal numbers for calls that the runtime's thread policy treats alike: the same operator
// and kernel, and elements in one class. Classes begin at 2^k and at 1.5 * 2^k.
uint64_t Plan::Kind() const {
  uint64_t elements = 0;
  for (int i = 0; i < num_tensors(); ++i) {
    if (tensor(i).has_elements()) elements += static_cast<uint64_t>(tensor(i).elements);
  }
  for (const auto& part : parts()) elements += part->Kind();
  const auto bits = static_cast<uint64_t>(std::bit_width(elements));
  const uint64_t second = bits < 2 ? 0 : elements >> (bits - 2) & 1;
  const uint64_t name = std::hash<std::string_view>{}(op());
  return (name * 31 + std::hash<std::string_view>{}(kernel_)) * 256 + bits * 2 + second;
}

Status Plan::RunCall(std::span<const Elements> elements, void* workspace) const noexcept {
  Status status;
  const auto run = [&] {
    if (parts().empty()) {
      status = TryRun(elements[0], workspace);
      return;
    }
    for (size_t i = 0; i < elements.size(); ++i) parts()[i]->Run(elements[i], nullptr);
  };
  if (small() || own_threads_) {
    run();
  } else {
    runtime::RunAsOneCall(Kind(), run);
  }
  return status;
}

std::string Plan::Describe() const {
  std::string text = parts().empty() ? fmt::format("{} {} {}", op(),
                                                   base::DTypeName(tensor(0).desc.dtype), kernel_)
                                     : fmt::format("{} {} members", op(), parts().size());
  for (int i = 0; i < num_tensors(); ++i) {
    text += fmt::format(" {}{}", tensor(i).name, tensor(i).desc.shape.ToString());
  }
  return text;
}

// ---- rules on memory ----------------------------------------------------------------------------

namespace {

// Returns the storage's number of elements; -1 if an extent is negative or 64 bits do not hold it.
int64_t StorageElements(const base::TensorDesc& desc) {
  base::TensorDesc storage;
  storage.shape = desc.storage_shape;
  for (int i = 0; i < storage.shape.rank(); ++i) {
    if (storage.shape[i] < 0) return -1;
  }
  return storage.NumElements();
}

Status CheckNotNull(const Refusals& refusals, const TensorSlot& slot, const void* storage) {
  if (storage != nullptr) return {};
  return refusals.Refuse(Rule::kNull, "{} has the data address null, but its shape {} has elements",
                         slot.name, slot.desc.shape.ToString());
}

// Returns true if the storage may begin at element (0, 0, ...), as some programs describe it.
bool LeavesOutOffset(const base::TensorDesc& desc, const base::ElementRange& reach,
                     int64_t elements) {
  int64_t held = 0;
  int64_t bytes = 0;
  return desc.offset > 0 && reach.lowest >= 0 && reach.highest < elements &&
         base::CheckedAdd(desc.offset, elements, &held) &&
         base::CheckedMul(held, base::DTypeSize(desc.dtype), &bytes);
}

Status CheckViewInStorage(const Refusals& refusals, const TensorSlot& slot) {
  const base::TensorDesc& desc = slot.desc;
  const ByteSpan& span = slot.span;
  if (span.known() && span.begin >= 0 && (!desc.has_storage || span.end <= slot.storage_bytes)) {
    return {};
  }
  const base::ElementRange reach = base::ReachOf(desc);
  int64_t lowest = 0;
  int64_t highest = 0;
  const bool valid = reach.valid && base::CheckedAdd(desc.offset, reach.lowest, &lowest) &&
                     base::CheckedAdd(desc.offset, reach.highest, &highest);
  if (!valid) {
    return refusals.Refuse(Rule::kOther,
                           "{} has shape {} and strides {}, whose extent exceeds 64 bits",
                           slot.name, desc.shape.ToString(), desc.strides.ToString());
  }
  int64_t bytes = 0;
  if (!desc.has_storage) {
    int64_t elements = 0;  // from the lowest element to the highest
    if (base::CheckedSub(highest, lowest, &elements) &&
        base::CheckedAdd(elements, int64_t{1}, &elements) &&
        base::CheckedMul(elements, base::DTypeSize(desc.dtype), &bytes)) {
      return {};
    }
    return refusals.Refuse(Rule::kOther,
                           "{} has shape {} and strides {}, more than memory can hold", slot.name,
                           desc.shape.ToString(), desc.strides.ToString());
  }
  const int64_t elements = StorageElements(desc);
  std::string words = fmt::format(
      "{} with shape {}, strides {} and offset {} reaches elements {} to {}, but its storage {} "
      "holds elements 0 to {}",
      slot.name, desc.shape.ToString(), desc.strides.ToString(), desc.offset, lowest, highest,
      desc.storage_shape.ToString(), elements - 1);
  if (refusals.surface() == Surface::kAclnn && LeavesOutOffset(desc, reach, elements)) {
    return refusals.Warn(Rule::kOther, words + " (it leaves out the offset)");
  }
  return refusals.Refuse(Rule::kOther, "{}", words);
}

Status CheckAlignment(const Refusals& refusals, const TensorSlot& slot, const void* storage) {
  const int64_t size = base::DTypeSize(slot.desc.dtype);
  if (reinterpret_cast<uintptr_t>(storage) % static_cast<uintptr_t>(size) != 0) {
    return refusals.Refuse(
        Rule::kOther,
        "{} has the data address {}, which is not aligned to its elements of {} bytes", slot.name,
        storage, size);
  }
  return {};
}

Status CheckAllocation(const Refusals& refusals, const TensorSlot& slot, const void* storage) {
  if (!slot.desc.has_storage) return {};
  runtime::AllocationInfo allocation;
  if (!runtime::FindAllocation(storage, &allocation)) return {};
  int64_t held = slot.storage_bytes;
  if (slot.span.end > held) held += slot.desc.offset * base::DTypeSize(slot.desc.dtype);
  const auto bytes = static_cast<uint64_t>(held);
  const auto before = static_cast<uint64_t>(static_cast<const char*>(storage) -
                                            static_cast<const char*>(allocation.base));
  if (bytes <= allocation.size - before) return {};
  return refusals.Refuse(
      Rule::kOther,
      "{} has a storage {} of {} bytes, but only {} bytes of the allocation of {} bytes at {} "
      "follow its data address",
      slot.name, slot.desc.storage_shape.ToString(), bytes, allocation.size - before,
      allocation.size, allocation.base);
}

// Returns true if both views have the same elements. Ignores strides along axes of extent 1.
bool SameView(const base::TensorDesc& a, const void* a_storage, const base::TensorDesc& b,
              const void* b_storage) {
  const int64_t size = base::DTypeSize(a.dtype);
  if (size != base::DTypeSize(b.dtype) || !(a.shape == b.shape)) return false;
  for (int axis = 0; axis < a.shape.rank(); ++axis) {
    if (a.shape[axis] != 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return static_cast<const char*>(a_storage) + a.offset * size ==
         static_cast<const char*>(b_storage) + b.offset * size;
}

// Returns true if two views share no byte because one ends before the other begins. This test is
// quick, and it suffices for nearly all calls.
bool AreApart(const TensorSlot& a, const void* a_storage, const TensorSlot& b,
              const void* b_storage) {
  const auto ends_before = [](const TensorSlot& first, const void* first_storage,
                              const TensorSlot& second, const void* second_storage) {
    uintptr_t end = 0;
    uintptr_t begin = 0;
    return !__builtin_add_overflow(reinterpret_cast<uintptr_t>(first_storage), first.span.end,
                                   &end) &&
           !__builtin_add_overflow(reinterpret_cast<uintptr_t>(second_storage), second.span.begin,
                                   &begin) &&
           end <= begin;
  };
  return a.span.known() && b.span.known() &&
         (ends_before(a, a_storage, b, b_storage) || ends_before(b, b_storage, a, a_storage));
}

}  // namespace

Status CheckOwnPlaces(const Refusals& refusals, const char* name, const base::TensorDesc& output) {
  if (!base::OverlapsItself(output)) return {};
  return refusals.Refuse(
      Rule::kOther,
      "{} with shape {} and strides {} overlaps itself, but each of its elements "
      "needs a place of its own",
      name, output.shape.ToString(), output.strides.ToString());
}

Status OverlapError(const Refusals& refusals, const char* name, const std::string& other) {
  return refusals.Refuse(Rule::kOther, "{} overlaps {} in memory, but must not", name, other);
}

// Calls check(i) for every tensor with elements, until one check refuses.
template <class Check>
Status Plan::ForTensors(const Check& check) const {
  for (int i = 0; i < num_tensors(); ++i) {
    if (tensor(i).has_elements()) PORTACL_RETURN_IF_ERROR(check(i));
  }
  return {};
}

template <class StorageOf>
Status Plan::CheckOverlap(const StorageOf& storage) const {
  if (may_alias_) return {};
  return ForTensors([&](int i) -> Status {
    if (!tensor(i).output) return {};
    for (int k = 0; k < i; ++k) {
      if (!tensor(k).has_elements() || AreApart(tensor(i), storage(i), tensor(k), storage(k))) {
        continue;
      }
      if (may_be_input_ && !tensor(k).output &&
          SameView(tensor(i).desc, storage(i), tensor(k).desc, storage(k))) {
        continue;
      }
      if (base::MayOverlap(tensor(i).desc, storage(i), tensor(k).desc, storage(k))) {
        return OverlapError(refusals_, tensor(i).name, tensor(k).name);
      }
    }
    return {};
  });
}

// If an address is still to come, all addresses are checked when the call is enqueued.
Status Plan::CheckMemory() const {
  const Refusals& no = refusals_;
  const auto storage = [&](int i) -> const void* { return tensor(i).desc.data; };
  const bool late = LacksAddress();
  PORTACL_RETURN_IF_ERROR(
      ForTensors([&](int i) { return late ? Status() : CheckNotNull(no, tensor(i), storage(i)); }));
  PORTACL_RETURN_IF_ERROR(ForTensors([&](int i) { return CheckViewInStorage(no, tensor(i)); }));
  PORTACL_RETURN_IF_ERROR(ForTensors(
      [&](int i) { return late && storage(i) == nullptr ? Status() : CheckPlace(i, storage(i)); }));
  PORTACL_RETURN_IF_ERROR(ForTensors([&](int i) {
    const TensorSlot& slot = tensor(i);
    return slot.output && !slot.dense ? CheckOwnPlaces(no, slot.name, slot.desc) : Status();
  }));
  return late ? Status() : CheckOverlap(storage);
}

// Checks addresses only: CheckMemory() has checked the views, and views do not depend on addresses.
Status Plan::CheckAddresses(const Storages& storages) const {
  const auto storage = [&](int i) -> const void* { return storages[static_cast<size_t>(i)]; };
  PORTACL_RETURN_IF_ERROR(ForTensors([&](int i) { return CheckAddress(i, storage(i)); }));
  return CheckOverlap(storage);
}

Status Plan::CheckAddress(int index, const void* storage) const {
  PORTACL_RETURN_IF_ERROR(CheckNotNull(refusals_, tensor(index), storage));
  return CheckPlace(index, storage);
}

Status Plan::CheckPlace(int index, const void* storage) const {
  if (!any_address_) PORTACL_RETURN_IF_ERROR(CheckAlignment(refusals_, tensor(index), storage));
  return CheckAllocation(refusals_, tensor(index), storage);
}

Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size) {
  if (workspace_size >= plan.workspace_size()) return {};
  return plan.refusals().Refuse(Rule::kOther, "workspaceSize is {}, but {} bytes were planned",
                                workspace_size, plan.workspace_size());
}

Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size) {
  const Refusals& refusals = plan.refusals();
  const uint64_t planned = plan.workspace_size();
  if (workspace == nullptr && planned > 0) {
    return refusals.Refuse(Rule::kNull, "workspace is null, but {} bytes were planned", planned);
  }
  PORTACL_RETURN_IF_ERROR(CheckWorkspaceSize(plan, workspace_size));
  runtime::AllocationInfo allocation;
  if (planned == 0 || !runtime::FindAllocation(workspace, &allocation)) return {};
  const auto before = static_cast<uint64_t>(static_cast<const char*>(workspace) -
                                            static_cast<const char*>(allocation.base));
  if (allocation.size - before >= planned) return {};
  return refusals.Refuse(
      Rule::kOther,
      "workspace has {} bytes left in its allocation of {} bytes, but {} were planned",
      allocation.size - before, allocation.size, planned);
}

Status CheckOwnWorkspace(const Plan& plan, const void* workspace) {
  if (workspace != nullptr || plan.workspace_size() == 0) return {};
  return plan.refusals().Refuse(Rule::kNoMemory, "no memory for a workspace of {} bytes",
                                plan.workspace_size());
}

// ---- times of the phases ------------------------------------------------------------------------

void CallTimer::Begin() {
  log_ = base::LogEnabled(base::LogLevel::kDebug);
  calls_ = base::CallLogEnabled();
  trace_ = runtime::TraceEnabled();
  if (log_ || calls_ || trace_) begin_ = std::chrono::steady_clock::now();
}

void CallTimer::End(const char* phase, const Plan& plan, Wanted wanted,
                    const char* note) const noexcept {
  if (!log_ && !wanted.trace && !wanted.call) return;
  const runtime::TraceTime end = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::micro> time = end - begin_;
  try {
    if (wanted.call) LogCall(plan, time.count());
    if (!log_ && !wanted.trace) return;
    const std::string text = plan.Describe() + note;
    if (wanted.trace) runtime::AddTraceSpan({}, {phase, plan.op(), text, begin_, end});
    if (!log_) return;
    base::Log(base::LogLevel::kDebug, fmt::format("{} {} workspace {} B, {:.1f} us", phase, text,
                                                  plan.workspace_size(), time.count()));
  } catch (const std::bad_alloc&) {  // the call itself has succeeded
  }
}

}  // namespace portacl::ops
