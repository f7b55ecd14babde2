// The rows of the operators by graph name and the reading of their attributes.
#include "api/acl_op_registry.h"

#include <cstring>
#include <string>
#include <variant>

#include "acl/acl_base.h"
#include "api/acl_op_companion.h"
#include "ops/grid_sampler.h"
#include "ops/grid_sampler_backward.h"
#include "ops/grid_sampler_modes.h"
#include "ops/operators.h"
#include "ops/refusal.h"
#include "ops/upsample_nearest_exact.h"
#include "ops/upsample_nearest_exact_backward.h"
#include "runtime/fp_env.h"

namespace portacl::api {
namespace {

using base::Status;
using ops::Refusals;
using ops::Rule;
using ops::Surface;

constexpr const char* kNearest2D = ops::GraphName("UpsampleNearestExact2d");
constexpr const char* kNearest3D = ops::GraphName("UpsampleNearestExact3d");
constexpr const char* kNearest2DBackward = ops::GraphName("UpsampleNearestExact2dGrad");
constexpr const char* kNearest3DBackward = ops::GraphName("UpsampleNearestExact3dGrad");
constexpr const char* kGridSampler2D = ops::GraphName("GridSampler2D");
constexpr const char* kGridSampler3D = ops::GraphName("GridSampler3D");
constexpr const char* kGridSampler2DBackward = ops::GraphName("GridSampler2DGrad");
constexpr const char* kGridSampler3DBackward = ops::GraphName("GridSampler3DGrad");

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
Status ReadMode(const GraphOperator& op, const char* name, const ops::ModeNames& words,
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
template <int kSpatial>
Status ReadScales(const GraphOperator& op, std::array<double, 3>* scales) {
  constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  const runtime::FpEnvironment environment;  // a subnormal one stays above 0
  for (size_t axis = 0; axis < kSpatial; ++axis) {
    float scale = 0;
    PORTACL_RETURN_IF_ERROR(ReadAttribute(op, kNames[3 - kSpatial + axis], "float", false, &scale));
    (*scales)[axis] = static_cast<double>(scale);
  }
  return {};
}

template <int kSpatial>
class Nearest final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    constexpr const char* kSize = kSpatial == 2 ? "list of 2 integers" : "list of 3 integers";
    PORTACL_RETURN_IF_ERROR(ReadAttribute(op, "output_size", kSize, true, &output_size_));
    PORTACL_RETURN_IF_ERROR(ReadScales<kSpatial>(op, &call_.scales));
    call_.op = kSpatial == 2 ? kNearest2D : kNearest3D;
    call_.surface = Surface::kGraph;
    call_.spatial = kSpatial;
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

template <int kSpatial>
class NearestBackward final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    constexpr const char* kOut = kSpatial == 2 ? "list of 2 integers" : "list of 3 integers";
    constexpr const char* kIn = kSpatial == 2 ? "list of 4 integers" : "list of 5 integers";
    PORTACL_RETURN_IF_ERROR(ReadAttribute(op, "output_size", kOut, true, &output_size_));
    PORTACL_RETURN_IF_ERROR(ReadAttribute(op, "input_size", kIn, true, &input_size_));
    PORTACL_RETURN_IF_ERROR(ReadScales<kSpatial>(op, &call_.scales));
    call_.op = kSpatial == 2 ? kNearest2DBackward : kNearest3DBackward;
    call_.surface = Surface::kGraph;
    call_.spatial = kSpatial;
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

// What all grid samplers have, into the call of any.
template <class Call>
Status ReadGridSampler(const GraphOperator& op, Call* call) {
  call->surface = Surface::kGraph;
  PORTACL_RETURN_IF_ERROR(
      ReadMode(op, "interpolation_mode", ops::kInterpolationNames, &call->interpolation));
  PORTACL_RETURN_IF_ERROR(ReadMode(op, "padding_mode", ops::kPaddingNames, &call->padding));
  return ReadAttribute(op, "align_corners", "bool", false, &call->align_corners);
}

template <int kSpatial>
class GridSampler final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    call_.op = kSpatial == 2 ? kGridSampler2D : kGridSampler3D;
    call_.spatial = kSpatial;
    PORTACL_RETURN_IF_ERROR(ReadGridSampler(op, &call_));
    call_.input = tensors.data();
    call_.grid = &tensors[1];
    call_.output = &tensors[2];
    return {};
  }
  Status Check() const override { return CheckGridSampler(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedGridSampler(call_, plan);
  }

 private:
  ops::GridSamplerCall call_;
};

template <int kSpatial>
class GridSamplerBackward final : public GraphCall {
 public:
  Status Read(const GraphOperator& op, const Tensors& tensors) {
    call_.op = kSpatial == 2 ? kGridSampler2DBackward : kGridSampler3DBackward;
    call_.spatial = kSpatial;
    PORTACL_RETURN_IF_ERROR(ReadGridSampler(op, &call_));
    call_.grad_output = tensors.data();
    call_.input = &tensors[1];
    call_.grid = &tensors[2];
    call_.output_mask = &both_;
    call_.input_grad = &tensors[3];
    call_.grid_grad = &tensors[4];
    return {};
  }
  Status Check() const override { return CheckGridSamplerBackward(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanCheckedGridSamplerBackward(call_, plan);
  }

 private:
  const std::vector<bool> both_ = {true, true};
  ops::GridSamplerBackwardCall call_;
};

template <class Call>
Status Read(const GraphOperator& op, const Tensors& tensors, std::unique_ptr<GraphCall>* call) {
  auto made = std::make_unique<Call>();
  PORTACL_RETURN_IF_ERROR(made->Read(op, tensors));
  *call = std::move(made);
  return {};
}

constexpr std::array<const char*, 5> kGridSamplerAttributes = {"interpolation_mode", "padding_mode",
                                                               "align_corners"};

constexpr GraphRow kRows[] = {
    {kNearest2DBackward,
     1,
     1,
     {"output_size", "input_size", "scales_h", "scales_w"},
     Read<NearestBackward<2>>},
    {kNearest3DBackward,
     1,
     1,
     {"output_size", "input_size", "scales_d", "scales_h", "scales_w"},
     Read<NearestBackward<3>>},
    {kNearest2D, 1, 1, {"output_size", "scales_h", "scales_w"}, Read<Nearest<2>>},
    {kNearest3D, 1, 1, {"output_size", "scales_d", "scales_h", "scales_w"}, Read<Nearest<3>>},
    {kGridSampler2D, 2, 1, kGridSamplerAttributes, Read<GridSampler<2>>},
    {kGridSampler3D, 2, 1, kGridSamplerAttributes, Read<GridSampler<3>>},
    {kGridSampler2DBackward, 3, 2, kGridSamplerAttributes, Read<GridSamplerBackward<2>>},
    {kGridSampler3DBackward, 3, 2, kGridSamplerAttributes, Read<GridSamplerBackward<3>>},
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
