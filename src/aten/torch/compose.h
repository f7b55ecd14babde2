// Compositions: functions that consist of several operators of PyTorch. Inputs gives a composition
// its call.
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
// on the CPU in a run; outputs are always on "meta".
class Inputs {
 public:
  Inputs(std::span<const Parameter> parameters, std::span<const c10::IValue> values)
      : parameters_(parameters), values_(values) {}
  const c10::IValue& operator[](std::string_view name) const;

  // The first parameter, a tensor: "self" of one function and "selfRef" of its in-place kin.
  at::Tensor first() const { return values_[0].toTensor(); }
  // Whether the function has a parameter of that name.
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

// Results in the order of the row's outputs; an undefined tensor leaves its output as it is.
using Composition = Tensors (*)(const Inputs& in);

// Null if no composition has this name. `added`: has it from now on; the name's text stays.
Composition CompositionOf(std::string_view name, Composition added = nullptr);

// Begins the function of a composition: PORTACL_COMPOSITION(Rotary) { return {...}; }
#define PORTACL_COMPOSITION(name)                                    \
  Tensors name(const Inputs& in);                                    \
  const Composition composition_##name = CompositionOf(#name, name); \
  Tensors name(const Inputs& in)

// The type that fused kernels compute in.
inline at::Tensor Wide(const at::Tensor& t) {
  return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16 ? t.to(at::kFloat) : t;
}

// The last `count` dimensions.
inline std::vector<int64_t> Last(int64_t count) {
  std::vector<int64_t> dims;
  for (int64_t i = count; i > 0; --i) dims.push_back(-i);
  return dims;
}

// Unpacks a mask (one bit an element, lowest first, blocks of 16 bytes) into a BOOL tensor of
// `sizes`.
at::Tensor Unpacked(const at::Tensor& mask, c10::IntArrayRef sizes);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_COMPOSE_H_
