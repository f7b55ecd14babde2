// The forward operators in tests: one struct per call whose members a test may spoil.
#ifndef PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_

#include <utility>
#include <vector>

#include "aclnnop/aclnn_grid_sampler2d.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

// One call of aclnnUpsampleNearestExact1d (tensors of rank 3) or ...2d.
struct NearestForwardCall {
  bool planar = true;
  TensorArgs self;
  IntList output_size;
  std::vector<double> scales;
  TensorArgs out;
  bool null_workspace_size = false;
  bool null_executor = false;

  static NearestForwardCall For(const TensorArgs& self, const TensorArgs& out,
                                std::vector<double> scales = {}) {
    NearestForwardCall call;
    call.planar = self.shape.size() == 4;
    call.self = self;
    call.out = out;
    call.output_size = Shape(out.shape.begin() + 2, out.shape.end());
    call.scales = scales.empty() ? std::vector<double>(call.planar ? 2 : 1, 0.0) : scales;
    return call;
  }
  const char* op() const {
    return planar ? "aclnnUpsampleNearestExact2d" : "aclnnUpsampleNearestExact1d";
  }
  Planned Plan() const {
    const TensorHandle from = self.Make();
    const TensorHandle to = out.Make();
    const IntArrayHandle sizes = MakeInts(output_size);
    Planned planned;
    uint64_t* size = null_workspace_size ? nullptr : &planned.workspace_size;
    aclOpExecutor** executor = null_executor ? nullptr : &planned.executor;
    planned.status =
        planar ? aclnnUpsampleNearestExact2dGetWorkspaceSize(from.get(), sizes.get(), scales[0],
                                                             scales[1], to.get(), size, executor)
               : aclnnUpsampleNearestExact1dGetWorkspaceSize(from.get(), sizes.get(), scales[0],
                                                             to.get(), size, executor);
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    return planar ? aclnnUpsampleNearestExact2d(workspace, size, executor, stream)
                  : aclnnUpsampleNearestExact1d(workspace, size, executor, stream);
  }
};

// One call of aclnnGridSampler2D.
struct GridForwardCall {
  TensorArgs input;
  TensorArgs grid;
  int64_t interpolation = kBilinear;
  int64_t padding = kZeros;
  bool align_corners = false;
  TensorArgs out;
  bool null_workspace_size = false;
  bool null_executor = false;

  const char* op() const { return "aclnnGridSampler2D"; }
  Planned Plan() const {
    const TensorHandle handles[] = {input.Make(), grid.Make(), out.Make()};
    Planned planned;
    planned.status = aclnnGridSampler2DGetWorkspaceSize(
        handles[0].get(), handles[1].get(), interpolation, padding, align_corners, handles[2].get(),
        null_workspace_size ? nullptr : &planned.workspace_size,
        null_executor ? nullptr : &planned.executor);
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    return aclnnGridSampler2D(workspace, size, executor, stream);
  }
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_FORWARD_CALL_H_
