// acl_base.h: data buffers.
#include <cstddef>
#include <memory>

#include "acl/acl_base.h"
#include "api/handles.h"
#include "api/shim.h"

using portacl::api::Ask;
using portacl::api::CheckLive;
using portacl::api::Guarded;
using portacl::api::Handles;
using portacl::api::With;
using portacl::base::Status;

extern "C" {

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* handle = nullptr;
  Guarded(__func__, [&]() -> Status {
    handle =
        Handles<aclDataBuffer>().Add(std::make_shared<aclDataBuffer>(aclDataBuffer{data, size}));
    return {};
  });
  return handle;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return Guarded(__func__, [&]() -> Status {
    return dataBuffer == nullptr ? Status() : CheckLive(Handles<aclDataBuffer>().Take(dataBuffer));
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return With(__func__, dataBuffer, [&](aclDataBuffer& found) -> Status {
    found = {data, size};
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return Ask(__func__, dataBuffer, static_cast<void*>(nullptr),
             [](const aclDataBuffer& found) { return found.data; });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return Ask(__func__, dataBuffer, size_t{0},
             [](const aclDataBuffer& found) { return found.size; });
}

}  // extern "C"
