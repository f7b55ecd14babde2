// Copies between the two kinds of tensors.
#include "tools/testing/host_tensors.h"

#include <cstring>

namespace portacl::golden {

Call CallOn(Case c, const std::vector<cli::HostTensor>& inputs) {
  std::vector<size_t> positions;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.op->parameters[i].role == Role::kInput) positions.push_back(i);
  }
  for (size_t k = 0; k < positions.size(); ++k) {
    ArgumentCase& argument = c.arguments.at(positions[k]);
    argument.shape = inputs.at(k).shape();
    if (!inputs[k].row_major()) argument.strides = inputs[k].strides();
  }
  c.dtype = inputs.at(0).dtype();
  Call call = LayOutCall(c);
  for (size_t k = 0; k < positions.size(); ++k) {
    if (c.op->parameters[positions[k]].dtype) continue;
    std::vector<std::byte>& bytes = call.arguments[positions[k]].tensor.bytes();
    if (!bytes.empty()) std::memcpy(bytes.data(), inputs[k].data(), bytes.size());
  }
  return call;
}

cli::HostTensor HostCopy(const ViewTensor& tensor) {
  cli::HostTensor copy(static_cast<DataType>(tensor.dtype()), tensor.shape(), "copy");
  const std::vector<std::byte> elements = tensor.Dense();
  if (!elements.empty()) std::memcpy(copy.data(), elements.data(), elements.size());
  return copy;
}

Call InDType(const Call& call, DataType dtype) {
  Case c = call.source;
  c.dtype = dtype;
  Call result = LayOutCall(c);
  for (const size_t i : call.With(Role::kInput)) {
    result.arguments[i].tensor.Fill(call.arguments[i].tensor.Values());
  }
  return result;
}

}  // namespace portacl::golden
