// The rows. A further operator is a row here, a line in call_native.cc and one in call_aclnn.cc.
#include "tools/testing/operators.h"

#include "tools/parse.h"

namespace portacl::golden {
namespace {

constexpr const char* kInterpolations = "bilinear|nearest|bicubic";
constexpr const char* kPaddings = "zeros|border|reflection";

}  // namespace

const std::vector<OperatorRow>& Operators() {
  using enum Role;
  static const std::vector<OperatorRow> rows = {
      {"upsample_nearest_exact1d",
       "aclnnUpsampleNearestExact1d",
       Family::kNearest,
       1,
       false,
       {{"self", kInput, "N,C,L"},
        {"outputSize", kInts, "OL"},
        {"scales", kReal},
        {"out", kOutput, "N,C,OL"}}},
      {"upsample_nearest_exact2d",
       "aclnnUpsampleNearestExact2d",
       Family::kNearest,
       2,
       false,
       {{"self", kInput, "N,C,H,W"},
        {"outputSize", kInts, "OH,OW"},
        {"scalesH", kReal},
        {"scalesW", kReal},
        {"out", kOutput, "N,C,OH,OW"}}},
      {"upsample_nearest_exact3d",
       "aclnnUpsampleNearestExact3d",
       Family::kNearest,
       3,
       false,
       {{"self", kInput, "N,C,D,H,W"},
        {"outputSize", kInts, "OD,OH,OW"},
        {"scalesD", kReal},
        {"scalesH", kReal},
        {"scalesW", kReal},
        {"out", kOutput, "N,C,OD,OH,OW"}}},
      {"upsample_nearest_exact1d_backward",
       "aclnnUpsampleNearestExact1dBackward",
       Family::kNearestBackward,
       1,
       false,
       {{"gradOutput", kInput, "N,C,OL"},
        {"outputSize", kInts, "OL"},
        {"inputSize", kInts, "N,C,L"},
        {"scales", kReal},
        {"out", kOutput, "N,C,L"}}},
      {"upsample_nearest_exact2d_backward",
       "aclnnUpsampleNearestExact2dBackward",
       Family::kNearestBackward,
       2,
       false,
       {{"gradOutput", kInput, "N,C,OH,OW"},
        {"outputSize", kInts, "OH,OW"},
        {"inputSize", kInts, "N,C,H,W"},
        {"scalesH", kReal},
        {"scalesW", kReal},
        {"out", kOutput, "N,C,H,W"}}},
      {"upsample_nearest_exact3d_backward",
       "aclnnUpsampleNearestExact3dBackward",
       Family::kNearestBackward,
       3,
       false,
       {{"gradOutput", kInput, "N,C,OD,OH,OW"},
        {"outputSize", kInts, "OD,OH,OW"},
        {"inputSize", kInts, "N,C,D,H,W"},
        {"scalesD", kReal},
        {"scalesH", kReal},
        {"scalesW", kReal},
        {"out", kOutput, "N,C,D,H,W"}}},
      {"grid_sampler_2d",
       "aclnnGridSampler2D",
       Family::kSampler,
       2,
       true,
       {{"input", kInput, "N,C,H,W"},
        {"grid", kInput, "N,OH,OW,2", true},
        {"interpolationMode", kMode, kInterpolations},
        {"paddingMode", kMode, kPaddings},
        {"alignCorners", kFlag},
        {"out", kOutput, "N,C,OH,OW"}}},
      {"grid_sampler_2d_backward",
       "aclnnGridSampler2DBackward",
       Family::kSamplerBackward,
       2,
       true,
       {{"gradOutput", kInput, "N,C,OH,OW"},
        {"input", kInput, "N,C,H,W"},
        {"grid", kInput, "N,OH,OW,2", true},
        {"interpolationMode", kMode, kInterpolations},
        {"paddingMode", kMode, kPaddings},
        {"alignCorners", kFlag},
        {"outputMask", kMask},
        {"inputGrad", kOutput, "N,C,H,W"},
        {"gridGrad", kOutput, "N,OH,OW,2"}}},
      {"grid_sampler_3d",
       "aclnnGridSampler3D",
       Family::kSampler,
       3,
       true,
       {{"input", kInput, "N,C,D,H,W"},
        {"grid", kInput, "N,OD,OH,OW,3", true},
        {"interpolationMode", kMode, kInterpolations},
        {"paddingMode", kMode, kPaddings},
        {"alignCorners", kFlag},
        {"out", kOutput, "N,C,OD,OH,OW"}}},
      {"grid_sampler_3d_backward",
       "aclnnGridSampler3DBackward",
       Family::kSamplerBackward,
       3,
       true,
       {{"gradOutput", kInput, "N,C,OD,OH,OW"},
        {"input", kInput, "N,C,D,H,W"},
        {"grid", kInput, "N,OD,OH,OW,3", true},
        {"interpolationMode", kMode, kInterpolations},
        {"paddingMode", kMode, kPaddings},
        {"alignCorners", kFlag},
        {"outputMask", kMask},
        {"inputGrad", kOutput, "N,C,D,H,W"},
        {"gridGrad", kOutput, "N,OD,OH,OW,3"}}},
  };
  return rows;
}

std::optional<size_t> OperatorRow::Find(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameter == parameters[i].name) return i;
  }
  return std::nullopt;
}

const OperatorRow* FindOperator(std::string_view name) {
  for (const OperatorRow& row : Operators()) {
    if (name == row.name || name == row.function) return &row;
  }
  return nullptr;
}

std::vector<std::string> Symbols(const Parameter& parameter) {
  return cli::Split(parameter.pattern, ',');
}

std::vector<std::string> ModeWords(const Parameter& mode) { return cli::Split(mode.pattern, '|'); }

}  // namespace portacl::golden
