// What a plan knows of its tensors. The rules on their memory are in memory_rules.cc.
#include "ops/plan.h"

#include <fmt/format.h>

namespace portacl::ops {

void Plan::AddTensor(const char* name, const base::TensorDesc& desc, bool output, bool active) {
  tensors_[static_cast<size_t>(num_tensors_++)] = {name, desc, output, active};
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
