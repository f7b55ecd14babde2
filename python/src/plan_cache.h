// Plans of recent calls. Training repeats its shapes: a kept plan saves checks and index tables
// after the first call.
#ifndef PORTACL_PYTHON_PLAN_CACHE_H_
#define PORTACL_PYTHON_PLAN_CACHE_H_

#include <portacl/portacl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/ops/operator_list.h"

namespace portacl_python {

inline constexpr int kMaxTensors = 11;

using portacl::ops::Op;

// One call of the native API: its arguments by form, in the order of the planning function's
// parameters.
struct Call {
  Op op;
  std::array<const portaclTensor*, kMaxTensors> tensors{};  // null: an output that is not wanted
  std::array<double, 3> reals{};  // numbers, or the scales of the axes that there are
  std::array<int64_t, 3> integers{};
  std::array<int32_t, 2> choices{};  // interpolation and padding of the grid sampler
  std::array<int32_t, 2> flags{};    // align_corners, antialias
  std::array<int64_t, 10> lists{};   // one behind the other, by the parameters' symbols
};

// Plans the call, or finds its plan, and runs it. Returns a PORTACL_... code; the message is then
// in portaclGetErrorMessage. Thread-safe; needs no GIL.
int32_t RunCall(const Call& call);

// Forgets every plan: for changes of the chosen implementation.
void ClearPlans();

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_PLAN_CACHE_H_
