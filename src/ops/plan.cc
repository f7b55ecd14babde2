// What a plan knows of its tensors. The rules on their memory are in memory_rules.cc.
#include "ops/plan.h"

#include <fmt/format.h>

#include "base/checked.h"

namespace portacl::ops {
namespace {

ByteSpan SpanOf(const base::TensorDesc& desc) {
  const base::ElementRange reach = base::ReachOf(desc);
  const int64_t size = base::DTypeSize(desc.dtype);
  ByteSpan span;
  int64_t end = 0;
  span.known = reach.valid && base::CheckedAdd(desc.offset, reach.lowest, &span.begin) &&
               base::CheckedMul(span.begin, size, &span.begin) &&
               base::CheckedAdd(desc.offset, reach.highest, &end) &&
               base::CheckedAdd(end, int64_t{1}, &end) && base::CheckedMul(end, size, &span.end);
  return span;
}

}  // namespace

Plan::Plan(const Call& call)
    : refusals_(call.op(), call.surface()),
      logged_(AclnnOf(call.signature().op, call.axes(), call.antialias())),
      logged_numbers_{call.scales(), {call.mode(0), call.mode(1)}, call.flag(0)} {}

void Plan::AddTensor(const char* name, const base::TensorDesc& desc, bool output, bool active) {
  const bool nonempty = active && desc.NumElements() != 0;
  tensors_[static_cast<size_t>(num_tensors_++)] = {
      name, desc, output, active, nonempty, nonempty ? SpanOf(desc) : ByteSpan{}};
  if (!output) ++num_inputs_;
}

Storages Plan::PlannedStorages() const {
  Storages storages{};
  for (int i = 0; i < num_tensors_; ++i) storages[static_cast<size_t>(i)] = tensor(i).desc.data;
  return storages;
}

Elements Plan::ElementsAt(const Storages& storages) const {
  Elements elements{};
  for (int i = 0; i < num_tensors_; ++i) {
    if (!tensor(i).has_elements()) continue;
    const base::TensorDesc& desc = tensor(i).desc;
    const auto at = static_cast<size_t>(i);
    elements[at] = static_cast<char*>(storages[at]) + desc.offset * base::DTypeSize(desc.dtype);
  }
  return elements;
}

std::string Plan::Describe() const {
  std::string text = fmt::format("{} {} {}", op(), base::DTypeName(tensor(0).desc.dtype), kernel_);
  if (!parts().empty()) text = fmt::format("{} {} members", op(), parts().size());
  for (int i = 0; i < num_tensors_; ++i) {
    text += fmt::format(" {}{}", tensor(i).name, tensor(i).desc.shape.ToString());
  }
  return text;
}

}  // namespace portacl::ops
