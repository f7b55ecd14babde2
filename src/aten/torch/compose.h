// Compositions: functions that combine several operators of PyTorch. Inputs has the arguments of a
// composition's call.
#ifndef PORTACL_ATEN_TORCH_COMPOSE_H_
#define PORTACL_ATEN_TORCH_COMPOSE_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aten/row.h"
#include "aten/torch/torch_version.h"

namespace portacl::aten {

using Tensors = std::vector<at::Tensor>;

// The arguments of one call by name. Tensors are on the device "meta" while shapes are checked, and
// on the CPU in a run. Outputs are always on "meta".
class Inputs {
 public:
  Inputs(std::span<const Parameter> parameters, std::span<const c10::IValue> values)
      : parameters_(parameters), values_(values) {}
  const c10::IValue& operator[](std::string_view name) const;

  // The first parameter, a tensor: "self", or "selfRef" in a function that works in place.
  at::Tensor first() const { return values_[0].toTensor(); }
  // True if the function has a parameter with this name.
  bool knows(std::string_view name) const;
  bool has(std::string_view name) const { return !(*this)[name].isNone(); }
  at::Tensor t(std::string_view name) const {
    const c10::IValue& value = (*this)[name];
    return value.isNone() ? at::Tensor() : value.toTensor();
  }
  Optional<at::Tensor> opt(std::string_view name) const {
    return has(name) ? Optional<at::Tensor>(t(name)) : Optional<at::Tensor>();
  }
  Tensors list(std::string_view name) const { return (*this)[name].toTensorVector(); }
  int64_t i(std::string_view name) const { return (*this)[name].toInt(); }
  bool b(std::string_view name) const { return i(name) != 0; }
  double d(std::string_view name) const { return (*this)[name].toDouble(); }
  at::Scalar s(std::string_view name) const { return (*this)[name].toScalar(); }
  std::vector<int64_t> ints(std::string_view name) const { return (*this)[name].toIntVector(); }
  std::string text(std::string_view name) const { return (*this)[name].toStringRef(); }

 private:
  std::span<const Parameter> parameters_;
  std::span<const c10::IValue> values_;
};

// Returns results in the order of the row's outputs. An undefined tensor changes no output.
using Composition = Tensors (*)(const Inputs& in);

// Returns the composition of this name, or null. `added`: registers it; the name must stay valid.
Composition CompositionOf(std::string_view name, Composition added = nullptr);

// Begins a composition: PORTACL_COMPOSITION(Rotary) { return {...}; }
#define PORTACL_COMPOSITION(name)                                    \
  Tensors name(const Inputs& in);                                    \
  const Composition composition_##name = CompositionOf(#name, name); \
  Tensors name(const Inputs& in)

// Converts to the type in which fused kernels compute: 16-bit types to FLOAT.
inline at::Tensor Wide(const at::Tensor& t) {
  return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16 ? t.to(at::kFloat) : t;
}

// Returns the last `count` dimensions, as negative numbers.
inline std::vector<int64_t> Last(int64_t count) {
  std::vector<int64_t> dims;
  for (int64_t i = count; i > 0; --i) dims.push_back(-i);
  return dims;
}

// Unpacks a mask into a BOOL tensor of `sizes`. A mask has one bit per element, lowest bit first,
// in blocks of 16 bytes.
at::Tensor Unpacked(const at::Tensor& mask, c10::IntArrayRef sizes);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_COMPOSE_H_
