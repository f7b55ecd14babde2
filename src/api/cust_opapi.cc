// The functions of libcust_opapi.so: rows like the rows of the list of operators, and both phases.
// They are not in the list, because libopapi.so does not have these functions.
#include <cstring>

#include "api/aclnn_call.h"
#include "api/shim.h"
#include "base/status.h"
#include "cust_opapi/entry.h"
#include "ops/call.h"
#include "ops/operator_list.h"

namespace portacl::api {
namespace {

using ops::Kind;
using ops::Op;
using ops::Parameter;
using ops::Signature;

// DrivingSDK has only FLOAT and INT32, on the products of its page.
constexpr ops::DTypesOfProfiles kCustomFloats = {
    .atlas_a2 = "FLOAT", .ascend_950 = "FLOAT", .open = "FLOAT FLOAT16 BF16 DOUBLE"};
constexpr ops::DTypesOfProfiles kCustomIndices = {
    .atlas_a2 = "INT32", .ascend_950 = "INT32", .open = "INT32 INT64"};
constexpr ops::Traits TraitsOf(int axes) {
  return {.axes = axes,
          .dtypes = kCustomFloats,
          .formats = ops::kAnyFormat,
          .formats_may_differ = true};
}

constexpr Parameter kAttention[] = {
    {Kind::kInput, "value", "B,K,M,C"},
    {Kind::kInput, "spatialShapes", "L,2", ops::kNeeded, &kCustomIndices},
    {Kind::kInput, "levelStartIndex", "L", ops::kNeeded, &kCustomIndices},
    {Kind::kInput, "samplingLocations", "B,Q,M,L,P,2"},
    {Kind::kInput, "attentionWeights", "B,Q,M,L,P"},
    {Kind::kOutput, "output", "B,Q,M,C"}};
constexpr Parameter kAttentionGrad[] = {
    {Kind::kInput, "value", "B,K,M,C"},
    {Kind::kInput, "spatialShapes", "L,2", ops::kNeeded, &kCustomIndices},
    {Kind::kInput, "levelStartIndex", "L", ops::kNeeded, &kCustomIndices},
    {Kind::kInput, "samplingLocations", "B,Q,M,L,P,2"},
    {Kind::kInput, "attentionWeights", "B,Q,M,L,P"},
    {Kind::kInput, "gradOutput", "B,Q,M,C"},
    {Kind::kOutput, "gradValue", "B,K,M,C"},
    {Kind::kOutput, "gradSamplingLocations", "B,Q,M,L,P,2"},
    {Kind::kOutput, "gradAttentionWeights", "B,Q,M,L,P"}};
constexpr Parameter kRotated[] = {{Kind::kInput, "featureMap", "N,H,W,C"},
                                  {Kind::kInput, "rois", "6,K"},
                                  {Kind::kInt32, "pooledHeight", "PH"},
                                  {Kind::kInt32, "pooledWidth", "PW"},
                                  {Kind::kDouble, "spatialScale"},
                                  {Kind::kInt32, "samplingRatio"},
                                  {Kind::kFlag, "aligned"},
                                  {Kind::kFlag, "clockwise"},
                                  {Kind::kOutput, "output", "K,PH,PW,C"}};
constexpr Parameter kRotatedGrad[] = {{Kind::kInput, "gradOutput", "K,PH,PW,C"},
                                      {Kind::kInput, "rois", "6,K"},
                                      {Kind::kInts, "input", "N,H,W,C"},
                                      {Kind::kInt32, "pooledHeight", "PH"},
                                      {Kind::kInt32, "pooledWidth", "PW"},
                                      {Kind::kDouble, "spatialScale"},
                                      {Kind::kInt32, "samplingRatio"},
                                      {Kind::kFlag, "aligned"},
                                      {Kind::kFlag, "clockwise"},
                                      {Kind::kOutput, "gradInput", "N,H,W,C"}};

constexpr Signature kCustRows[] = {
    {"aclnnMultiScaleDeformableAttn", Op::kMsDeformAttn, TraitsOf(0), kAttention},
    {"aclnnMultiScaleDeformableAttnGrad", Op::kMsDeformAttnBackward, TraitsOf(0), kAttentionGrad},
    {"aclnnRoiAlignRotatedV2", Op::kRoiAlignRotated, TraitsOf(2), kRotated},
    {"aclnnRoiAlignRotatedGradV2", Op::kRoiAlignRotatedBackward, TraitsOf(2), kRotatedGrad}};

const Signature* Find(const char* function) {
  for (const Signature& row : kCustRows) {
    if (std::strcmp(row.name, function) == 0) return &row;
  }
  return nullptr;
}

// Refuses a function that only another version of libcust_opapi.so has.
aclnnStatus Unknown(const char* function) {
  return GuardedNn(function, [&]() -> int32_t {
    return base::Report(ops::Refusals(function, ops::Surface::kAclnn)
                            .Refuse(ops::Rule::kOther, "this libportacl.so has no such function"));
  });
}

void Add(Kind kind, const void* argument, ArgumentReader* reader) {
  switch (kind) {
    case Kind::kInts:
      return reader->Add(*static_cast<const aclIntArray* const*>(argument));
    case Kind::kInt32:
      return reader->Add(*static_cast<const int32_t*>(argument));
    case Kind::kDouble:
      return reader->Add(*static_cast<const double*>(argument));
    case Kind::kFlag:
      return reader->Add(*static_cast<const bool*>(argument));
    default:  // tensors
      return reader->Add(*static_cast<const aclTensor* const*>(argument));
  }
}

}  // namespace
}  // namespace portacl::api

extern "C" {

aclnnStatus portaclCustomPlan(const char* function, const void* const* arguments,
                              uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto* const row = portacl::api::Find(function);
  if (row == nullptr) return portacl::api::Unknown(function);
  return portacl::api::PhaseOne(
      *row, workspaceSize, executor, [&](portacl::api::ArgumentReader& reader) {
        for (size_t i = 0; i < row->parameters.size(); ++i) {
          portacl::api::Add(row->parameters[i].kind, arguments[i], &reader);
        }
      });
}

aclnnStatus portaclCustomRun(const char* function, void* workspace, uint64_t workspaceSize,
                             aclOpExecutor* executor, aclrtStream stream) {
  const auto* const row = portacl::api::Find(function);
  if (row == nullptr) return portacl::api::Unknown(function);
  return portacl::api::PhaseTwo(row->name, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
