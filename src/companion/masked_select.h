// Selects the elements where a mask is true, and writes them one after the other.
#ifndef PORTACL_COMPANION_MASKED_SELECT_H_
#define PORTACL_COMPANION_MASKED_SELECT_H_

#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// `shape` is the broadcast shape of self and mask.
base::Status PlanMaskedSelect(const Call& call, const base::Dims& shape,
                              std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_MASKED_SELECT_H_
