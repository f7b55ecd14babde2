// Joins tensors: copies each member to its part of the output.
#include "companion/join.h"

#include <vector>

#include "base/checked.h"
#include "companion/element.h"
#include "companion/promote.h"
#include "ops/call.h"
#include "ops/plan.h"

namespace portacl::companion {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;
using ops::Rule;

class Join {
 public:
  Join(const Call& call, int64_t dim)
      : call_(call), refusals_(call.op, call.surface), stacks_(call.function == Function::kStack) {
    for (const Operand& input : call.inputs) {
      if (stacks_ || !(input.tensor->shape == Nothing())) members_.push_back(input.tensor);
    }
    const int64_t rank = call.out.tensor->shape.rank();
    axis_ = dim < 0 ? dim + rank : dim;
    given_ = dim;
  }

  Status Check() const {
    const TensorDesc& out = *call_.out.tensor;
    if (axis_ < 0 || axis_ >= out.shape.rank()) {
      return refusals_.Refuse(Rule::kAttribute, "dim is {}, but out has shape {}", given_,
                              out.shape.ToString());
    }
    int64_t along = 0;
    for (const TensorDesc* const member : members_) {
      const Dims part = PartOf(*member);
      if (part.rank() != out.shape.rank()) {
        return refusals_.Refuse(Rule::kInput, "a member of tensors has shape {}, but out has {}",
                                member->shape.ToString(), out.shape.ToString());
      }
      Dims whole = part;
      whole[axis()] = out.shape[axis()];
      if (!(whole == out.shape)) {
        return refusals_.Refuse(Rule::kInput,
                                "a member of tensors has shape {}, which is no part of out's {} "
                                "along axis {}",
                                member->shape.ToString(), out.shape.ToString(), axis_);
      }
      if (!CanStore(member->dtype, out.dtype)) {
        return refusals_.Refuse(Rule::kOutput, "out has data type {}, but a member of tensors {}",
                                DTypeName(out.dtype), DTypeName(member->dtype));
      }
      if (!base::CheckedAdd(along, part[axis()], &along)) {
        return refusals_.Refuse(Rule::kInput,
                                "the members of tensors fill more along axis {} than 64 bits can "
                                "count",
                                axis_);
      }
    }
    if (along == out.shape[axis()]) return Memory();
    return refusals_.Refuse(Rule::kOutput,
                            "out has shape {}, but the members fill {} along axis {}",
                            out.shape.ToString(), along, axis_);
  }

  // Checks overlaps here, because each member's copy knows only its own member.
  Status Memory() const {
    const TensorDesc& out = *call_.out.tensor;
    if (out.NumElements() == 0 || out.data == nullptr) return {};
    PORTACL_RETURN_IF_ERROR(ops::CheckOwnPlaces(refusals_, "out", out));
    for (const TensorDesc* member : members_) {
      if (member->NumElements() == 0 || !base::MayOverlap(out, out.data, *member, member->data)) {
        continue;
      }
      return ops::OverlapError(refusals_, "out", "a member of tensors");
    }
    return {};
  }

  Status Plan(std::shared_ptr<const ops::Plan>* plan) const {
    const TensorDesc& out = *call_.out.tensor;
    std::vector<TensorDesc> parts(members_.size(), out);
    std::vector<Call> copies(members_.size(), call_);
    int64_t start = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      TensorDesc& part = parts[i];
      if (members_[i]->NumElements() != 0 && !MoveAlong(start, &part)) {
        return refusals_.Refuse(
            Rule::kOther,
            "out has shape {}, strides {} and offset {}, whose extent exceeds 64 bits",
            out.shape.ToString(), out.strides.ToString(), out.offset);
      }
      start += PartOf(*members_[i])[axis()];
      if (stacks_) {
        part.shape = Without(part.shape);
        part.strides = Without(part.strides);
      } else {
        part.shape = members_[i]->shape;
      }
      copies[i].function = Function::kCopy;
      copies[i].inputs = {{"tensors", members_[i]}};
      copies[i].out.tensor = &part;
    }
    return PlanCompanionList(call_.op, copies, plan);
  }

 private:
  static Dims Nothing() {
    constexpr int64_t kZero = 0;
    return Dims(&kZero, 1);
  }
  int axis() const { return static_cast<int>(axis_); }

  // Moves `part` by `places` elements along the joined axis.
  bool MoveAlong(int64_t places, TensorDesc* part) const {
    int64_t distance = 0;
    return base::CheckedMul(places, part->strides[axis()], &distance) &&
           base::CheckedAdd(part->offset, distance, &part->offset);
  }

  // Returns the extents of the output's part that a member fills.
  Dims PartOf(const TensorDesc& member) const {
    const int rank = member.shape.rank();
    if (!stacks_ || axis() > rank || rank == base::kMaxRank) return member.shape;
    Dims part(member.shape.data(), rank);
    std::vector<int64_t> extents(part.data(), part.data() + rank);
    extents.insert(extents.begin() + axis(), 1);
    return Dims(extents.data(), rank + 1);
  }

  // Returns extents or strides without the joined axis.
  Dims Without(const Dims& dims) const {
    std::vector<int64_t> kept(dims.data(), dims.data() + dims.rank());
    kept.erase(kept.begin() + axis());
    return Dims(kept.data(), dims.rank() - 1);
  }

  const Call& call_;
  const ops::Refusals refusals_;
  const bool stacks_;
  std::vector<const TensorDesc*> members_;
  int64_t axis_ = 0;
  int64_t given_ = 0;
};

}  // namespace

Status PlanJoin(const Call& call, int64_t dim, std::shared_ptr<const ops::Plan>* plan) {
  const ops::Refusals refusals(call.op, call.surface);
  for (const Operand& input : call.inputs) {
    if (input.tensor == nullptr) return refusals.Refuse(Rule::kNull, "{} is null", input.name);
  }
  if (call.out.tensor == nullptr) return refusals.Refuse(Rule::kNull, "out is null");
  if (!call.has_workspace_size) return refusals.Refuse(Rule::kNull, "workspaceSize is null");
  if (!call.has_executor) return refusals.Refuse(Rule::kNull, "executor is null");
  const Join join(call, dim);
  PORTACL_RETURN_IF_ERROR(join.Check());
  return join.Plan(plan);
}

}  // namespace portacl::companion
