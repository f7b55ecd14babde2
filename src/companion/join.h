// Calls that lay tensors side by side: along an axis they have, or along a new one.
#ifndef PORTACL_COMPANION_JOIN_H_
#define PORTACL_COMPANION_JOIN_H_

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// Plans a call that has the list's members as its inputs. `dim` counts the axes of the output, from
// the last one if it is negative. For kCat, members of shape [0] count as nothing, as in PyTorch.
base::Status PlanJoin(const Call& call, int64_t dim, std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_JOIN_H_
