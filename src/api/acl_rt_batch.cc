// acl_rt_memory.h: several copies in one call.
#include <cstdint>
#include <vector>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/copy.h"
#include "runtime/error.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

struct Batch {
  void** dsts;
  const size_t* rooms;
  void** srcs;
  const size_t* sizes;
  size_t count;
  const aclrtMemcpyBatchAttr* attrs;
  const size_t* indexes;
  size_t attr_count;
};

Status CheckBatch(const Batch& batch) {
  if (batch.dsts == nullptr || batch.rooms == nullptr || batch.srcs == nullptr ||
      batch.sizes == nullptr) {
    return rt::InvalidParam("dsts, destMax, srcs or sizes is null");
  }
  if (batch.count == 0) return rt::InvalidParam("numBatches is 0, wanted at least 1");
  if (batch.attrs == nullptr || batch.indexes == nullptr || batch.attr_count == 0) {
    return rt::InvalidParam(
        "attrs or attrsIndexes is null, or numAttrs 0: the copies have no places");
  }
  if (batch.indexes[0] != 0) {
    return rt::InvalidParam("attrsIndexes[0] is {}, wanted 0", batch.indexes[0]);
  }
  for (size_t i = 1; i < batch.attr_count; ++i) {
    if (batch.indexes[i] > batch.indexes[i - 1] && batch.indexes[i] < batch.count) continue;
    return rt::InvalidParam("attrsIndexes[{}] is {}, wanted more than {} and less than {}", i,
                            batch.indexes[i], batch.indexes[i - 1], batch.count);
  }
  return {};
}

// Finds the kind of copy between two places: ACL_ERROR_RT_PARAM_INVALID for an unknown place.
Status KindOf(const aclrtMemcpyBatchAttr& attr, int32_t* kind) {
  for (const aclrtMemLocation* place : {&attr.dstLoc, &attr.srcLoc}) {
    const int32_t type = RawValue(place->type);
    if (type == ACL_MEM_LOCATION_TYPE_HOST) continue;
    if (type != ACL_MEM_LOCATION_TYPE_DEVICE) {
      return rt::InvalidParam(
          "a location's type is {}, wanted ACL_MEM_LOCATION_TYPE_HOST (0) or "
          "_DEVICE (1)",
          type);
    }
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(static_cast<int32_t>(place->id)));
  }
  const bool to_device = RawValue(attr.dstLoc.type) == ACL_MEM_LOCATION_TYPE_DEVICE;
  const bool from_device = RawValue(attr.srcLoc.type) == ACL_MEM_LOCATION_TYPE_DEVICE;
  *kind = to_device ? (from_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_DEVICE)
                    : (from_device ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_HOST);
  return {};
}

// Checks all copies before the first copy starts. *failed is the index of the refused copy.
Status MakeRequests(const Batch& batch, std::vector<rt::CopyRequest>* requests, size_t* failed) {
  if (Status status = CheckBatch(batch); !status.ok()) {
    *failed = SIZE_MAX;
    return status;
  }
  requests->reserve(batch.count);
  size_t attr = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    if (attr + 1 < batch.attr_count && batch.indexes[attr + 1] == i) ++attr;
    *failed = i;
    int32_t kind = 0;
    PORTACL_RETURN_IF_ERROR(KindOf(batch.attrs[attr], &kind));
    rt::CopyRequest request;
    PORTACL_RETURN_IF_ERROR(rt::MakeCopyRequest(batch.dsts[i], batch.rooms[i], batch.srcs[i],
                                                batch.sizes[i], kind, &request));
    PORTACL_RETURN_IF_ERROR(rt::CheckCopy(request));
    requests->push_back(request);
  }
  *failed = SIZE_MAX;
  return {};
}

template <class Copy>
aclError RunBatch(const char* function, const Batch& batch, size_t* fail_index, Copy copy_all) {
  return Guarded(function, [&]() -> Status {
    if (fail_index == nullptr) return rt::InvalidParam("failIdx is null");
    std::vector<rt::CopyRequest> requests;
    size_t failed = SIZE_MAX;
    Status status = MakeRequests(batch, &requests, &failed);
    if (status.ok()) status = copy_all(requests);
    *fail_index = failed;
    return status;
  });
}

}  // namespace

extern "C" {

aclError aclrtMemcpyBatch(void** dsts, size_t* destMax, void** srcs, size_t* sizes,
                          size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                          size_t numAttrs, size_t* failIdx) {
  const Batch batch{dsts, destMax, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
  return RunBatch(__func__, batch, failIdx,
                  [](const std::vector<rt::CopyRequest>& requests) -> Status {
                    for (const rt::CopyRequest& request : requests) {
                      PORTACL_RETURN_IF_ERROR(rt::Copy(request));
                    }
                    return {};
                  });
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMax, void** srcs, size_t* sizes,
                               size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                               size_t numAttrs, size_t* failIdx, aclrtStream stream) {
  const Batch batch{dsts, destMax, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
  return RunBatch(__func__, batch, failIdx, [stream](const std::vector<rt::CopyRequest>& requests) {
    return rt::CopyAllAsync(requests, stream);
  });
}

}  // extern "C"
