// Chooses the error_bound_<family>.cc that sums an operator's terms (BoundOf() of error_bound_sum.h
// gives the bound). Computes the ULP.
#include "tools/testing/error_bound.h"

#include <algorithm>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

// An operator without its function does not link.
std::vector<Exact> ExactOf(const Call& call) {
  switch (call.op->op) {
#define PORTACL_OPERATOR(Name, name, Checks, Params) \
  case ops::Op::k##Name:                             \
    return Exact##Checks(call);
#include "src/ops/operator_list.inc"
  }
  return {};
}

// From the order (N, C, ...) to (N, ..., C). `shape` has the second order.
void MoveChannelsLast(const Shape& shape, std::vector<double>& values) {
  const std::vector<double> from = values;
  const auto channels = static_cast<size_t>(shape.back());
  size_t points = 1;
  for (size_t axis = 1; axis + 1 < shape.size(); ++axis) points *= static_cast<size_t>(shape[axis]);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t image = i / (channels * points), channel = i / points % channels;
    values[(image * points + i % points) * channels + channel] = from[i];
  }
}

}  // namespace

std::vector<Exact> ExactOutputs(const Call& call) {
  Call moved = call;
  std::vector<size_t> outputs = call.With(Role::kOutput);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (IsChannelsLast(call.source, i)) {
      moved.arguments[i].tensor = call.arguments[i].tensor.ChannelsFirst();
    }
  }
  std::vector<Exact> exact = ExactOf(moved);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!IsChannelsLast(call.source, outputs[k])) continue;
    const Shape& shape = call.arguments[outputs[k]].tensor.shape();
    for (std::vector<double>* const values : {&exact[k].value, &exact[k].bound}) {
      if (!values->empty()) MoveChannelsLast(shape, *values);
    }
  }
  return exact;
}

double UlpAt(DataType dtype, double value) {
  if (dtype == cli::kUInt8) return 1;
  struct Format {
    int fraction_bits, least_exponent, largest_exponent;
  };
  const Format format = dtype == DataType::kFloat16    ? Format{10, -14, 15}
                        : dtype == DataType::kBFloat16 ? Format{7, -126, 127}
                        : dtype == DataType::kFloat32  ? Format{23, -126, 127}
                                                       : Format{52, -1022, 1023};
  const double magnitude = std::fabs(value);
  int exponent = format.least_exponent;
  if (!(magnitude < HUGE_VAL)) {
    exponent = format.largest_exponent;
  } else if (magnitude != 0) {
    exponent = std::clamp(std::ilogb(magnitude), format.least_exponent, format.largest_exponent);
  }
  return std::ldexp(1.0, exponent - format.fraction_bits);
}

}  // namespace portacl::golden
