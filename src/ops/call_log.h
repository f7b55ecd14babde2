// The log of calls (PORTACL_LOG=calls): one line of comma-separated values for each run of an
// operator, which `portacl cases from-log` reads. docs/cases.md documents the fields.
#ifndef PORTACL_OPS_CALL_LOG_H_
#define PORTACL_OPS_CALL_LOG_H_

#include <array>
#include <string>

#include "ops/grid_sampler_2d_params.h"
#include "ops/plan.h"

namespace portacl::ops {

// Nothing for a plan without an operator in its Words().
void LogCall(const Plan& plan, double microseconds);

// Parts of CallWords::arguments.
std::string ScaleWords(int spatial, const std::array<double, 3>& scales);
std::string ModeWords(Interpolation interpolation, Padding padding, bool align_corners);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_LOG_H_
