// A sine with the same bits on every CPU. The C library's sine has other last bits on CPUs without
// fused operations.
#ifndef PORTACL_OPS_SINE_H_
#define PORTACL_OPS_SINE_H_

namespace portacl::ops {

// For 0 <= x < 10, in radians. The error is at most 0.6 units in the last place.
double Sine(double x);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SINE_H_
