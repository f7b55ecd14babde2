// The rows of the operators by graph name and the reading of their attributes.
#include "api/acl_op_registry.h"

#include <cstring>
#include <string>
#include <variant>

#include "acl/acl_base.h"
#include "api/acl_op_companion.h"
#include "ops/grid_sampler_2d.h"
#include "ops/grid_sampler_2d_backward.h"
#include "ops/operators.h"
#include "ops/refusal.h"
#include "ops/upsample_nearest_exact.h"
#include "ops/upsample_nearest_exact_backward.h"

namespace portacl::api {
namespace {

using base::Status;
using ops::Refusals;
using ops::Rule;
using ops::Surface;

constexpr const char* kNearest = ops::GraphName("UpsampleNearestExact2d");
constexpr const char* kGridSampler = ops::GraphName("GridSampler2D");
constexpr const char* kNearestBackward = ops::GraphName("UpsampleNearestExact2dGrad");
constexpr const char* kGridSamplerBackward = ops::GraphName("GridSampler2DGrad");

// ---- attributes --------------------------------------------------------------------------------

// Stores attribute `name` in *value where it is set; refuses one of another type.
template <class T>
Status ReadAttribute(const GraphOperator& op, const char* name, const char* type, bool required,
                     T* value) {
  const Refusals refusals(op.type.c_str(), Surface::kGraph);
  const auto found = op.attributes.values.find(name);
  if (found == op.attributes.values.end()) {
    if (!required) return {};
    return refusals.Refuse(Rule::kAttribute, "attribute {} is missing; it must be a {}", name,
                           type);
  }
  const T* typed = std::get_if<T>(found->second.get());
  if (typed == nullptr) {
    return refusals.Refuse(Rule::kAttribute, "attribute {} must be a {}", name, type);
  }
  *value = *typed;
  return {};
}

// Stores the position of a word attribute among `words` in *mode; unset keeps *mode.
Status ReadMode(const GraphOperator& op, const char* name, const std::array<const char*, 3>& words,
                int64_t* mode) {
  std::string word = words[static_cast<size_t>(*mode)];
  PORTACL_RETURN_IF_ERROR(ReadAttribute(op, name, "string", false, &word));
  for (size_t i = 0; i < words.size(); ++i) {
    if (word != words[i]) continue;
    *mode = static_cast<int64_t>(i);
    return {};
  }
  return Refusals(op.type.c_str(), Surface::kGraph)
      .Refuse(Rule::kAttribute, "attribute {} is \"{}\", but must be {}, {} or {}", name, word,
              words[0], words[1], words[2]);
}

// ---- the operators -----------------------------------------------------------------------------

// A scale that is not set is 0.
Status ReadScales(const GraphOperator& op, std::array<double, 2>* scales) {
  float scale_h = 0;
  float scale_w = 0;
  PORTACL_RETURN_IF_ERROR(ReadAttribute(op, "scales_h", "float", false, &scale_h));
  PORTACL_RETURN_IF_ERROR(ReadAttribute(op, "scales_w", "float", false, &scale_w));
  *scales = {static_cast<double>(scale_h), static_cast<double>(scale_w)};
  return {};
}

class Nearest final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    PORTACL_RETURN_IF_ERROR(
        ReadAttribute(op, "output_size", "list of 2 integers", true, &output_size_));
    PORTACL_RETURN_IF_ERROR(ReadScales(op, &call_.scales));
    call_.op = kNearest;
    call_.surface = Surface::kGraph;
    call_.input = tensors.data();
    call_.output = &tensors[1];
    call_.output_size = &output_size_;
    return {};
  }
  Status Check() const override { return CheckUpsampleNearestExact(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedUpsampleNearestExact(call_, plan);
  }

 private:
  std::vector<int64_t> output_size_;
  ops::UpsampleNearestExactCall call_;
};

class NearestBackward final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    PORTACL_RETURN_IF_ERROR(
        ReadAttribute(op, "output_size", "list of 2 integers", true, &output_size_));
    PORTACL_RETURN_IF_ERROR(
        ReadAttribute(op, "input_size", "list of 4 integers", true, &input_size_));
    PORTACL_RETURN_IF_ERROR(ReadScales(op, &call_.scales));
    call_.op = kNearestBackward;
    call_.surface = Surface::kGraph;
    call_.grad_output = tensors.data();
    call_.grad_input = &tensors[1];
    call_.output_size = &output_size_;
    call_.input_size = &input_size_;
    return {};
  }
  Status Check() const override { return CheckUpsampleNearestExactBackward(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedUpsampleNearestExactBackward(call_, plan);
  }

 private:
  std::vector<int64_t> output_size_;
  std::vector<int64_t> input_size_;
  ops::UpsampleNearestExactBackwardCall call_;
};

// What both grid samplers have, into the call of either.
template <class Call>
Status ReadGridSampler(const GraphOperator& op, Call* call) {
  call->surface = Surface::kGraph;
  PORTACL_RETURN_IF_ERROR(
      ReadMode(op, "interpolation_mode", {"bilinear", "nearest", "bicubic"}, &call->interpolation));
  PORTACL_RETURN_IF_ERROR(
      ReadMode(op, "padding_mode", {"zeros", "border", "reflection"}, &call->padding));
  return ReadAttribute(op, "align_corners", "bool", false, &call->align_corners);
}

class GridSampler final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    call_.op = kGridSampler;
    PORTACL_RETURN_IF_ERROR(ReadGridSampler(op, &call_));
    call_.input = tensors.data();
    call_.grid = &tensors[1];
    call_.output = &tensors[2];
    return {};
  }
  Status Check() const override { return CheckGridSampler2D(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedGridSampler2D(call_, plan);
  }

 private:
  ops::GridSampler2DCall call_;
};

class GridSamplerBackward final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    call_.op = kGridSamplerBackward;
    PORTACL_RETURN_IF_ERROR(ReadGridSampler(op, &call_));
    call_.grad_output = tensors.data();
    call_.input = &tensors[1];
    call_.grid = &tensors[2];
    call_.output_mask = &both_;
    call_.input_grad = &tensors[3];
    call_.grid_grad = &tensors[4];
    return {};
  }
  Status Check() const override { return CheckGridSampler2DBackward(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedGridSampler2DBackward(call_, plan);
  }

 private:
  const std::vector<bool> both_ = {true, true};
  ops::GridSampler2DBackwardCall call_;
};

template <class Call>
Status Read(const GraphOperator& op, const Tensors& tensors, std::unique_ptr<GraphCall>* call) {
  auto made = std::make_unique<Call>();
  PORTACL_RETURN_IF_ERROR(made->Read(op, tensors));
  *call = std::move(made);
  return {};
}

constexpr GraphRow kRows[] = {
    {kNearestBackward,
     1,
     1,
     {"output_size", "input_size", "scales_h", "scales_w"},
     Read<NearestBackward>},
    {kNearest, 1, 1, {"output_size", "scales_h", "scales_w"}, Read<Nearest>},
    {kGridSampler,
     2,
     1,
     {"interpolation_mode", "padding_mode", "align_corners"},
     Read<GridSampler>},
    {kGridSamplerBackward,
     3,
     2,
     {"interpolation_mode", "padding_mode", "align_corners"},
     Read<GridSamplerBackward>},
    {kIdentity, 1, 1, {}, ReadIdentity},
    {kTransData,
     1,
     1,
     {"src_format", "dst_format", "src_subformat", "dst_subformat", "groups"},
     ReadTransData},
};
static_assert(std::size(kRows) == ops::kGraphNames + kCompanionGraphNames,
              "a graph name of ops/operators.h has no row");

}  // namespace

Status FindGraphOperator(const char* type, const GraphRow** row) {
  if (type == nullptr) return {ACL_ERROR_INVALID_PARAM, "opType is null"};
  for (const GraphRow& candidate : kRows) {
    if (std::strcmp(candidate.type, type) == 0) {
      *row = &candidate;
      return {};
    }
  }
  std::string names;
  for (const GraphRow& listed : kRows)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", listed.type);
  return {ACL_ERROR_OP_NOT_FOUND,
          fmt::format("{}: this operator is not part of portacl; it has: {}; and in the aclnn API "
                      "also: {}",
                      type, names, CompanionNames())};
}

}  // namespace portacl::api
