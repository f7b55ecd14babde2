// Plans masked_select: one pass on one thread, because each element's place depends on all before.
#include "companion/masked_select.h"

#include <algorithm>
#include <array>
#include <utility>

#include "companion/element.h"
#include "companion/loop.h"

namespace portacl::companion {
namespace {

using base::Status;

class MaskedSelectPlan final : public ops::Plan {
 public:
  MaskedSelectPlan(const Call& call, const base::Dims& shape)
      : Plan(call.op, call.surface), loop_(shape), outputs_(call.out.tensor->shape) {
    kernel_ = "companion";
    late_addresses_ = call.surface == ops::Surface::kAclnn;
    for (const Operand& operand : call.inputs) {
      AddTensor(operand.name, *operand.tensor, false, true);
      loop_.Add(*operand.tensor);
    }
    AddTensor(call.out.name, *call.out.tensor, true, true).found = call.selected;
    outputs_.Add(*call.out.tensor);
    loop_.Coalesce();
    outputs_.Coalesce();
    const base::DType bits = BitsOf(call.out.tensor->dtype);
    load_ = LoaderOf(bits, Compute::kInteger);
    load_mask_ = LoaderOf(base::DType::kBool, Compute::kInteger);
    store_ = StorerOf(Compute::kInteger, bits);
    small_ = loop_.count() <= kSmall;
  }

  Status Make() const { return CheckMemory(); }

  void Run(const ops::Elements& elements, void* /*workspace*/) const noexcept override {
    std::array<int64_t, kBlock> values;
    std::array<int64_t, kBlock> mask;
    int64_t total = 0;
    for (int64_t at = 0; at < loop_.count(); at += kBlock) {
      const int64_t count = std::min(kBlock, loop_.count() - at);
      loop_.Gather(0, elements[0], load_, Compute::kInteger, at, count, values.data());
      loop_.Gather(1, elements[1], load_mask_, Compute::kInteger, at, count, mask.data());
      size_t kept = 0;
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        if (mask[i] != 0) values[kept++] = values[i];
      }
      const auto found = static_cast<int64_t>(kept);
      outputs_.Scatter(0, elements[2], store_, Compute::kInteger, total, found, values.data());
      total += found;
    }
    if (base::TensorDesc* const selected = tensor(2).found.get()) selected->shape[0] = total;
  }

 private:
  Loop loop_;
  Loop outputs_;
  Loader load_ = nullptr;
  Loader load_mask_ = nullptr;
  Storer store_ = nullptr;
};

}  // namespace

Status PlanMaskedSelect(const Call& call, const base::Dims& shape,
                        std::shared_ptr<const ops::Plan>* plan) {
  auto made = std::make_shared<MaskedSelectPlan>(call, shape);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::companion
