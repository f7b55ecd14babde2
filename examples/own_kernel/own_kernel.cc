// An aclnn library with one operator of one's own, on portacl's tensors, memory and streams:
// aclnnUpsampleNearestExact2d for every floating-point type and any strides.
//
// `portacl verify` runs it. A program runs it in portacl's stead if it is preloaded or linked first
// (docs/tutorials/own_kernel.md). Take it as a template: Check() refuses calls, Sample() is the
// kernel, the two functions at the end are the interface.
#include <acl/acl.h>
#include <aclnn/aclnn_base.h>
// The functions of this header are exported, whatever the project's flags are.
#pragma GCC visibility push(default)
#include <aclnnop/aclnn_upsample_nearest_exact2d.h>
#pragma GCC visibility pop
#include <portacl/portacl.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace {

// A tensor as a kernel sees it, (N, C, H, W). Strides and offset count elements.
struct View {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  char* data = nullptr;
};

// What phase 1 hands to phase 2: everything that the run needs, for the handles may be gone by
// then.
struct Plan {
  View self, out;
  double scale_h = 0, scale_w = 0;
};

size_t SizeOf(aclDataType dtype) {
  if (dtype == ACL_FLOAT16 || dtype == ACL_BF16) return 2;
  if (dtype == ACL_FLOAT) return 4;
  return dtype == ACL_DOUBLE ? 8 : 0;
}

// False for a handle that is not a live tensor.
bool Read(const aclTensor* tensor, View& view) {
  int64_t *shape = nullptr, *strides = nullptr;
  uint64_t rank = 0, count = 0;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;
  const bool read = aclGetViewShape(tensor, &shape, &rank) == 0 &&
                    aclGetViewStrides(tensor, &strides, &count) == 0 &&
                    aclGetViewOffset(tensor, &view.offset) == 0 &&
                    aclGetDataType(tensor, &view.dtype) == 0 &&
                    aclGetFormat(tensor, &format) == 0 && aclGetRawTensorAddr(tensor, &data) == 0;
  const std::unique_ptr<int64_t[]> own_shape(shape), own_strides(strides);  // the caller's to free
  if (!read) return false;
  view.shape.assign(shape, shape + rank);
  view.strides.assign(strides, strides + count);
  view.data = static_cast<char*>(data);
  if (format == ACL_FORMAT_NHWC && rank == 4) {  // C moves in front of H and W
    std::rotate(view.shape.begin() + 1, view.shape.end() - 1, view.shape.end());
    std::rotate(view.strides.begin() + 1, view.strides.end() - 1, view.strides.end());
  }
  return true;
}

// 0, or what the documents say of wrong arguments. Arrays and scalars are read as output_size is.
aclnnStatus Check(const aclTensor* self, const aclIntArray* output_size, const aclTensor* out,
                  Plan& plan) {
  if (self == nullptr || out == nullptr) return ACLNN_ERR_PARAM_NULLPTR;
  if (!Read(self, plan.self) || !Read(out, plan.out)) return ACLNN_ERR_PARAM_INVALID;
  const View &from = plan.self, &to = plan.out;
  const bool fits = SizeOf(from.dtype) != 0 && from.dtype == to.dtype && from.shape.size() == 4 &&
                    to.shape.size() == 4 && from.shape[0] == to.shape[0] &&
                    from.shape[1] == to.shape[1] && from.shape[2] > 0 && from.shape[3] > 0;
  // A stride of 0 would write an element of the result twice.
  const bool separate = std::count(to.strides.begin(), to.strides.end(), 0) == 0;
  const bool scaled = plan.scale_h >= 0 && plan.scale_w >= 0;  // not so for NaN
  if (!fits || !separate || !scaled) return ACLNN_ERR_PARAM_INVALID;
  int64_t size[2] = {};
  if (const aclnnStatus status = portaclGetIntArrayValues(output_size, size, 2)) return status;
  return size[0] == to.shape[2] && size[1] == to.shape[3] ? 0 : ACLNN_ERR_PARAM_INVALID;
}

// The source pixel of each pixel along an axis: the one with the nearest middle.
std::vector<int64_t> Sources(int64_t in, int64_t out, double scale) {
  const float step = scale > 0 ? static_cast<float>(1.0 / scale)
                               : static_cast<float>(in) / static_cast<float>(out);
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < out; ++i) {
    const float at = std::floor((static_cast<float>(i) + 0.5F) * step);
    sources.push_back(std::min(static_cast<int64_t>(at), in - 1));
  }
  return sources;
}

void Sample(const Plan& plan) {
  const View &self = plan.self, &out = plan.out;
  const size_t size = SizeOf(self.dtype);
  const std::vector<int64_t> rows = Sources(self.shape[2], out.shape[2], plan.scale_h);
  const std::vector<int64_t> columns = Sources(self.shape[3], out.shape[3], plan.scale_w);
  const auto at = [size](const View& view, int64_t n, int64_t c, int64_t h, int64_t w) {
    const int64_t element = view.offset + n * view.strides[0] + c * view.strides[1] +
                            h * view.strides[2] + w * view.strides[3];
    return view.data + element * static_cast<int64_t>(size);
  };
  for (int64_t n = 0; n < out.shape[0]; ++n) {
    for (int64_t c = 0; c < out.shape[1]; ++c) {
      for (size_t h = 0; h < rows.size(); ++h) {
        for (size_t w = 0; w < columns.size(); ++w) {
          std::memcpy(at(out, n, c, static_cast<int64_t>(h), static_cast<int64_t>(w)),
                      at(self, n, c, rows[h], columns[w]), size);
        }
      }
    }
  }
}

// The stream's work: the plan is ours to free.
void Run(void* argument) {
  const std::unique_ptr<Plan> plan(static_cast<Plan*>(argument));
  Sample(*plan);
}

}  // namespace

// extern "C" comes from the header: a function with another signature would get another name, and
// `portacl verify` would say that it is not there.
aclnnStatus aclnnUpsampleNearestExact2dGetWorkspaceSize(const aclTensor* self,
                                                        const aclIntArray* outputSize,
                                                        double scalesH, double scalesW,
                                                        aclTensor* out, uint64_t* workspaceSize,
                                                        aclOpExecutor** executor) {
  if (workspaceSize == nullptr || executor == nullptr) return ACLNN_ERR_PARAM_NULLPTR;
  auto plan = std::make_unique<Plan>();
  plan->scale_h = scalesH;
  plan->scale_w = scalesW;
  if (const aclnnStatus status = Check(self, outputSize, out, *plan); status != 0) {
    return status;
  }
  *workspaceSize = 0;
  *executor = reinterpret_cast<aclOpExecutor*>(plan.release());
  return 0;
}

aclnnStatus aclnnUpsampleNearestExact2d(void*, uint64_t, aclOpExecutor* executor,
                                        aclrtStream stream) {
  if (executor == nullptr) return ACLNN_ERR_PARAM_NULLPTR;
  // In the stream's order, like every kernel: phase 2 does not wait.
  return aclrtLaunchHostFunc(stream, Run, executor);
}
