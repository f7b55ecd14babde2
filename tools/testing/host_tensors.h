// A call's tensors from and to host tensors, the currency of files, pictures and the demo.
#ifndef PORTACL_TOOLS_TESTING_HOST_TENSORS_H_
#define PORTACL_TOOLS_TESTING_HOST_TENSORS_H_

#include <vector>

#include "tools/tensor/host_tensor.h"
#include "tools/testing/call.h"

namespace portacl::golden {

// The call of a case on these inputs, in the order of the signature. Inputs keep their own dtype,
// shapes and strides, whatever the case says. The rest follows as in LayOutCall(). For integer
// tensors, a host tensor gives only the shape.
Call CallOn(Case c, const std::vector<cli::HostTensor>& inputs);

// A copy of a tensor, dense.
cli::HostTensor HostCopy(const ViewTensor& tensor);

// The same call with every input rounded to another dtype; outputs that nobody has written.
Call InDType(const Call& call, DataType dtype);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_HOST_TENSORS_H_
