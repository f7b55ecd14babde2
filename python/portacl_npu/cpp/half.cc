// Half precision in float: widened arguments, narrowed results. And classes and indices of int32.
#include "half.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portacl_npu {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool IsHalf(const at::Tensor& t) {
  return t.defined() && (t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16);
}

bool HasHalf(const IValue& value) {
  if (value.isTensor()) return IsHalf(value.toTensor());
  if (!value.isTensorList()) return false;
  const auto list = value.toListRef();
  return std::any_of(list.begin(), list.end(),
                     [](const IValue& each) { return IsHalf(each.toTensor()); });
}

bool MissesHalf(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  for (const char* words :
       {"not implemented for 'Half'", "not implemented for 'BFloat16'",
        "Unsupported datatype for add_relu", "linalg.inv: Low precision dtypes not supported"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

// `names`: sorted, without the namespace aten.
bool IsOneOf(const c10::OperatorHandle& op, std::span<const std::string_view> names) {
  std::string_view name = op.schema().name();
  constexpr std::string_view kSpace = "aten::";
  if (name.substr(0, kSpace.size()) != kSpace) return false;
  name.remove_prefix(kSpace.size());
  return std::binary_search(names.begin(), names.end(), name);
}

// CPU kernels of these operators round every intermediate result to half precision; a device
// computes in float. Other kernels are a hundred times slower than in float on processors without
// half precision.
bool RunsInFloat(const c10::OperatorHandle& op) {
  static constexpr std::string_view kNames[] = {"_adaptive_avg_pool3d",
                                                "_convolution",
                                                "_slow_conv2d_forward",
                                                "adaptive_avg_pool3d",
                                                "addbmm",
                                                "addbmm_",
                                                "addr",
                                                "addr_",
                                                "binary_cross_entropy_with_logits",
                                                "convolution",
                                                "convolution_backward",
                                                "linalg_cross",
                                                "logit",
                                                "logit_",
                                                "nll_loss2d_forward",
                                                "nll_loss_forward",
                                                "prod",
                                                "slow_conv3d_forward",
                                                "slow_conv_dilated2d",
                                                "slow_conv_dilated3d",
                                                "slow_conv_transpose2d",
                                                "slow_conv_transpose3d",
                                                "special_ndtr"};
  static_assert(std::ranges::is_sorted(kNames));
  return IsOneOf(op, kNames);
}

// Batch norm in training with parameters of half precision, to which the CPU rounds its statistics.
bool RoundsStatistics(const c10::OperatorHandle& op, const IValue* arguments) {
  static constexpr std::string_view kNames[] = {"native_batch_norm", "native_batch_norm_backward"};
  if (!IsOneOf(op, kNames)) return false;
  const bool backward = op.schema().name() == "aten::native_batch_norm_backward";
  constexpr size_t kRunningMean = 3;
  const size_t weight = backward ? 2 : 1, training = backward ? 7 : 5;
  if (!arguments[training].toBool()) return false;
  for (const size_t parameter : {weight, kRunningMean}) {
    const IValue& value = arguments[parameter];
    if (value.isTensor() && value.toTensor().defined()) return IsHalf(value.toTensor());
  }
  return true;
}

bool IsInt32(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         value.toTensor().scalar_type() == at::kInt;
}

// A device takes the classes or indices of these operators as int32 too; the CPU wants int64.
bool WantsLongIndices(const c10::OperatorHandle& op) {
  static constexpr std::string_view kNames[] = {"multi_margin_loss",
                                                "multi_margin_loss_backward",
                                                "multilabel_margin_loss_backward",
                                                "multilabel_margin_loss_forward",
                                                "nll_loss2d_backward",
                                                "nll_loss2d_forward",
                                                "nll_loss_backward",
                                                "nll_loss_forward",
                                                "one_hot",
                                                "put",
                                                "put_"};
  static_assert(std::ranges::is_sorted(kNames));
  return IsOneOf(op, kNames);
}

// Arguments that have the type of the result stay as they are: the values of put.
void LengthenIndices(const c10::OperatorHandle& op, IValue* arguments) {
  if (!WantsLongIndices(op)) return;
  const auto& declared = op.schema().arguments();
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::string& name = declared[i].name();
    const bool index = name == "target" || name == "index" || op.schema().name() == "aten::one_hot";
    if (index && IsInt32(arguments[i])) arguments[i] = arguments[i].toTensor().to(at::kLong);
  }
}

// A softmax of half precision in float, which the CPU has for float alone.
void WidenSoftmax(const c10::OperatorHandle& op, IValue* arguments) {
  static constexpr std::string_view kNames[] = {"_log_softmax", "_softmax"};
  constexpr size_t kSelf = 0, kHalfToFloat = 2;
  if (!IsOneOf(op, kNames) || !arguments[kHalfToFloat].toBool()) return;
  arguments[kSelf] = arguments[kSelf].toTensor().to(at::kFloat);
  arguments[kHalfToFloat] = false;
}

// The position of the argument that says what type the result has; the number of arguments if there
// is no such argument.
size_t PositionOfDType(const c10::OperatorHandle& op) {
  size_t at = 0;
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.name() == "dtype") break;
    ++at;
  }
  return at;
}

// Some gradients look for the element that gave the largest distance. A rounded distance hides it.
void CalculateAgain(const c10::OperatorHandle& op, Stack* wide) {
  const std::string& name = op.schema().name();
  if (name == "aten::_cdist_backward" && std::isinf(wide->at(3).toDouble())) {
    wide->at(4) = at::_cdist_forward(wide->at(1).toTensor(), wide->at(2).toTensor(),
                                     wide->at(3).toDouble(), std::nullopt);
  } else if (name == "aten::_pdist_backward" && std::isinf(wide->at(2).toDouble())) {
    wide->at(3) = at::_pdist_forward(wide->at(1).toTensor(), wide->at(2).toDouble());
  }
}

class Widened {
 public:
  void Widen(IValue* value) {
    if (value->isTensor()) {
      *value = Widen(value->toTensor());
    } else if (value->isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : value->toTensorVector()) list.push_back(Widen(t));
      *value = std::move(list);
    }
  }

  // An argument that the operator wrote into, in the program's precision again.
  void WriteBack(const IValue& argument) const {
    if (argument.isTensor()) WriteBack(argument.toTensor());
    if (!argument.isTensorList()) return;
    for (const at::Tensor& t : argument.toTensorVector()) WriteBack(t);
  }

  void Narrow(IValue* value) {
    if (value->isTensor()) {
      *value = Narrow(value->toTensor());
    } else if (value->isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : value->toTensorVector()) list.push_back(Narrow(t));
      *value = std::move(list);
    }
  }

 private:
  struct Pair {
    at::Tensor narrow;
    at::Tensor wide;
  };

  at::Tensor Widen(const at::Tensor& t) {
    if (!IsHalf(t)) return t;
    type_ = t.scalar_type();
    at::Tensor wide = t.to(at::kFloat);
    pairs_.push_back({t, wide});
    return wide;
  }

  void WriteBack(const at::Tensor& narrow) const {
    for (const Pair& pair : pairs_) {
      if (!pair.narrow.is_same(narrow)) continue;
      if (!narrow.sizes().equals(pair.wide.sizes())) narrow.resize_(pair.wide.sizes());
      narrow.copy_(pair.wide);
    }
  }

  at::Tensor Narrow(const at::Tensor& t) {
    if (!t.defined()) return t;
    for (const Pair& pair : pairs_) {
      if (pair.wide.is_same(t)) return pair.narrow;
    }
    return t.scalar_type() == at::kFloat ? t.to(type_) : t;
  }

  at::ScalarType type_ = at::kHalf;
  std::vector<Pair> pairs_;
};

}  // namespace

void RunCpuKernel(const c10::OperatorHandle& op, Stack* stack) {
  constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const size_t base = stack->size() - static_cast<size_t>(count);
  bool half = false, int32 = false;
  for (auto each = stack->end() - count; each != stack->end(); ++each) {
    half |= HasHalf(*each);
    int32 |= IsInt32(*each);
  }
  if (C10_UNLIKELY(int32)) LengthenIndices(op, stack->data() + base);
  if (C10_LIKELY(!half)) {
    op.redispatchBoxed(kCpu, stack);
    if (C10_UNLIKELY(int32) && op.schema().name() == "aten::one_hot") {
      stack->back() = stack->back().toTensor().to(at::kInt);
    }
    return;
  }
  WidenSoftmax(op, stack->data() + base);
  const Stack arguments(stack->end() - count, stack->end());
  // A result of a type of its own is in that type from the start.
  const bool statistics = RoundsStatistics(op, arguments.data());
  const bool in_float = statistics || RunsInFloat(op);
  const size_t dtype = in_float ? PositionOfDType(op) : arguments.size();
  const bool typed = dtype < arguments.size() && !arguments[dtype].isNone();
  const bool own =
      typed && arguments[dtype].toScalarType() != arguments[0].toTensor().scalar_type();
  if (!in_float || own) {
    try {
      op.redispatchBoxed(kCpu, stack);
      return;
    } catch (const c10::Error& error) {
      if (!MissesHalf(error)) throw;
    }
  }
  Widened widened;
  Stack wide = arguments;
  for (IValue& value : wide) widened.Widen(&value);
  if (typed && !own) wide[dtype] = IValue();
  CalculateAgain(op, &wide);
  op.redispatchBoxed(kCpu, &wide);
  // A batch norm writes its running statistics, although its schema does not say so. In this call
  // they stay float.
  const bool forward = statistics && op.schema().name() == "aten::native_batch_norm";
  constexpr size_t kRunningMean = 3, kRunningVar = 4;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* const alias = op.schema().arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    if (written || (forward && (i == kRunningMean || i == kRunningVar))) {
      widened.WriteBack(arguments[i]);
    }
  }
  for (IValue& value : wide) {
    widened.Narrow(&value);
    if (forward) break;
  }
  stack->resize(base);
  stack->insert(stack->end(), wide.begin(), wide.end());
}

}  // namespace portacl_npu
