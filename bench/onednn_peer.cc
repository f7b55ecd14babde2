// oneDNN's resampling backward (nearest) as a peer of compare.py, which loads this file as a
// library. oneDNN's rule round((o + 0.5) * I / O - 0.5) is nearest-exact's index; it is evaluated
// in float from the destination's side, so other than small ratios may differ in single elements.
#include <cstdint>
#include <exception>
#include <memory>
#include <unordered_map>

#include <dnnl.hpp>

namespace {

using dnnl::memory;

struct Primitive {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::resampling_backward run;
  memory grad_output;
  memory grad_input;
};

memory::desc Describe(int32_t rank, const int64_t* shape, memory::data_type type,
                      bool channels_last) {
  using tag = memory::format_tag;
  const memory::dims dims(shape, shape + rank);
  if (rank == 3) return {dims, type, channels_last ? tag::nwc : tag::ncw};
  return {dims, type, channels_last ? tag::nhwc : tag::nchw};
}

// oneDNN describes the backward pass with the forward pass as a hint.
std::unique_ptr<Primitive> Create(const memory::desc& grad_output, const memory::desc& grad_input) {
  auto primitive = std::make_unique<Primitive>();
  const auto algorithm = dnnl::algorithm::resampling_nearest;
  const dnnl::resampling_forward::desc forward(dnnl::prop_kind::forward_training, algorithm,
                                               grad_input, grad_output);
  const dnnl::resampling_forward::primitive_desc hint(forward, primitive->engine);
  const dnnl::resampling_backward::desc backward(algorithm, grad_input, grad_output);
  primitive->run = dnnl::resampling_backward(
      dnnl::resampling_backward::primitive_desc(backward, primitive->engine, hint));
  primitive->grad_output = memory(grad_output, primitive->engine, nullptr);
  primitive->grad_input = memory(grad_input, primitive->engine, nullptr);
  return primitive;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// dtype: 0 float32, 1 float16, 27 bfloat16 (as aclDataType). Null if oneDNN cannot do it.
EXPORT void* portacl_onednn_create(int32_t rank, const int64_t* grad_output,
                                   const int64_t* grad_input, int32_t dtype,
                                   int32_t channels_last) {
  static const std::unordered_map<int32_t, memory::data_type> kTypes = {
      {0, memory::data_type::f32}, {1, memory::data_type::f16}, {27, memory::data_type::bf16}};
  const auto type = kTypes.find(dtype);
  if (type == kTypes.end()) return nullptr;
  try {
    return Create(Describe(rank, grad_output, type->second, channels_last != 0),
                  Describe(rank, grad_input, type->second, channels_last != 0))
        .release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

// 0 on success.
EXPORT int32_t portacl_onednn_run(void* handle, void* grad_output, void* grad_input) {
  try {
    auto* primitive = static_cast<Primitive*>(handle);
    primitive->grad_output.set_data_handle(grad_output);
    primitive->grad_input.set_data_handle(grad_input);
    primitive->run.execute(primitive->stream, {{DNNL_ARG_DIFF_DST, primitive->grad_output},
                                               {DNNL_ARG_DIFF_SRC, primitive->grad_input}});
    primitive->stream.wait();
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

EXPORT void portacl_onednn_destroy(void* handle) { delete static_cast<Primitive*>(handle); }

// As one number: major * 10000 + minor * 100 + patch.
EXPORT int32_t portacl_onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return version->major * 10000 + version->minor * 100 + version->patch;
}
