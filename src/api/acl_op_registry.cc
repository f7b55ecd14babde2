// The operators by graph name, one row each, and the reading of their attributes.
#include "api/acl_op_registry.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "acl/acl_base.h"
#include "api/acl_op_companion.h"
#include "api/acl_op_resize.h"
#include "base/fork.h"
#include "base/spelling.h"
#include "ops/call.h"
#include "ops/operator_list.h"
#include "runtime/fp_env.h"

namespace portacl::api {
namespace {

using base::Status;
using ops::Kind;
using ops::Parameter;
using ops::Refusals;
using ops::Rule;
using ops::Signature;
using ops::Surface;

// A call of an operator of src/ops: reads inputs, attributes and outputs by its signature. A list
// that is not set is null; other attributes that are not set have their defaults.
class ListedCall final : public GraphCall {
 public:
  explicit ListedCall(const Signature& signature)
      : signature_(signature),
        refusals_(signature.name, Surface::kGraph),
        call_(signature, Surface::kGraph, signature.name) {}

  Status Read(const GraphOperator& op, const Tensors& tensors, const HostLists& lists) {
    const runtime::FpEnvironment environment;  // keeps subnormal scales above 0
    size_t input = 0;
    size_t output = signature_.inputs();
    for (const Parameter& parameter : signature_.parameters) {
      if (parameter.kind == Kind::kSizes) {
        AddList(lists[input++], &ints_);
      } else if (ops::IsTensor(parameter.kind)) {
        call_.Add(&tensors[ops::IsWritten(parameter.kind) ? output++ : input++]);
      } else {
        PORTACL_RETURN_IF_ERROR(ReadAttribute(op.attributes, parameter));
      }
    }
    return {};
  }
  Status Check() const override { return ops::Check(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanChecked(call_, plan);
  }
  const ops::Call& call() const { return call_; }

 private:
  // Reads the attribute into *value if it is set. Refuses an attribute of another type.
  template <class T>
  Status Get(const aclopAttr& attributes, const Parameter& parameter, const std::string& type,
             std::optional<T>* value) const {
    const auto found = attributes.values.find(parameter.name);
    if (found == attributes.values.end()) {
      if (parameter.unset != nullptr) return {};
      return refusals_.Refuse(Rule::kAttribute, "attribute {} is missing; it must be a {}",
                              parameter.name, type);
    }
    const T* typed = std::get_if<T>(found->second.get());
    if (typed == nullptr) {
      return refusals_.Refuse(Rule::kAttribute, "attribute {} must be a {}", parameter.name, type);
    }
    *value = *typed;
    return {};
  }

  template <class Element>
  Status ReadList(const aclopAttr& attributes, const Parameter& parameter, const char* elements,
                  std::deque<std::vector<Element>>* kept) {
    std::optional<std::vector<Element>> values;
    if (*parameter.name != '\0') {
      const std::string type = fmt::format("list of {} {}", PartsOf(parameter), elements);
      PORTACL_RETURN_IF_ERROR(Get(attributes, parameter, type, &values));
    }
    AddList(std::move(values), kept);
    return {};
  }

  template <class Element>
  void AddList(std::optional<std::vector<Element>> values, std::deque<std::vector<Element>>* kept) {
    const std::vector<Element>* list = nullptr;
    if (values) list = &kept->emplace_back(*std::move(values));
    call_.Add(list);
  }

  // Finds the position of the attribute's word among the parameter's words.
  Status ReadWord(const aclopAttr& attributes, const Parameter& parameter, size_t* position) {
    std::optional<std::string> set;
    PORTACL_RETURN_IF_ERROR(Get(attributes, parameter, "string", &set));
    const std::string word = set ? *set : parameter.unset;
    std::string choices;
    for (size_t i = 0; i < PartsOf(parameter); ++i) {
      if (word == PartOf(parameter, i)) {
        *position = i;
        return {};
      }
      if (i > 0) choices += i + 1 == PartsOf(parameter) ? " or " : ", ";
      choices += PartOf(parameter, i);
    }
    return refusals_.Refuse(Rule::kAttribute, "attribute {} is \"{}\", but must be {}",
                            parameter.name, word, choices);
  }

  Status ReadAttribute(const aclopAttr& attributes, const Parameter& parameter) {
    switch (parameter.kind) {
      case Kind::kInts:
        return ReadList(attributes, parameter, "integers", &ints_);
      case Kind::kFloats:
        return ReadList(attributes, parameter, "floats", &floats_);
      case Kind::kInt: {
        std::optional<int64_t> value;
        PORTACL_RETURN_IF_ERROR(Get(attributes, parameter, "integer", &value));
        call_.Add(value ? *value : int64_t{std::strtoll(parameter.unset, nullptr, 10)});
        return {};
      }
      case Kind::kFloat: {
        std::optional<float> value;
        PORTACL_RETURN_IF_ERROR(Get(attributes, parameter, "float", &value));
        call_.Add(value ? double{*value} : std::strtod(parameter.unset, nullptr));
        return {};
      }
      case Kind::kFlag: {
        std::optional<bool> value;
        PORTACL_RETURN_IF_ERROR(Get(attributes, parameter, "bool", &value));
        call_.Add(int64_t{value.value_or(std::string_view(parameter.unset) == "true") ? 1 : 0});
        return {};
      }
      case Kind::kMode:
      case Kind::kWord: {
        size_t position = 0;
        PORTACL_RETURN_IF_ERROR(ReadWord(attributes, parameter, &position));
        call_.Add(static_cast<int64_t>(position));
        return {};
      }
      default:
        return refusals_.Refuse(Rule::kOther, "attribute {} is of a kind that graph operators lack",
                                parameter.name);
    }
  }

  const Signature& signature_;
  const Refusals refusals_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<float>> floats_;
  ops::Call call_;
};

Status ReadListed(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                  std::unique_ptr<GraphCall>* call) {
  auto made = std::make_unique<ListedCall>(*ops::FindByGraphName(op.type));
  PORTACL_RETURN_IF_ERROR(made->Read(op, tensors, lists));
  *call = std::move(made);
  return {};
}

// ---- GridSample --------------------------------------------------------------------------------

// A type of the vendor's newest pages, for images and volumes.
constexpr const char* kGridSample = "GridSample";
constexpr const char* kChannelLast = "channel_last";

constexpr ops::Traits GridSampleTraits(int axes) {
  return {.axes = axes,
          .dtypes = ops::kFloatsOn950,
          .formats = axes == 2 ? "ND NCHW" : "ND NCDHW",
          .formats_may_differ = true};
}
constexpr Parameter kInterpolation = {Kind::kMode, "interpolation_mode", "bilinear|nearest|bicubic",
                                      "bilinear"};
constexpr Parameter kPadding = {Kind::kMode, "padding_mode", "zeros|border|reflection", "zeros"};
constexpr Parameter kCorners = {Kind::kFlag, "align_corners", "", "false"};
constexpr Parameter kChannels = {Kind::kFlag, kChannelLast, "", "false"};
constexpr Parameter kImage[] = {{Kind::kInput, "x", "N,C,H,W"},
                                {Kind::kGrid, "grid", "N,OH,OW,2"},
                                kInterpolation,
                                kPadding,
                                kCorners,
                                kChannels,
                                {Kind::kOutput, "y", "N,C,OH,OW"}};
constexpr Parameter kVolume[] = {{Kind::kInput, "x", "N,C,D,H,W"},
                                 {Kind::kGrid, "grid", "N,OD,OH,OW,3"},
                                 kInterpolation,
                                 kPadding,
                                 kCorners,
                                 kChannels,
                                 {Kind::kOutput, "y", "N,C,OD,OH,OW"}};
constexpr Signature kSampleImages = {kGridSample, ops::Op::kGridSampler2D, GridSampleTraits(2),
                                     kImage};
constexpr Signature kSampleVolumes = {kGridSample, ops::Op::kGridSampler3D, GridSampleTraits(3),
                                      kVolume};

Status ReadGridSample(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                      std::unique_ptr<GraphCall>* call) {
  const auto rank = tensors[0].shape.rank();
  if (rank != 4 && rank != 5) {
    return Refusals(kGridSample, Surface::kGraph)
        .Refuse(Rule::kInput, "x has shape {} of rank {}, but must have rank 4 or 5",
                tensors[0].shape.ToString(), rank);
  }
  const bool volume = rank == 5;
  auto made = std::make_unique<ListedCall>(volume ? kSampleVolumes : kSampleImages);
  PORTACL_RETURN_IF_ERROR(made->Read(op, tensors, lists));
  if (made->call().flag(1)) {
    return Refusals(kGridSample, Surface::kGraph)
        .Refuse(Rule::kAttribute, "attribute {} is true, but must be false: x has axes (N, C, ...)",
                kChannelLast);
  }
  *call = std::move(made);
  return {};
}

// ---- the rows ----------------------------------------------------------------------------------

constexpr GraphRow RowOf(const Signature& signature) {
  GraphRow row{signature.name, signature.inputs(), signature.outputs(), {}, ReadListed};
  if (signature.op == ops::Op::kAffineGrid) row.view = SplitGridAxes;
  size_t count = 0;
  size_t input = 0;
  for (const Parameter& parameter : signature.parameters) {
    if (ops::IsInput(parameter.kind)) {
      row.lists[input++] = parameter.kind == Kind::kSizes ? parameter.name : nullptr;
    } else if (!ops::IsWritten(parameter.kind) && *parameter.name != '\0') {
      row.attributes[count++] = parameter.name;
    }
  }
  return row;
}

constexpr GraphRow kGraphRows[] = {
#define PORTACL_GRAPH(type, ...) RowOf(ops::signatures::type),
#include "ops/operator_list.inc"
    {kResizeD,
     1,
     1,
     {"sizes", "scales", "roi", "coordinate_transformation_mode", "cubic_coeff_a",
      "exclude_outside", "extrapolation_value", "mode", "nearest_mode"},
     ReadResizeD,
     {},
     ViewResizeD},
    {kResizeGradD,
     1,
     1,
     {"original_size", "scales", "roi", "coordinate_transformation_mode", "cubic_coeff_a",
      "exclude_outside", "extrapolation_value", "mode", "nearest_mode", "data_format"},
     ReadResizeD,
     {},
     ViewResizeD},
    {kResize,
     4,
     1,
     {"coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value",
      "mode", "nearest_mode"},
     ReadResize,
     {nullptr, nullptr, nullptr, "sizes"}},
    {kResizeGrad,
     4,
     1,
     {"coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value",
      "mode", "nearest_mode"},
     ReadResize,
     {nullptr, nullptr, nullptr, "original_size"}},
    {kGridSample,
     2,
     1,
     {"interpolation_mode", "padding_mode", "align_corners", kChannelLast, "scheduler_mode"},
     ReadGridSample},
    {kIdentity, 1, 1, {}, ReadIdentity},
    {kCast, 1, 1, {"dst_type"}, ReadCast},
    {kTransData,
     1,
     1,
     {"src_format", "dst_format", "src_subformat", "dst_subformat", "groups"},
     ReadTransData},
};

// Returns " (did you mean GridSampler2DGrad?)" if a type is spelled much like the word, else "".
std::string Meant(std::string_view word) {
  const auto* const nearest =
      base::NearestTo(word, kGraphRows, word.size() / 4 + 1,
                      [](const GraphRow& row) { return std::string_view(row.type); });
  return nearest == std::end(kGraphRows) ? "" : fmt::format(" (did you mean {}?)", nearest->type);
}

// Names an unknown type on stderr, once: most programs ignore the code and would print "success".
void SayThatItIsNotHere(const std::string& type) {
  constexpr size_t kMostNames = 100;
  struct Said {
    base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
    std::set<std::string> names;
  };
  static constinit base::Immortal<Said> said;
  {
    Said& all = said.Get();
    const std::lock_guard lock(all.mutex);
    if (all.names.size() == kMostNames || !all.names.insert(type).second) return;
  }
  const std::string line =
      fmt::format("portacl: operator {} is not here{}\n", type,
                  IsCompanion(type.c_str()) ? " by name, but as aclnn" + type : Meant(type));
  std::fputs(line.c_str(), stderr);
}

}  // namespace

Status FindGraphOperator(const char* type, const GraphRow** row) {
  if (type == nullptr) return {ACL_ERROR_INVALID_PARAM, "opType is null"};
  for (const GraphRow& candidate : kGraphRows) {
    if (std::strcmp(candidate.type, type) == 0) {
      *row = &candidate;
      return {};
    }
  }
  SayThatItIsNotHere(type);
  return {ACL_ERROR_OP_NOT_FOUND,
          IsCompanion(type)
              ? fmt::format("{0}: portacl has this operator in the aclnn API only: aclnn{0}", type)
              : fmt::format("{}: this operator is not part of portacl{}; docs/ops/index.md lists "
                            "those that are",
                            type, Meant(type))};
}

}  // namespace portacl::api
