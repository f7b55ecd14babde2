// Joins tensors along an existing axis (kCat) or along a new axis (kStack).
#ifndef PORTACL_COMPANION_JOIN_H_
#define PORTACL_COMPANION_JOIN_H_

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// Plans a call with the list's members as inputs. `dim` is an axis of the output; negative numbers
// count from behind the last axis. As in PyTorch, kCat ignores members of shape [0].
base::Status PlanJoin(const Call& call, int64_t dim, std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_JOIN_H_
