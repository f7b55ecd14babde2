// Plans of small calls that were made lately: an equal call uses such a plan again.
#ifndef PORTACL_OPS_RECENT_PLANS_H_
#define PORTACL_OPS_RECENT_PLANS_H_

#include "base/status.h"
#include "ops/call.h"
#include "ops/executor.h"

namespace portacl::ops {

// MakePlan(), or the plan of a call that was equal but for the addresses of its tensors. The
// addresses of this call are checked in either case. A plan is kept if its call is small, and if
// its making said nothing: a warning is repeated in every call.
base::Status MakeOrReusePlan(const Call& call, PlannedCall* planned);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RECENT_PLANS_H_
