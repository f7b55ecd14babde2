// Limits the length of the tables of one axis: see CheckTable().
#ifndef PORTACL_OPS_TABLE_LIMIT_H_
#define PORTACL_OPS_TABLE_LIMIT_H_

#include "base/status.h"
#include "ops/plan.h"

namespace portacl::ops {

// Returns a tensor's number of elements in memory: an axis of stride 0 repeats the same elements.
inline double ElementsInMemory(const TensorSlot& tensor) {
  double elements = 1;
  for (int axis = 0; axis < tensor.desc.shape.rank(); ++axis) {
    if (tensor.desc.strides[axis] != 0) {
      elements *= static_cast<double>(tensor.desc.shape[axis]);
    }
  }
  return elements;
}

// Refuses a table with more than kAlways entries, plus four per element that the tensors have in
// memory. A view that repeats one element may have any extent, and a scale may need any number of
// taps. Making such tables could take for ever.
inline base::Status CheckTable(const Plan& plan, double entries) {
  constexpr double kAlways = 1 << 24;
  if (entries <= kAlways) return {};
  double elements = 0;
  for (int i = 0; i < plan.num_tensors(); ++i) elements += ElementsInMemory(plan.tensor(i));
  if (entries <= 4 * elements) return {};
  return plan.refusals().Refuse(
      Rule::kNoMemory,
      "out of memory: an axis would need a table of {:.3g} entries, but the tensors have {:.3g} "
      "elements in memory",
      entries, elements);
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_TABLE_LIMIT_H_
