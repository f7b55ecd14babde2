// Rows for portacl's own API but for the planning functions, which are in listed_calls_test.cc.
#include "faults/calls.h"

// What the package portacl_npu alone asks of the library: in no header.
extern "C" {
int32_t portaclNpuGuarded(void);
void* portaclNpuHostAddress(const void* address, size_t bytes);
int32_t portaclNpuWatched(void);
void portaclNpuReportCall(const char* name, const char* tensors, double microseconds);
}

namespace portacl_test {
namespace {

// Views of host memory: images of 4 x 48 x 48, points of 48 x 48, an image of a quarter.
portaclTensor View(World& w, size_t offset, std::initializer_list<int64_t> shape) {
  portaclTensor view{};
  view.data = w.host + offset;
  view.dtype = PORTACL_FLOAT32;
  view.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.shape[i] = shape.begin()[i];
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  return view;
}
constexpr size_t kImage = size_t{4} * 48 * 48 * sizeof(float);
portaclTensor Image(World& w, size_t number) { return View(w, number * kImage, {1, 4, 48, 48}); }
portaclTensor Small(World& w) { return View(w, 2 * kImage, {1, 4, 24, 24}); }
portaclTensor Points(World& w, size_t number) {
  return View(w, 3 * kImage + number * kImage / 2, {1, 48, 48, 2});
}

constexpr size_t kVolume = size_t{2} * 4 * 12 * 12 * sizeof(float);
portaclTensor Volume(World& w, size_t number) {
  return View(w, number * kVolume, {1, 2, 4, 12, 12});
}
portaclTensor Places(World& w, size_t number) {
  return View(w, 3 * kVolume + number * 2 * kVolume, {1, 4, 12, 12, 3});
}

int64_t PlanNearestBackward(World& w, portaclPlan** plan) {
  const portaclTensor from = Image(w, 0);
  const portaclTensor to = Small(w);
  return portaclPlanUpsampleNearestExactBackward(&from, &to, nullptr, plan);
}
int64_t PlanGridBackward(World& w, portaclPlan** plan) {
  const portaclTensor grad_output = Image(w, 0);
  const portaclTensor input = Image(w, 1);
  const portaclTensor grid = Points(w, 0);
  const portaclTensor input_grad = Image(w, 2);
  const portaclTensor grid_grad = Points(w, 1);
  return portaclPlanGridSampler2DBackward(&grad_output, &input, &grid, &input_grad, &grid_grad,
                                          PORTACL_BILINEAR, PORTACL_ZEROS, 0, plan);
}
int64_t PlanGrid(World& w, portaclPlan** plan) {
  const portaclTensor input = Image(w, 0);
  const portaclTensor grid = Points(w, 0);
  const portaclTensor output = Image(w, 1);
  return portaclPlanGridSampler2D(&input, &grid, &output, PORTACL_BICUBIC, PORTACL_REFLECTION, 1,
                                  plan);
}

int64_t PlanVolumeBackward(World& w, portaclPlan** plan) {
  const portaclTensor grad_output = Volume(w, 0);
  const portaclTensor input = Volume(w, 1);
  const portaclTensor grid = Places(w, 0);
  const portaclTensor input_grad = Volume(w, 2);
  const portaclTensor grid_grad = Places(w, 1);
  return portaclPlanGridSampler3DBackward(&grad_output, &input, &grid, &input_grad, &grid_grad,
                                          PORTACL_BILINEAR, PORTACL_ZEROS, 0, plan);
}

// The plan of one of the above in made[0].
template <int64_t (*Plan)(World&, portaclPlan**)>
void MakePlan(World& w) {
  portaclPlan* plan = nullptr;
  Plan(w, &plan);
  w.made[0] = plan;
}
const Step kEnd = PORTACL_DO(portaclPlanDestroy(w.Made<portaclPlan>()));
const Step kGrid = MakePlan<PlanGridBackward>;

int64_t Run(World& w) { return portaclPlanRun(w.Made<portaclPlan>(), nullptr, nullptr, 0); }

std::vector<Row> PlanRows() {
  return {
      {"portaclPlanGetWorkspaceSize",
       PORTACL_USE(portaclPlanGetWorkspaceSize(w.Made<portaclPlan>())), kGrid, kEnd},
      {"portaclPlanGetKernel", PORTACL_CALL(Answer(portaclPlanGetKernel(w.Made<portaclPlan>()))),
       kGrid, kEnd},
      {"portaclPlanDestroy", PORTACL_USE(portaclPlanDestroy(w.Made<portaclPlan>())), kGrid},
      {"portaclPlanRun", Run, kGrid, kEnd},
      {"portaclPlanRun", Run, MakePlan<PlanNearestBackward>, kEnd, {.variant = " of nearest"}},
      {"portaclPlanRun", Run, MakePlan<PlanGrid>, kEnd, {.variant = " of the forward function"}},
      {"portaclPlanRun", Run, MakePlan<PlanVolumeBackward>, kEnd, {.variant = " on volumes"}},
  };
}

int32_t OneThread(void*) { return 1; }

std::vector<Row> SettingRows() {
  return {
      {"portaclNpuGuarded", PORTACL_USE(portaclNpuGuarded()), {.bare = true}},
      {"portaclNpuHostAddress", PORTACL_CALL(Answer(portaclNpuHostAddress(w.device, 4)))},
      {"portaclNpuWatched", PORTACL_USE(portaclNpuWatched()), {.bare = true}},
      {"portaclNpuReportCall", PORTACL_USE(portaclNpuReportCall("an operator", "a tensor", 1))},
      {"portaclGetErrorMessage", PORTACL_CALL(Answer(portaclGetErrorMessage())), {.bare = true}},
      {"portaclGetVersion", PORTACL_CALL(Answer(portaclGetVersion())), {.bare = true}},
      {"portaclGetInfo", PORTACL_CALL(Answer(portaclGetInfo())), {.bare = true}},
      {"portaclSetNumThreads", PORTACL_CALL(portaclSetNumThreads(3)), {.bare = true}},
      {"portaclGetNumThreads", PORTACL_USE(portaclGetNumThreads()), {.bare = true}},
      {"portaclSetThreadPool",
       [](World&) -> int64_t {
         const portaclThreadPool pool = {nullptr, OneThread, nullptr, "a pool"};
         return portaclSetThreadPool(&pool);
       },
       nullptr,
       PORTACL_DO(static_cast<void>(w); portaclSetThreadPool(nullptr)),
       {.bare = true}},
      {"portaclSetProfile", PORTACL_CALL(portaclSetProfile("open")), {.bare = true}},
      {"portaclGetProfile", PORTACL_CALL(Answer(portaclGetProfile())), {.bare = true}},
      {"portaclSetDevice", PORTACL_CALL(portaclSetDevice("cpu")), {.bare = true}},
      {"portaclGetDevice", PORTACL_CALL(Answer(portaclGetDevice())), {.bare = true}},
      // Needs a GPU for more.
      {"portaclPlanEnqueue",
       PORTACL_CALL(portaclPlanEnqueue(nullptr, nullptr, nullptr, 0, nullptr)),
       {.good = PORTACL_ERROR_NULL,
        .bad = {PORTACL_ERROR_NULL, PORTACL_ERROR_RUNTIME},
        .bare = true}},
      {"portaclSetEdition", PORTACL_CALL(portaclSetEdition("9.x")), {.bare = true}},
      {"portaclGetEdition", PORTACL_CALL(Answer(portaclGetEdition())), {.bare = true}},
      {"portaclSetStrict", PORTACL_CALL(portaclSetStrict(1)), {.bare = true}},
      {"portaclGetStrict", PORTACL_USE(portaclGetStrict()), {.bare = true}},
      {"portaclSetImpl",
       PORTACL_CALL(portaclSetImpl("a name too long for a small string")),
       nullptr,
       PORTACL_DO(static_cast<void>(w); portaclSetImpl(nullptr)),
       {.bare = true}},
      {"portaclGetImpl", PORTACL_CALL(Answer(portaclGetImpl())), {.bare = true}},
  };
}

const Rows plan_rows(PlanRows());
const Rows setting_rows(SettingRows());

}  // namespace
}  // namespace portacl_test
