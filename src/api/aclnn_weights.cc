// Sizes of weights in private formats. Here these formats change nothing, so the size is the number
// of elements of the shape.
#include <cstdint>

#include "aclnnop/aclnn_trans_matmul_weight.h"
#include "api/handles.h"
#include "api/shim.h"
#include "api/with_handle.h"
#include "base/checked.h"

namespace {

using portacl::api::Invalid;
using portacl::api::Null;
using portacl::api::WithHandle;
using portacl::base::Status;

aclnnStatus CountElements(const char* function, const aclIntArray* shape, uint64_t* size) {
  return WithHandle(function, "tensorShape", shape, [&](const aclIntArray& found) -> Status {
    if (size == nullptr) return Null("weightTensorSize is null");
    int64_t count = 1;
    for (const int64_t extent : found.values) {
      if (extent < 0 || !portacl::base::CheckedMul(count, extent, &count)) {
        return Invalid("tensorShape has the extent {}, or more elements than 64 bits can count",
                       extent);
      }
    }
    *size = static_cast<uint64_t>(count);
    return {};
  });
}

}  // namespace

extern "C" {

aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape,
                                           uint64_t* weightTensorSize) {
  return CountElements(__func__, tensorShape, weightTensorSize);
}

aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape,
                                             aclDataType /*dataType*/, uint64_t* weightTensorSize) {
  return CountElements(__func__, tensorShape, weightTensorSize);
}

}  // extern "C"
