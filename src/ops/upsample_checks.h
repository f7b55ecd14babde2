// What the checks of resizing share with its plans. The checks themselves are declared beside the
// call, in upsample.h.
#ifndef PORTACL_OPS_UPSAMPLE_CHECKS_H_
#define PORTACL_OPS_UPSAMPLE_CHECKS_H_

#include <array>
#include <cstdint>

#include "ops/resample_axis.h"
#include "ops/upsample.h"

namespace portacl::ops::upsample {

// The tensors as the caller's API calls them.
struct Names {
  const char* from;
  const char* to;
};
Names NamesOf(const UpsampleCall& call);

// The scales as the tables take them: 0 where the extents decide.
std::array<double, 3> UsedScales(const UpsampleCall& call);

// The table of one axis; `given`: which of the call's axes it is, negative for one that it lacks.
ResampleRule RuleOf(const UpsampleCall& call, int64_t in, int64_t out, int given);

}  // namespace portacl::ops::upsample

#endif  // PORTACL_OPS_UPSAMPLE_CHECKS_H_
