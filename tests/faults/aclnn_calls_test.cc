// Rows for both phases of every companion operator and of libcust_opapi.so, and for executors.
#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_bitwise_and_scalar.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
#include "aclnnop/aclnn_foreach_mul_scalar_v2.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_isfinite.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_max.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_min.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_mse_loss_backward.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_ones.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_stack.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
#include "faults/calls.h"

// What libcust_opapi.so alone asks of the library: in no public header.
extern "C" {
aclnnStatus portaclCustomPlan(const char* function, const void* const* arguments,
                              uint64_t* workspaceSize, aclOpExecutor** executor);
aclnnStatus portaclCustomRun(const char* function, void* workspace, uint64_t workspaceSize,
                             aclOpExecutor* executor, aclrtStream stream);
}

namespace portacl_test {
namespace {

using Ints = std::vector<int64_t>;

// The arguments of every operator's call, made once in each row's process. Tensors follow each
// other in device memory.
struct Arguments {
  explicit Arguments(World& w) : world(w) {}

  aclTensor* Make(const Ints& shape, aclDataType dtype = ACL_FLOAT) {
    size_t bytes = aclDataTypeSize(dtype);
    for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    aclTensor* const tensor =
        aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, ACL_FORMAT_ND, shape.data(),
                        shape.size(), world.device + used);
    used += (bytes + 63) / 64 * 64;
    return tensor;
  }
  aclIntArray* Numbers(const Ints& values) {
    return aclCreateIntArray(values.data(), values.size());
  }
  // `all_out` with its first shape: a run gives it the shape of the result.
  aclTensor* Fresh() {
    static constexpr int64_t kAll[] = {600};
    void* address = nullptr;
    aclGetRawTensorAddr(all_out, &address);
    aclInitTensor(all_out, kAll, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kAll, 1, address);
    return all_out;
  }
  aclTensorList* List(const aclTensor* tensor) { return aclCreateTensorList(&tensor, 1); }
  aclScalar* Scalar(aclDataType dtype) {
    float real = 2;
    int64_t integer = 2;
    return dtype == ACL_FLOAT ? aclCreateScalar(&real, dtype) : aclCreateScalar(&integer, dtype);
  }

  World& world;
  size_t used = 0;
  aclTensor* x = Make({2, 300});
  aclTensor* y = Make({2, 300});
  aclTensor* out = Make({2, 300});
  aclTensor* flags = Make({2, 300}, ACL_BOOL);
  aclTensor* flags_out = Make({2, 300}, ACL_BOOL);
  aclTensor* one = Make({});
  aclTensor* half_out = Make({2, 300}, ACL_FLOAT16);
  aclTensor* int_x = Make({2, 300}, ACL_INT32);
  aclTensor* int_out = Make({2, 300}, ACL_INT32);
  aclTensor* all_out = Make({600});
  aclTensor* stacked = Make({1, 2, 300});
  aclScalar* two = Scalar(ACL_FLOAT);
  aclScalar* whole_two = Scalar(ACL_INT64);
  aclIntArray* axes = Numbers({1});
  aclTensor* rows = Make({2});
  aclTensorList* xs = List(Make({2, 300}));
  aclTensorList* ys = List(Make({2, 300}));
  aclTensorList* outs = List(Make({2, 300}));
  aclTensor* pixels = Make({1, 4, 4, 8});
  aclTensor* rois = Make({6, 2});
  aclTensor* bins = Make({2, 2, 2, 8});
};

Arguments& ArgumentsOf(World& w) {
  static auto* const arguments = new Arguments(w);  // one World a process
  return *arguments;
}

using Execution = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
using Planning = aclnnStatus (*)(Arguments&, uint64_t*, aclOpExecutor**);

// One operator: how phase 1 is called, and phase 2.
struct Operator {
  const char* phase_one_name;
  const char* phase_two_name;
  Planning plan;
  Execution run;
};

constexpr char kRotated[] = "aclnnRoiAlignRotatedV2";
aclnnStatus PlanRotated(Arguments& a, uint64_t* size, aclOpExecutor** executor) {
  const int32_t bins = 2;
  const int32_t samples = 2;
  const double scale = 1;
  const bool flag = true;
  const void* const arguments[] = {&a.pixels, &a.rois, &bins, &bins,  &scale,
                                   &samples,  &flag,   &flag, &a.bins};
  return portaclCustomPlan(kRotated, arguments, size, executor);
}
aclnnStatus RunRotated(void* workspace, uint64_t size, aclOpExecutor* executor,
                       aclrtStream stream) {
  return portaclCustomRun(kRotated, workspace, size, executor, stream);
}

#define PORTACL_OPERATOR(name, ...)                                                               \
  Operator {                                                                                      \
#name "GetWorkspaceSize", #name,                                                              \
        [](Arguments & a, uint64_t * size, aclOpExecutor * *executor)                             \
             -> aclnnStatus { return name##GetWorkspaceSize(__VA_ARGS__, size, executor); }, name \
  }

constexpr Operator kOperators[] = {
    PORTACL_OPERATOR(aclnnAbs, a.x, a.out),
    PORTACL_OPERATOR(aclnnAdd, a.x, a.y, a.two, a.out),
    PORTACL_OPERATOR(aclnnAdds, a.x, a.two, a.two, a.out),
    PORTACL_OPERATOR(aclnnInplaceAdd, a.x, a.y, a.two),
    PORTACL_OPERATOR(aclnnInplaceAdds, a.x, a.two, a.two),
    PORTACL_OPERATOR(aclnnBitwiseAndScalar, a.int_x, a.whole_two, a.int_out),
    PORTACL_OPERATOR(aclnnBitwiseAndTensor, a.int_x, a.int_x, a.int_out),
    PORTACL_OPERATOR(aclnnCast, a.x, ACL_FLOAT16, a.half_out),
    PORTACL_OPERATOR(aclnnCat, a.xs, 0, a.out),
    PORTACL_OPERATOR(aclnnCeil, a.x, a.out),
    PORTACL_OPERATOR(aclnnInplaceCopy, a.x, a.y),
    PORTACL_OPERATOR(aclnnDiv, a.x, a.y, a.out),
    PORTACL_OPERATOR(aclnnDivs, a.x, a.two, a.out),
    PORTACL_OPERATOR(aclnnInplaceDiv, a.x, a.y),
    PORTACL_OPERATOR(aclnnInplaceDivs, a.x, a.two),
    PORTACL_OPERATOR(aclnnInplaceFillScalar, a.x, a.two),
    PORTACL_OPERATOR(aclnnForeachAddListV2, a.xs, a.ys, a.two, a.outs),
    PORTACL_OPERATOR(aclnnForeachMulScalarV2, a.xs, a.two, a.outs),
    PORTACL_OPERATOR(aclnnGtScalar, a.x, a.two, a.flags_out),
    PORTACL_OPERATOR(aclnnIsFinite, a.x, a.flags_out),
    PORTACL_OPERATOR(aclnnLtScalar, a.x, a.two, a.flags_out),
    PORTACL_OPERATOR(aclnnMaskedSelect, a.x, a.flags, a.Fresh()),
    PORTACL_OPERATOR(aclnnMax, a.x, a.one),
    PORTACL_OPERATOR(aclnnMean, a.x, a.axes, false, ACL_FLOAT, a.rows),
    PORTACL_OPERATOR(aclnnMin, a.x, a.one),
    PORTACL_OPERATOR(aclnnMseLoss, a.x, a.y, 1, a.one),
    PORTACL_OPERATOR(aclnnMseLossBackward, a.x, a.x, a.y, 0, a.out),
    PORTACL_OPERATOR(aclnnMul, a.x, a.y, a.out),
    PORTACL_OPERATOR(aclnnMuls, a.x, a.two, a.out),
    PORTACL_OPERATOR(aclnnInplaceMul, a.x, a.y),
    PORTACL_OPERATOR(aclnnInplaceMuls, a.x, a.two),
    PORTACL_OPERATOR(aclnnNeScalar, a.x, a.two, a.flags_out),
    PORTACL_OPERATOR(aclnnNeTensor, a.x, a.y, a.flags_out),
    PORTACL_OPERATOR(aclnnNeg, a.x, a.out),
    PORTACL_OPERATOR(aclnnInplaceOne, a.x),
    PORTACL_OPERATOR(aclnnReduceSum, a.x, a.axes, false, ACL_FLOAT, a.rows),
    PORTACL_OPERATOR(aclnnStack, a.xs, 0, a.stacked),
    PORTACL_OPERATOR(aclnnSub, a.x, a.y, a.two, a.out),
    PORTACL_OPERATOR(aclnnSubs, a.x, a.two, a.two, a.out),
    PORTACL_OPERATOR(aclnnInplaceSub, a.x, a.y, a.two),
    PORTACL_OPERATOR(aclnnInplaceSubs, a.x, a.two, a.two),
    PORTACL_OPERATOR(aclnnInplaceZero, a.x),
    {"portaclCustomPlan", "portaclCustomRun", PlanRotated, RunRotated},
};
constexpr size_t kOperatorCount = std::size(kOperators);

// Rows are made of plain functions: one of each for each operator.
template <size_t I>
int64_t PhaseOne(World& w) {
  return kOperators[I].plan(ArgumentsOf(w), w.Out<uint64_t>(), w.Out<aclOpExecutor*>(8));
}
void DropExecutor(World& w) { aclDestroyAclOpExecutor(w.Get<aclOpExecutor*>(8)); }

// The executor in made[0], its workspace in made[1].
template <size_t I>
void Plan(World& w) {
  aclOpExecutor* executor = nullptr;
  kOperators[I].plan(ArgumentsOf(w), &w.size, &executor);
  w.made[0] = executor;
  w.made[1] = nullptr;
  if (w.size > 0) aclrtMalloc(&w.made[1], w.size, ACL_MEM_MALLOC_HUGE_FIRST);
}
template <size_t I>
int64_t PhaseTwo(World& w) {
  return kOperators[I].run(w.made[1], w.size, w.Made<aclOpExecutor>(), w.stream);
}
void FreeWorkspace(World& w) {
  if (w.made[1] != nullptr) aclrtFree(w.made[1]);
}

template <size_t... I>
std::vector<Row> OperatorRows(std::index_sequence<I...>) {
  std::vector<Row> rows;
  (rows.push_back({kOperators[I].phase_one_name,
                   PhaseOne<I>,
                   PORTACL_DO(ArgumentsOf(w)),
                   DropExecutor,
                   {.nulls = 16}}),
   ...);
  (rows.push_back({kOperators[I].phase_two_name, PhaseTwo<I>, Plan<I>, FreeWorkspace}), ...);
  return rows;
}

// ---- executors ---------------------------------------------------------------------------------

const std::vector<int64_t> kNn = {ACLNN_ERR_RUNTIME_ERROR};

// A repeatable executor of aclnnAbs in made[0].
void MakeRepeatable(World& w) {
  Plan<0>(w);
  aclSetAclOpExecutorRepeatable(w.Made<aclOpExecutor>());
}
void EndExecutor(World& w) { aclDestroyAclOpExecutor(w.Made<aclOpExecutor>()); }

// Row of a function that gives a tensor of the executor another address.
#define PORTACL_ADDRESS(name, index, tensor)                                                     \
  {                                                                                              \
#name, PORTACL_CALL(name(w.Made <aclOpExecutor>(), index, ArgumentsOf(w).tensor, w.device)), \
        MakeRepeatable, EndExecutor, {                                                           \
      .bad = kNn                                                                                 \
    }                                                                                            \
  }

std::vector<Row> ExecutorRows() {
  return {
      {"aclSetAclOpExecutorRepeatable",
       PORTACL_CALL(aclSetAclOpExecutorRepeatable(w.Made<aclOpExecutor>())),
       Plan<0>,
       EndExecutor,
       {.bad = kNn}},
      {"aclDestroyAclOpExecutor",
       PORTACL_CALL(aclDestroyAclOpExecutor(w.Made<aclOpExecutor>())),
       Plan<0>,
       {.bad = kNn}},
      PORTACL_ADDRESS(aclSetInputTensorAddr, 0, x),
      PORTACL_ADDRESS(aclSetOutputTensorAddr, 0, out),
      PORTACL_ADDRESS(aclSetTensorAddr, 0, x),
      PORTACL_ADDRESS(AclSetInputTensorAddr, 0, x),
      PORTACL_ADDRESS(AclSetOutputTensorAddr, 0, out),
      PORTACL_ADDRESS(AclSetTensorAddr, 0, x),
      {"aclnnAbs", PhaseTwo<0>, MakeRepeatable, EndExecutor, {.variant = " again and again"}},
  };
}

const Rows operator_rows(OperatorRows(std::make_index_sequence<kOperatorCount>()));
const Rows executor_rows(ExecutorRows());

}  // namespace
}  // namespace portacl_test
