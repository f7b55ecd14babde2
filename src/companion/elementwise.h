// Calls that compute each element of the output from one element of each input.
#ifndef PORTACL_COMPANION_ELEMENTWISE_H_
#define PORTACL_COMPANION_ELEMENTWISE_H_

#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// True if the call is a copy without arithmetic, because both sides have one type. No parameter is
// null.
bool MovesBits(const Call& call);

// `common`: the type that the call computes in and, if it is an integer or BOOL, wraps to.
base::Status PlanElementwise(const Call& call, base::DType common,
                             std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_ELEMENTWISE_H_
