// The resizing functions of the aclnn API in tests, row by row, and a call with members that a test
// may spoil.
#ifndef PORTACL_TESTS_SUPPORT_API_RESIZE_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_RESIZE_CALL_H_

#include <string>
#include <vector>

#include "every_aclnnop.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

// What phase 1 of any of them takes.
struct ResizeArguments {
  const aclTensor* from;
  const aclIntArray* output_size;
  const aclIntArray* input_size;
  bool align_corners;
  double scales[3];
  aclTensor* to;
  uint64_t* size;
  aclOpExecutor** executor;
};

struct ResizeFunction {
  const char* name;
  const char* from;  // the names of both tensors
  const char* to;
  size_t spatial;
  bool backward;
  enum Kind { kNearest, kLinear, kCubic } kind;
  bool antialias;
  size_t scales;  // how many it takes
  aclnnStatus (*phase_one)(const ResizeArguments& a);
  aclnnStatus (*phase_two)(void*, uint64_t, aclOpExecutor*, aclrtStream);
};

inline constexpr ResizeFunction kResizeFunctions[] = {
    {"aclnnUpsampleNearest1dV2", "self", "out", 1, false, ResizeFunction::kNearest, false, 1,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest1dV2GetWorkspaceSize(
           a.from, a.output_size, static_cast<float>(a.scales[0]), a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest1dV2},
    {"aclnnUpsampleNearest1d", "self", "out", 1, false, ResizeFunction::kNearest, false, 0,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest1dGetWorkspaceSize(a.from, a.output_size, a.to, a.size,
                                                     a.executor);
     },
     aclnnUpsampleNearest1d},
    {"aclnnUpsampleNearest2dV2", "self", "out", 2, false, ResizeFunction::kNearest, false, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest2dV2GetWorkspaceSize(
           a.from, a.output_size, static_cast<float>(a.scales[0]), static_cast<float>(a.scales[1]),
           a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest2dV2},
    {"aclnnUpsampleNearest2d", "self", "out", 2, false, ResizeFunction::kNearest, false, 0,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest2dGetWorkspaceSize(a.from, a.output_size, a.to, a.size,
                                                     a.executor);
     },
     aclnnUpsampleNearest2d},
    {"aclnnUpsampleNearest3d", "self", "out", 3, false, ResizeFunction::kNearest, false, 3,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest3dGetWorkspaceSize(
           a.from, a.output_size, a.scales[0], a.scales[1], a.scales[2], a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest3d},
    {"aclnnUpsampleNearest1dBackward", "gradOut", "out", 1, true, ResizeFunction::kNearest, false,
     1,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest1dBackwardGetWorkspaceSize(a.from, a.output_size, a.input_size,
                                                             a.scales[0], a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest1dBackward},
    {"aclnnUpsampleNearest2dBackward", "gradOut", "gradInput", 2, true, ResizeFunction::kNearest,
     false, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest2dBackwardGetWorkspaceSize(
           a.from, a.output_size, a.input_size, a.scales[0], a.scales[1], a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest2dBackward},
    {"aclnnUpsampleNearest3dBackward", "gradOut", "gradInput", 3, true, ResizeFunction::kNearest,
     false, 3,
     [](const ResizeArguments& a) {
       return aclnnUpsampleNearest3dBackwardGetWorkspaceSize(a.from, a.output_size, a.input_size,
                                                             a.scales[0], a.scales[1], a.scales[2],
                                                             a.to, a.size, a.executor);
     },
     aclnnUpsampleNearest3dBackward},
    {"aclnnUpsampleLinear1d", "self", "out", 1, false, ResizeFunction::kLinear, false, 1,
     [](const ResizeArguments& a) {
       return aclnnUpsampleLinear1dGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                    a.scales[0], a.to, a.size, a.executor);
     },
     aclnnUpsampleLinear1d},
    {"aclnnUpsampleLinear1dBackward", "gradOut", "out", 1, true, ResizeFunction::kLinear, false, 1,
     [](const ResizeArguments& a) {
       return aclnnUpsampleLinear1dBackwardGetWorkspaceSize(a.from, a.output_size, a.input_size,
                                                            a.align_corners, a.scales[0], a.to,
                                                            a.size, a.executor);
     },
     aclnnUpsampleLinear1dBackward},
    {"aclnnUpsampleBilinear2d", "self", "out", 2, false, ResizeFunction::kLinear, false, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBilinear2dGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                      a.scales[0], a.scales[1], a.to, a.size,
                                                      a.executor);
     },
     aclnnUpsampleBilinear2d},
    {"aclnnUpsampleBilinear2dBackwardV2", "gradOut", "out", 2, true, ResizeFunction::kLinear, false,
     2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBilinear2dBackwardV2GetWorkspaceSize(
           a.from, a.output_size, a.input_size, a.align_corners, a.scales[0], a.scales[1], a.to,
           a.size, a.executor);
     },
     aclnnUpsampleBilinear2dBackwardV2},
    {"aclnnUpsampleBilinear2dBackward", "gradOut", "out", 2, true, ResizeFunction::kLinear, false,
     2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBilinear2dBackwardGetWorkspaceSize(
           a.from, a.output_size, a.input_size, a.align_corners, a.scales[0], a.scales[1], a.to,
           a.size, a.executor);
     },
     aclnnUpsampleBilinear2dBackward},
    {"aclnnUpsampleBilinear2dAA", "input", "out", 2, false, ResizeFunction::kLinear, true, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBilinear2dAAGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                        a.scales[0], a.scales[1], a.to, a.size,
                                                        a.executor);
     },
     aclnnUpsampleBilinear2dAA},
    {"aclnnUpsampleBilinear2dAABackward", "gradOutput", "out", 2, true, ResizeFunction::kLinear,
     true, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBilinear2dAABackwardGetWorkspaceSize(
           a.from, a.output_size, a.input_size, a.align_corners, a.scales[0], a.scales[1], a.to,
           a.size, a.executor);
     },
     aclnnUpsampleBilinear2dAABackward},
    {"aclnnUpsampleBicubic2d", "self", "out", 2, false, ResizeFunction::kCubic, false, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBicubic2dGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                     a.scales[0], a.scales[1], a.to, a.size,
                                                     a.executor);
     },
     aclnnUpsampleBicubic2d},
    {"aclnnUpsampleBicubic2dBackward", "gradOut", "gradInput", 2, true, ResizeFunction::kCubic,
     false, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBicubic2dBackwardGetWorkspaceSize(a.from, a.output_size, a.input_size,
                                                             a.align_corners, a.scales[0],
                                                             a.scales[1], a.to, a.size, a.executor);
     },
     aclnnUpsampleBicubic2dBackward},
    {"aclnnUpsampleBicubic2dAA", "x", "out", 2, false, ResizeFunction::kCubic, true, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBicubic2dAAGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                       a.scales[0], a.scales[1], a.to, a.size,
                                                       a.executor);
     },
     aclnnUpsampleBicubic2dAA},
    {"aclnnUpsampleBicubic2dAAGrad", "gradOutput", "out", 2, true, ResizeFunction::kCubic, true, 2,
     [](const ResizeArguments& a) {
       return aclnnUpsampleBicubic2dAAGradGetWorkspaceSize(a.from, a.output_size, a.input_size,
                                                           a.align_corners, a.scales[0],
                                                           a.scales[1], a.to, a.size, a.executor);
     },
     aclnnUpsampleBicubic2dAAGrad},
    {"aclnnUpsampleTrilinear3d", "self", "out", 3, false, ResizeFunction::kLinear, false, 3,
     [](const ResizeArguments& a) {
       return aclnnUpsampleTrilinear3dGetWorkspaceSize(a.from, a.output_size, a.align_corners,
                                                       a.scales[0], a.scales[1], a.scales[2], a.to,
                                                       a.size, a.executor);
     },
     aclnnUpsampleTrilinear3d},
    {"aclnnUpsampleTrilinear3dBackward", "gradOut", "gradInput", 3, true, ResizeFunction::kLinear,
     false, 3,
     [](const ResizeArguments& a) {
       return aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize(
           a.from, a.output_size, a.input_size, a.align_corners, a.scales[0], a.scales[1],
           a.scales[2], a.to, a.size, a.executor);
     },
     aclnnUpsampleTrilinear3dBackward},
};

inline const ResizeFunction& ResizeFunctionOf(const std::string& name) {
  for (const ResizeFunction& function : kResizeFunctions) {
    if (name == function.name) return function;
  }
  ADD_FAILURE() << name << " is no resizing function";
  return kResizeFunctions[0];
}

struct ResizeCall {
  const ResizeFunction* function;
  TensorArgs from;
  TensorArgs to;
  IntList output_size;
  IntList input_size;
  bool align_corners = false;
  std::vector<double> scales = {0, 0, 0};
  bool null_workspace_size = false;
  bool null_executor = false;

  // Sizes as the pages want them for tensors (N, C, ...).
  static ResizeCall For(const ResizeFunction& function, const TensorArgs& from,
                        const TensorArgs& to) {
    const TensorArgs& in = function.backward ? to : from;
    const TensorArgs& out = function.backward ? from : to;
    return {&function, from, to, Shape(out.shape.begin() + 2, out.shape.end()), in.shape};
  }
  const char* op() const { return function->name; }
  Planned Plan() const {
    const TensorHandle read = from.Make();
    const TensorHandle written = to.Make();
    const IntArrayHandle out = MakeInts(output_size);
    const IntArrayHandle in = MakeInts(input_size);
    Planned planned;
    planned.status = function->phase_one({read.get(),
                                          out.get(),
                                          in.get(),
                                          align_corners,
                                          {scales[0], scales[1], scales[2]},
                                          written.get(),
                                          null_workspace_size ? nullptr : &planned.workspace_size,
                                          null_executor ? nullptr : &planned.executor});
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    return function->phase_two(workspace, size, executor, stream);
  }
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_RESIZE_CALL_H_
