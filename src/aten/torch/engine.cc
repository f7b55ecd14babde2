// Checks and runs rows. Phase 1 computes on the device "meta", which knows only shapes and types.
// The run computes the same on the CPU.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "aten/backend.h"
#include "aten/torch/parsed_row.h"
#include "aten/torch/torch_version.h"
#include "aten/torch/values.h"
#include "aten/torch/worker.h"
#include "portacl/version.h"

namespace portacl::aten {
namespace {

using c10::IValue;

// During its life, PyTorch's operators run without autograd and autocast, whatever the calling
// thread has enabled.
class PlainOperators {
 private:
  c10::InferenceMode inference_;
  c10::impl::ExcludeDispatchKeyGuard autocast_{c10::autocast_dispatch_keyset};
};

// Calls body() and converts an exception to a failure.
template <class Body>
Failure Guarded(Body&& body) noexcept {
  try {
    try {
      body();
      return {};
    } catch (const c10::Error& error) {
      return {ACLNN_ERR_PARAM_INVALID, WordsOf(error)};
    } catch (const std::bad_alloc&) {
      return {ACLNN_ERR_INNER_NULLPTR, "out of memory"};
    } catch (const std::exception& error) {  // thrown by a kernel of a Python program
      const std::string_view words = error.what();
      return {ACLNN_ERR_PARAM_INVALID, std::string(words.substr(0, words.find('\n')))};
    }
  } catch (...) {  // no memory for the message
    return {ACLNN_ERR_INNER_NULLPTR, {}};
  }
}

// Converts a value to the type in the operator's schema.
IValue Coerce(const IValue& value, const c10::TypePtr& type) {
  using c10::TypeKind;
  if (value.isNone()) return value;
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return Coerce(value, type->castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::FloatType:
      return value.isDouble() ? value : IValue(value.toScalar().toDouble());
    case TypeKind::BoolType:
      return value.isBool() ? value : IValue(value.toScalar().to<bool>());
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return value.isInt() ? value : IValue(value.toScalar().to<int64_t>());
    case TypeKind::ListType:
      break;
    default:
      return value;
  }
  switch (type->castRaw<c10::ListType>()->getElementType()->kind()) {
    case TypeKind::TensorType:
      return value.isTensor() ? IValue(Tensors{value.toTensor()}) : value;
    case TypeKind::OptionalType: {
      c10::List<Optional<at::Tensor>> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(tensor);
      return list;
    }
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return value.isInt() ? IValue(std::vector<int64_t>{value.toInt()}) : value;
    default:
      return value;
  }
}

class Call final : public Computation {
 public:
  Call(const ParsedRow& parsed, std::span<const Value> values)
      : parsed_(parsed), parameters_(parsed.row->parameters) {
    arguments_.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      arguments_.push_back(ReadArgument(parameters_[i], values[i]));
    }
  }

  // Throws if PyTorch refuses the call, or if an output has another shape or type than its result.
  void Check() const {
    Tensors results;
    try {
      results = Compute(Memory::kMeta, {});
    } catch (const c10::NotImplementedError&) {  // no kernel for "meta": tries a small run
      if (CountElements() > kMostOnes) return;
      results = Compute(Memory::kOnes, {});
    }
    ForOutputs(results, [](const Parameter& parameter, size_t, const View& view,
                           const at::Tensor& result) { CheckOutput(parameter, view, result); });
  }

  Failure Run(std::span<void* const> elements, int threads,
              std::vector<FoundShape>* found) const noexcept override {
    return Guarded([&] {
      const auto work = [&] {
        const PlainOperators plain;
        Store(Compute(Memory::kReal, elements), elements, found);
      };
      RunWithThreads(threads, std::cref(work));  // by reference: allocates nothing
    });
  }

 private:
  static constexpr int64_t kMostOnes = 1 << 18;

  static void CheckOutput(const Parameter& parameter, const View& view, const at::Tensor& result) {
    TORCH_CHECK(c10::canCast(result.scalar_type(), view.type), parameter.name, " has data type ",
                c10::toString(view.type), ", but the result has ",
                c10::toString(result.scalar_type()));
    if (parameter.finds_shape()) return;
    TORCH_CHECK(SameExtents(view.sizes, result.sizes()), parameter.name, " has shape ",
                c10::IntArrayRef(view.sizes), ", but the result has shape ", result.sizes());
  }

  // Compares shapes without axes of extent 1.
  static bool SameExtents(c10::IntArrayRef a, c10::IntArrayRef b) {
    const auto longer = [](c10::IntArrayRef sizes) {
      std::vector<int64_t> rest = sizes.vec();
      std::erase(rest, 1);
      return rest;
    };
    return a == b || longer(a) == longer(b);
  }

  int64_t CountElements() const {
    int64_t count = 0;
    for (const Argument& argument : arguments_) {
      for (const View& view : argument.views) count += view.count();
    }
    return count;
  }

  // Returns the results in the order of the outputs. `elements` is used for real memory.
  Tensors Compute(Memory memory, std::span<void* const> elements) const {
    std::vector<IValue> made = MakeValues(memory, elements);
    try {
      return ComputeOf(made);
    } catch (const c10::Error& error) {
      if (!LacksKernel(error)) throw;
      Simplify(&made);
    }
    return ComputeOf(made);
  }

  Tensors ComputeOf(const std::vector<IValue>& made) const {
    if (parsed_.composition != nullptr) return parsed_.composition(Inputs(parameters_, made));
    return CallOperator(made);
  }

  // '"cdist" not implemented for 'Half'', 'Expected X.is_contiguous(memory_format) to be true'
  static bool LacksKernel(const c10::Error& error) {
    const std::string_view words = error.msg();
    return words.find("not implemented for 'Half'") != words.npos ||
           words.find("not implemented for 'BFloat16'") != words.npos ||
           words.find("is_contiguous") != words.npos;
  }

  // Makes 16-bit tensors FLOAT and all contiguous, because some of PyTorch's kernels need it.
  static void Simplify(std::vector<IValue>* made) {
    const auto simplify = [](const at::Tensor& t) {
      const bool wide = t.scalar_type() != at::kHalf && t.scalar_type() != at::kBFloat16;
      return wide ? t.contiguous() : t.to(at::kFloat).contiguous();
    };
    for (IValue& value : *made) {
      if (value.isTensor()) {
        value = simplify(value.toTensor());
      } else if (value.isTensorList()) {
        Tensors list = value.toTensorVector();
        std::transform(list.begin(), list.end(), list.begin(), simplify);
        value = std::move(list);
      }
    }
  }

  // True if the result depends on the parameter.
  bool Asked(size_t parameter) const {
    if (parsed_.composition != nullptr) return true;
    return std::ranges::any_of(parsed_.arguments, [&](const Mapped& mapped) {
      return mapped.parameter == static_cast<int>(parameter);
    });
  }

  std::vector<IValue> MakeValues(Memory memory, std::span<void* const> elements) const {
    std::vector<IValue> made(arguments_.size());
    size_t at = 0;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      if (!parameters_[i].tensor()) {
        made[i] = argument.plain;
        continue;
      }
      if (!argument.given) continue;
      const bool shape_only = parameters_[i].output() && !parameters_[i].updated();
      if (shape_only && !Asked(i)) {
        at += argument.views.size();
        continue;
      }
      const auto make = [&](const View& view) {
        void* const first = elements.empty() ? nullptr : elements[at];
        ++at;
        return MakeTensor(view, shape_only ? Memory::kMeta : memory, first);
      };
      if (!parameters_[i].list()) {
        made[i] = make(argument.views[0]);
        continue;
      }
      Tensors tensors;
      for (const View& view : argument.views) tensors.push_back(make(view));
      made[i] = std::move(tensors);
    }
    return made;
  }

  Tensors CallOperator(const std::vector<IValue>& made) const {
    const c10::FunctionSchema& schema = parsed_.op->schema();
    torch::jit::Stack stack;
    stack.reserve(parsed_.arguments.size());
    for (size_t i = 0; i < parsed_.arguments.size(); ++i) {
      stack.push_back(
          Coerce(Convert(parsed_.arguments[i], made), schema.arguments()[i].real_type()));
    }
    parsed_.op->callBoxed(stack);
    Tensors results;
    for (const IValue& value : stack) {
      if (value.isTensor()) {
        results.push_back(value.toTensor());
      } else if (value.isTensorList()) {
        for (at::Tensor& tensor : value.toTensorVector()) results.push_back(std::move(tensor));
      }
    }
    return results;
  }

  IValue Convert(const Mapped& mapped, const std::vector<IValue>& made) const {
    if (mapped.parameter < 0) return mapped.literal;
    const IValue& value = made[static_cast<size_t>(mapped.parameter)];
    if (value.isNone()) return value;
    switch (mapped.conversion) {
      case Conversion::kFirst: {
        const std::vector<int64_t> list = value.toIntVector();
        TORCH_CHECK(!list.empty(), parameters_[static_cast<size_t>(mapped.parameter)].name,
                    " is empty");
        return list[0];
      }
      case Conversion::kType:
        return static_cast<int64_t>(value.toTensor().scalar_type());
      case Conversion::kSome:
        return value.toInt() == 0 ? IValue() : value;
      case Conversion::kLong:
        return value.toTensor().to(at::kLong).contiguous();  // some kernels need INT64, contiguous
      case Conversion::kContiguous:
        return value.toTensor().contiguous();
      case Conversion::kOutput:
        return value.toTensor().to(OutputType());
      case Conversion::kCommon:
        return value.toTensor().to(CommonType(made));
      case Conversion::kNone:
        break;
    }
    return value;
  }

  at::ScalarType OutputType() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (parameters_[i].output() && !arguments_[i].views.empty()) {
        return arguments_[i].views[0].type;
      }
    }
    return at::kFloat;
  }

  at::ScalarType CommonType(const std::vector<IValue>& made) const {
    std::optional<at::ScalarType> common;
    for (const Mapped& mapped : parsed_.arguments) {
      if (mapped.conversion != Conversion::kCommon) continue;
      const IValue& value = made[static_cast<size_t>(mapped.parameter)];
      if (value.isNone()) continue;
      const at::ScalarType type = value.toTensor().scalar_type();
      common = common ? c10::promoteTypes(*common, type) : type;
    }
    return *common;
  }

  // Calls use(parameter, index of the tensor in the call, the tensor's view, result).
  template <class Use>
  void ForOutputs(const Tensors& results, Use&& use) const {
    size_t next = 0;
    size_t tensor = 0;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      const size_t count = argument.given ? argument.views.size() : 0;
      if (parameters_[i].output()) {
        for (size_t k = 0; k < count && next + k < results.size(); ++k) {
          if (!results[next + k].defined()) continue;
          use(parameters_[i], tensor + k, argument.views[k], results[next + k]);
        }
        next += parameters_[i].list() ? count : 1;
      }
      tensor += count;
    }
  }

  void Store(Tensors results, std::span<void* const> elements,
             std::vector<FoundShape>* found) const {
    // Checks all outputs first, so that nothing is written if one does not fit.
    ForOutputs(results, [](const Parameter& parameter, size_t, const View& view,
                           const at::Tensor& result) {
      CheckOutput(parameter, view, result);
      TORCH_CHECK(!parameter.finds_shape() || result.numel() <= view.count(), parameter.name,
                  " has room for ", view.count(), " elements, but the result has ", result.numel());
    });
    SeparateFromOutputs(&results, elements);
    ForOutputs(results, [&](const Parameter& parameter, size_t tensor, const View& view,
                            const at::Tensor& result) {
      if (parameter.finds_shape()) {
        found->push_back({tensor, result.sizes().vec()});
        View found_view = view;
        found_view.sizes = result.sizes().vec();
        const auto strides = c10::contiguous_strides(result.sizes());
        found_view.strides.assign(strides.begin(), strides.end());
        Write(result, found_view, elements[tensor]);
        return;
      }
      Write(result.sizes() == view.sizes ? result : result.reshape(view.sizes), view,
            elements[tensor]);
    });
  }

  // A result may be a view of an input. If an output shares memory with it, the result is copied
  // before any output is written.
  void SeparateFromOutputs(Tensors* results, std::span<void* const> elements) const {
    c10::SmallVector<Reach, 4> outputs;
    ForOutputs(*results, [&](const Parameter&, size_t tensor, const View& view, const at::Tensor&) {
      if (view.count() == 0) return;
      outputs.push_back(ReachOf(elements[tensor], view.sizes, view.strides, view.type));
    });
    for (at::Tensor& result : *results) {
      if (!result.defined() || result.numel() == 0) continue;
      const Reach read =
          ReachOf(result.data_ptr(), result.sizes(), result.strides(), result.scalar_type());
      for (const Reach& written : outputs) {
        if (read.end <= written.begin || written.end <= read.begin) continue;
        result = result.clone();
        break;
      }
    }
  }

  // The range of a view's bytes.
  struct Reach {
    uintptr_t begin;
    uintptr_t end;
  };

  static Reach ReachOf(const void* first, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                       at::ScalarType type) {
    int64_t last = 0;
    for (size_t axis = 0; axis < sizes.size(); ++axis) last += (sizes[axis] - 1) * strides[axis];
    const auto begin = reinterpret_cast<uintptr_t>(first);
    return {begin, begin + static_cast<uintptr_t>(last + 1) * c10::elementSize(type)};
  }

  const ParsedRow& parsed_;
  const std::span<const Parameter> parameters_;
  std::vector<Argument> arguments_;
};

Failure Plan(const Row& row, std::span<const Value> values,
             std::unique_ptr<const Computation>* computation) noexcept {
  Failure failure;
  const Failure thrown = Guarded([&] {
    const ParsedRow& parsed = Parse(row);
    if (!parsed.error.empty()) {
      failure = {ACLNN_ERR_INNER_NULLPTR, parsed.error};
      return;
    }
    const PlainOperators plain;
    auto call = std::make_unique<Call>(parsed, values);
    std::string key = KeyOf(row, values);
    if (!parsed.accepted.Has(key)) {
      call->Check();
      parsed.accepted.Add(std::move(key));
    }
    *computation = std::move(call);
  });
  return thrown.code != 0 ? thrown : failure;
}

std::string CheckRow(const Row& row) { return Parse(row).error; }

constexpr Backend kBackend{PORTACL_VERSION_STRING, kTorchVersion, Plan, CheckRow};

// src/aten/library.cc looks for this text in the file.
[[gnu::used]] const char kMark[] = "portacl_aten for PyTorch " PORTACL_TORCH_VERSION;

}  // namespace
}  // namespace portacl::aten

extern "C" PORTACL_API const portacl::aten::Backend* portaclAtenBackend();
const portacl::aten::Backend* portaclAtenBackend() { return &portacl::aten::kBackend; }
