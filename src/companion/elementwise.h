// Calls that compute each element of the output from one element of each input.
#ifndef PORTACL_COMPANION_ELEMENTWISE_H_
#define PORTACL_COMPANION_ELEMENTWISE_H_

#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// Returns true if the call copies bits without arithmetic, because both sides have one type. No
// parameter may be null.
bool MovesBits(const Call& call);

// `common`: the type in which the call computes. Results in an integer type or BOOL wrap to it.
base::Status PlanElementwise(const Call& call, base::DType common,
                             std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_ELEMENTWISE_H_
