// The types behind handles, compiled for their debug information alone: part of no library. gdb
// reads it beside libportacl.so, whose own is stripped where it is packaged.
#include "api/handles.h"
#include "ops/executor.h"
#include "runtime/stream.h"

struct PortaclGdbTypes {
  const aclTensor* tensor;
  const aclScalar* scalar;
  const aclIntArray* ints;
  const aclFloatArray* floats;
  const aclBoolArray* bools;
  const aclTensorList* tensors;
  const aclScalarList* scalars;
  const aclOpExecutor* executor;
  const portacl::ops::Plan* plan;
  const portacl::runtime::Stream* stream;
};
const PortaclGdbTypes* portacl_gdb_types = nullptr;
