// XLA's buffers as tensors, and one handler for each operator and set of results.
#include "handlers.h"

#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>

#include "../message.h"
#include "../plan_cache.h"

namespace ffi = xla::ffi;
namespace nb = nanobind;

namespace portacl_python {
namespace {

using Result = ffi::Result<ffi::AnyBuffer>;

std::optional<int32_t> DTypeOf(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F16:
      return PORTACL_FLOAT16;
    case ffi::DataType::BF16:
      return PORTACL_BFLOAT16;
    case ffi::DataType::F32:
      return PORTACL_FLOAT32;
    case ffi::DataType::F64:
      return PORTACL_FLOAT64;
    case ffi::DataType::S32:
      return PORTACL_INT32;
    case ffi::DataType::S64:
      return PORTACL_INT64;
    default:
      return std::nullopt;
  }
}

// A row-major buffer as a tensor of `rank` axes: axes that vmap added in front are joined with the
// first axis. `rank` is at most the buffer's rank, and at most PORTACL_MAX_RANK.
portaclTensor TensorOf(const ffi::AnyBuffer& buffer, int32_t rank) {
  portaclTensor tensor{};
  tensor.data = buffer.untyped_data();
  tensor.dtype = *DTypeOf(buffer.element_type());
  tensor.rank = rank;
  const auto extents = buffer.dimensions();
  const size_t front = extents.size() - static_cast<size_t>(rank);
  int64_t stride = 1;
  for (int32_t axis = rank - 1; axis >= 0; --axis) {
    tensor.shape[axis] = extents[front + static_cast<size_t>(axis)];
    tensor.strides[axis] = stride;
    stride *= std::max<int64_t>(tensor.shape[axis], 1);
  }
  for (size_t axis = 0; axis < front; ++axis) tensor.shape[0] *= extents[axis];
  return tensor;
}

// A buffer, or null for an output that is not wanted, and how many of its axes the operator knows.
struct Array {
  const ffi::AnyBuffer* buffer;
  int32_t rank;
};

ffi::Error RunAndTell(const Call& call) {
  try {
    if (RunCall(call) == PORTACL_OK) return ffi::Error::Success();
    return ffi::Error::InvalidArgument(Message());
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

// Runs `call` on `arrays`, in the order of the call's tensors.
ffi::Error Run(Call call, std::initializer_list<Array> arrays) {
  std::array<portaclTensor, kMaxTensors> tensors;
  size_t i = 0;
  for (const auto& [buffer, rank] : arrays) {
    if (buffer != nullptr) {
      if (!DTypeOf(buffer->element_type()) || rank < 1 || rank > PORTACL_MAX_RANK ||
          buffer->dimensions().size() < static_cast<size_t>(rank)) {
        return ffi::Error::InvalidArgument("portacl: a buffer's dtype or rank does not fit");
      }
      tensors[i] = TensorOf(*buffer, rank);
      call.tensors[i] = &tensors[i];
    }
    ++i;
  }
  return RunAndTell(call);
}

// Operators of several arrays, without axes in front. `tensors` has for each of the call's tensors
// the index of its buffer (inputs before results), or -1: not wanted. Numbers are as in Call.
template <Op kOp>
ffi::Error Listed(ffi::RemainingArgs inputs, ffi::RemainingRets results,
                  ffi::Span<const int32_t> tensors, ffi::Span<const double> reals,
                  ffi::Span<const int64_t> integers, ffi::Span<const int32_t> choices,
                  ffi::Span<const int32_t> flags, ffi::Span<const int64_t> lists) {
  Call call{kOp};
  std::array<portaclTensor, kMaxTensors> views;
  if (tensors.size() > views.size() || reals.size() != call.reals.size() ||
      integers.size() != call.integers.size() || choices.size() != call.choices.size() ||
      flags.size() != call.flags.size() || lists.size() != call.lists.size()) {
    return ffi::Error::InvalidArgument("portacl: attributes have another length");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] < 0) continue;
    const auto at = static_cast<size_t>(tensors[i]);
    ffi::ErrorOr<ffi::AnyBuffer> buffer = inputs.get<ffi::AnyBuffer>(at);
    if (at >= inputs.size()) {
      auto result = results.get<ffi::AnyBuffer>(at - inputs.size());
      if (result.has_error()) return result.error();
      buffer = **result;
    }
    if (buffer.has_error()) return buffer.error();
    const auto rank = static_cast<int32_t>(buffer->dimensions().size());
    if (!DTypeOf(buffer->element_type()) || rank < 1 || rank > PORTACL_MAX_RANK) {
      return ffi::Error::InvalidArgument("portacl: a buffer's dtype or rank does not fit");
    }
    views[i] = TensorOf(*buffer, rank);
    call.tensors[i] = &views[i];
  }
  std::copy(reals.begin(), reals.end(), call.reals.begin());
  std::copy(integers.begin(), integers.end(), call.integers.begin());
  std::copy(choices.begin(), choices.end(), call.choices.begin());
  std::copy(flags.begin(), flags.end(), call.flags.begin());
  std::copy(lists.begin(), lists.end(), call.lists.begin());
  return RunAndTell(call);
}

template <Op kOp>
XLA_FFI_Error* ListedHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler = ffi::Ffi::Bind()
                                         .RemainingArgs()
                                         .RemainingRets()
                                         .Attr<ffi::Span<const int32_t>>("tensors")
                                         .Attr<ffi::Span<const double>>("reals")
                                         .Attr<ffi::Span<const int64_t>>("integers")
                                         .Attr<ffi::Span<const int32_t>>("choices")
                                         .Attr<ffi::Span<const int32_t>>("flags")
                                         .Attr<ffi::Span<const int64_t>>("lists")
                                         .To(Listed<kOp>)
                                         .release();
  return handler->Call(frame);
}

// The attributes of grid samplers.
struct GridModes {
  int32_t rank;  // 4 of images, 5 of volumes
  int32_t interpolation;
  int32_t padding;
  bool align_corners;
  double fill_value;
  bool replace_outside;
  double outside_value;
};

Call GridCall(bool backward, const GridModes& modes) {
  const bool padded = modes.padding > PORTACL_REFLECTION || modes.replace_outside;
  const auto of_rank = [&](Op images, Op volumes) { return modes.rank == 5 ? volumes : images; };
  Call call{};
  if (padded) {
    call.op = backward ? of_rank(Op::kGridSampler2DPaddedBackward, Op::kGridSampler3DPaddedBackward)
                       : of_rank(Op::kGridSampler2DPadded, Op::kGridSampler3DPadded);
    call.reals = {modes.fill_value, modes.outside_value};
    call.flags[1] = modes.replace_outside;
  } else {
    call.op = backward ? of_rank(Op::kGridSampler2DBackward, Op::kGridSampler3DBackward)
                       : of_rank(Op::kGridSampler2D, Op::kGridSampler3D);
  }
  call.choices = {modes.interpolation, modes.padding};
  call.flags[0] = modes.align_corners;
  return call;
}

// All operators that are linear in their one array; each looks at the attributes that it has.
template <Op kOp>
ffi::Error Linear(ffi::AnyBuffer from, Result to, int32_t rank, int32_t result_rank,
                  ffi::Span<const double> scales, bool align_corners, bool antialias) {
  Call call{kOp};
  call.flags[0] = align_corners;
  call.flags[1] = antialias;
  if (scales.size() != call.reals.size()) {
    return ffi::Error::InvalidArgument("portacl: scales must have three values");
  }
  std::copy(scales.begin(), scales.end(), call.reals.begin());
  return Run(call, {{&from, rank}, {&*to, result_rank}});
}

template <Op kOp>
XLA_FFI_Error* LinearHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler = ffi::Ffi::Bind()
                                         .Arg<ffi::AnyBuffer>()
                                         .Ret<ffi::AnyBuffer>()
                                         .Attr<int32_t>("rank")
                                         .Attr<int32_t>("result_rank")
                                         .Attr<ffi::Span<const double>>("scales")
                                         .Attr<bool>("align_corners")
                                         .Attr<bool>("antialias")
                                         .To(Linear<kOp>)
                                         .release();
  return handler->Call(frame);
}

// Whether an operator has one array and makes one of it.
constexpr bool IsOfOneArray(const portacl::ops::Signature& signature) {
  return signature.inputs() == 1 && signature.outputs() == 1;
}

// Three inputs and the wanted gradients; attributes like the forward operator's.
auto BindGradients() {
  return ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>();
}

template <class Binding>
auto WithModes(Binding&& binding) {
  return std::forward<Binding>(binding)
      .template Attr<int32_t>("rank")
      .template Attr<int32_t>("interpolation")
      .template Attr<int32_t>("padding")
      .template Attr<bool>("align_corners")
      .template Attr<double>("fill_value")
      .template Attr<bool>("replace_outside")
      .template Attr<double>("outside_value");
}

ffi::Error GridSampler(ffi::AnyBuffer input, ffi::AnyBuffer grid, Result output, int32_t rank,
                       int32_t interpolation, int32_t padding, bool align_corners,
                       double fill_value, bool replace_outside, double outside_value) {
  const GridModes modes = {rank,       interpolation,   padding,      align_corners,
                           fill_value, replace_outside, outside_value};
  return Run(GridCall(false, modes), {{&input, rank}, {&grid, rank}, {&*output, rank}});
}

// A null gradient is one that is not wanted.
ffi::Error Gradients(const ffi::AnyBuffer& grad_output, const ffi::AnyBuffer& input,
                     const ffi::AnyBuffer& grid, const ffi::AnyBuffer* input_grad,
                     const ffi::AnyBuffer* grid_grad, const GridModes& modes) {
  const int32_t rank = modes.rank;
  return Run(
      GridCall(true, modes),
      {{&grad_output, rank}, {&input, rank}, {&grid, rank}, {input_grad, rank}, {grid_grad, rank}});
}

ffi::Error BothGradients(ffi::AnyBuffer grad_output, ffi::AnyBuffer input, ffi::AnyBuffer grid,
                         Result input_grad, Result grid_grad, int32_t rank, int32_t interpolation,
                         int32_t padding, bool align_corners, double fill_value,
                         bool replace_outside, double outside_value) {
  return Gradients(
      grad_output, input, grid, &*input_grad, &*grid_grad,
      {rank, interpolation, padding, align_corners, fill_value, replace_outside, outside_value});
}

template <bool kOfInput>
ffi::Error OneGradient(ffi::AnyBuffer grad_output, ffi::AnyBuffer input, ffi::AnyBuffer grid,
                       Result gradient, int32_t rank, int32_t interpolation, int32_t padding,
                       bool align_corners, double fill_value, bool replace_outside,
                       double outside_value) {
  const ffi::AnyBuffer* const result = &*gradient;
  return Gradients(
      grad_output, input, grid, kOfInput ? result : nullptr, kOfInput ? nullptr : result,
      {rank, interpolation, padding, align_corners, fill_value, replace_outside, outside_value});
}

XLA_FFI_DEFINE_HANDLER(
    kGridSampler, GridSampler,
    WithModes(ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>()));
XLA_FFI_DEFINE_HANDLER(kGridSamplerBackward, BothGradients,
                       WithModes(BindGradients().Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>()));
XLA_FFI_DEFINE_HANDLER(kGridSamplerInputGrad, OneGradient<true>,
                       WithModes(BindGradients().Ret<ffi::AnyBuffer>()));
XLA_FFI_DEFINE_HANDLER(kGridSamplerGridGrad, OneGradient<false>,
                       WithModes(BindGradients().Ret<ffi::AnyBuffer>()));

}  // namespace

void DefineJaxHandlers(nb::module_& m) {
  m.def(
      "jax_handlers",
      [] {
        nb::dict handlers;
        const auto add = [&](const char* name, auto* handler) {
          handlers[name] = nb::capsule(reinterpret_cast<void*>(handler));
        };
#define PORTACL_NATIVE(function, Name, ...)                         \
  if constexpr (IsOfOneArray(portacl::ops::signatures::function)) { \
    const std::string op = portacl::ops::RowOf(Op::k##Name).name;   \
    add(("portacl_" + op).c_str(), LinearHandler<Op::k##Name>);     \
  }
#include "src/ops/operator_list.inc"
        add("portacl_ms_deform_attn", ListedHandler<Op::kMsDeformAttn>);
        add("portacl_ms_deform_attn_backward", ListedHandler<Op::kMsDeformAttnBackward>);
        add("portacl_roi_align", ListedHandler<Op::kRoiAlign>);
        add("portacl_roi_align_backward", ListedHandler<Op::kRoiAlignBackward>);
        add("portacl_roi_align_rotated", ListedHandler<Op::kRoiAlignRotated>);
        add("portacl_roi_align_rotated_backward", ListedHandler<Op::kRoiAlignRotatedBackward>);
        add("portacl_deform_conv2d", ListedHandler<Op::kDeformConv2d>);
        add("portacl_deform_conv2d_backward", ListedHandler<Op::kDeformConv2dBackward>);
        add("portacl_grid_sampler", +kGridSampler);
        add("portacl_grid_sampler_backward", +kGridSamplerBackward);
        add("portacl_grid_sampler_input_grad", +kGridSamplerInputGrad);
        add("portacl_grid_sampler_grid_grad", +kGridSamplerGridGrad);
        return handlers;
      },
      "Target name -> capsule, for jax.ffi.register_ffi_target.");
}

}  // namespace portacl_python
