// The little arithmetic on whole tensors that the demo's losses need.
#ifndef PORTACL_TOOLS_TENSOR_TENSOR_MATH_H_
#define PORTACL_TOOLS_TENSOR_TENSOR_MATH_H_

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

HostTensor Constant(DataType dtype, const Shape& shape, double value);
HostTensor Copy(const HostTensor& a);

// a - b, in a's dtype.
HostTensor Difference(const HostTensor& a, const HostTensor& b);

// Sum over all elements of a * b, in double.
double Dot(const HostTensor& a, const HostTensor& b);

// |a - b| in float32.
HostTensor AbsoluteDifference(const HostTensor& a, const HostTensor& b);

double LargestMagnitude(const HostTensor& a);

// guess -= gradient / weight where weight is above a small limit; elements without weight stay.
void DescendWeighted(HostTensor& guess, const HostTensor& gradient, const HostTensor& weight);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_TENSOR_MATH_H_
