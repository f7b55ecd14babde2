// A plan's tensors: addresses, elements and descriptions. memory_rules.cc has the rules on their
// memory.
#include "ops/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <string_view>

#include "base/checked.h"
#include "base/log.h"
#include "runtime/parallel.h"

namespace portacl::ops {
namespace {

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
  if (base::CallLogEnabled()) {
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

// Returns equal numbers for calls that the runtime's thread policy treats alike: calls with the
// same operator and kernel, and with numbers of elements within a factor of 1.5.
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

base::Status Plan::RunCall(std::span<const Elements> elements, void* workspace) const noexcept {
  base::Status status;
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

}  // namespace portacl::ops
