// The forward operators in tests: one struct per call whose members a test may spoil.
#ifndef PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_

#include <utility>
#include <vector>

#include "aclnnop/aclnn_grid_sampler2d.h"
#include "aclnnop/aclnn_grid_sampler3d.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

// One call of aclnnUpsampleNearestExact1d (tensors of rank 3), ...2d or ...3d.
struct NearestForwardCall {
  size_t spatial = 2;
  TensorArgs self;
  IntList output_size;
  std::vector<double> scales;
  TensorArgs out;
  bool null_workspace_size = false;
  bool null_executor = false;

  static NearestForwardCall For(const TensorArgs& self, const TensorArgs& out,
                                std::vector<double> scales = {}) {
    NearestForwardCall call;
    call.spatial = self.shape.size() - 2;
    call.self = self;
    call.out = out;
    call.output_size = Shape(out.shape.begin() + 2, out.shape.end());
    call.scales = scales.empty() ? std::vector<double>(call.spatial, 0.0) : scales;
    return call;
  }
  const char* op() const {
    constexpr const char* kNames[] = {"aclnnUpsampleNearestExact1d", "aclnnUpsampleNearestExact2d",
                                      "aclnnUpsampleNearestExact3d"};
    return kNames[spatial - 1];
  }
  Planned Plan() const {
    const TensorHandle from = self.Make();
    const TensorHandle to = out.Make();
    const IntArrayHandle sizes = MakeInts(output_size);
    Planned planned;
    uint64_t* size = null_workspace_size ? nullptr : &planned.workspace_size;
    aclOpExecutor** executor = null_executor ? nullptr : &planned.executor;
    if (spatial == 1) {
      planned.status = aclnnUpsampleNearestExact1dGetWorkspaceSize(
          from.get(), sizes.get(), scales[0], to.get(), size, executor);
    } else if (spatial == 2) {
      planned.status = aclnnUpsampleNearestExact2dGetWorkspaceSize(
          from.get(), sizes.get(), scales[0], scales[1], to.get(), size, executor);
    } else {
      planned.status = aclnnUpsampleNearestExact3dGetWorkspaceSize(
          from.get(), sizes.get(), scales[0], scales[1], scales[2], to.get(), size, executor);
    }
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    constexpr decltype(&aclnnUpsampleNearestExact1d) kRuns[] = {
        aclnnUpsampleNearestExact1d, aclnnUpsampleNearestExact2d, aclnnUpsampleNearestExact3d};
    return kRuns[spatial - 1](workspace, size, executor, stream);
  }
};

// One call of aclnnGridSampler2D or ...3D.
struct GridForwardCall {
  TensorArgs input;
  TensorArgs grid;
  int64_t interpolation = kBilinear;
  int64_t padding = kZeros;
  bool align_corners = false;
  TensorArgs out;
  bool null_workspace_size = false;
  bool null_executor = false;

  bool volume = false;

  const char* op() const { return volume ? "aclnnGridSampler3D" : "aclnnGridSampler2D"; }
  Planned Plan() const {
    const TensorHandle handles[] = {input.Make(), grid.Make(), out.Make()};
    Planned planned;
    const auto phase_one =
        volume ? aclnnGridSampler3DGetWorkspaceSize : aclnnGridSampler2DGetWorkspaceSize;
    planned.status =
        phase_one(handles[0].get(), handles[1].get(), interpolation, padding, align_corners,
                  handles[2].get(), null_workspace_size ? nullptr : &planned.workspace_size,
                  null_executor ? nullptr : &planned.executor);
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    const auto phase_two = volume ? aclnnGridSampler3D : aclnnGridSampler2D;
    return phase_two(workspace, size, executor, stream);
  }
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_
