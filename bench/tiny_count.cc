// Complete two-phase calls on tiny tensors, for a counter of instructions
// (tests/api/call_cost_test.sh): tiny_count nearest|grid|bilinear|new_nearest|new_bilinear CALLS.
// Each of the new ones differs from all before it. plan_bicubic and plan_bicubic_grad only make
// plans: 28 x 28 to other sizes.
#include <aclnnop/aclnn_upsample_bilinear_2d.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/tiny_calls.h"

namespace {

class TinyBilinear {
 public:
  TinyBilinear() : size_(aclCreateIntArray(portacl_bench::kTinyUpsampled + 2, 2)) {}
  ~TinyBilinear() { aclDestroyIntArray(size_); }
  TinyBilinear(const TinyBilinear&) = delete;
  TinyBilinear& operator=(const TinyBilinear&) = delete;

  bool TwoPhase(aclrtStream stream) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    return aclnnUpsampleBilinear2dGetWorkspaceSize(self_.handle(), size_, false, scale_, scale_,
                                                   out_.handle(), &size, &executor) == OK &&
           aclnnUpsampleBilinear2d(workspace_.Reserve(size), size, executor, stream) == OK &&
           aclrtSynchronizeStream(stream) == ACL_SUCCESS;
  }
  void Change() { scale_ = scale_ == 0 ? 2 : scale_ + 1e-9; }

 private:
  portacl_bench::TinyTensor self_{portacl_bench::kTinyImage};
  portacl_bench::TinyTensor out_{portacl_bench::kTinyUpsampled};
  portacl_bench::Workspace workspace_;
  double scale_ = 0;
  aclIntArray* size_;
};

template <class Call, bool kNew = false>
bool Repeat(int calls) {
  const portacl_bench::Device device;
  Call call;
  bool ok = device.ok();
  for (int i = 0; ok && i < calls; ++i) {
    if constexpr (kNew) call.Change();
    ok = call.TwoPhase(device.stream());
  }
  if (!ok) std::fprintf(stderr, "tiny_count: %s\n", aclGetRecentErrMsg());
  return ok;
}

bool PlanBicubic(int plans, bool gradient) {
  const int64_t small_shape[] = {1, 1, 28, 28};
  static std::array<float, 28 * 28> small_values;
  static std::array<float, 40 * 40> large_values;
  const portacl::Tensor small(small_values.data(), portacl::DataType::kFloat32, 4, small_shape);
  bool ok = true;
  for (int64_t i = 0; ok && i < plans; ++i) {
    const int64_t shape[] = {1, 1, 4 + i * 7 % 37, 4 + i * 11 % 37};
    const portacl::Tensor large(large_values.data(), portacl::DataType::kFloat32, 4, shape);
    portacl::Plan plan;
    ok = gradient ? plan.upsample_cubic_backward(large, small).ok()
                  : plan.upsample_cubic(small, large).ok();
  }
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc == 3 ? argv[1] : "";
  const int calls = argc == 3 ? std::atoi(argv[2]) : 0;
  if (which == "nearest") return Repeat<portacl_bench::TinyNearest>(calls) ? 0 : 1;
  if (which == "grid") return Repeat<portacl_bench::TinyGrid>(calls) ? 0 : 1;
  if (which == "bilinear") return Repeat<TinyBilinear>(calls) ? 0 : 1;
  if (which == "new_nearest") return Repeat<portacl_bench::TinyNearest, true>(calls) ? 0 : 1;
  if (which == "new_bilinear") return Repeat<TinyBilinear, true>(calls) ? 0 : 1;
  if (which == "plan_bicubic") return PlanBicubic(calls, false) ? 0 : 1;
  if (which == "plan_bicubic_grad") return PlanBicubic(calls, true) ? 0 : 1;
  std::fprintf(stderr,
               "usage: tiny_count [new_]nearest|[new_]bilinear|plan_bicubic[_grad]|grid CALLS\n");
  return 2;
}
