// acl_base.h: data buffers.
#include <cstddef>
#include <memory>

#include "acl/acl_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "runtime/error.h"

using portacl::api::DataBuffers;
using portacl::api::Guarded;
using portacl::base::Status;
using portacl::runtime::Error;

namespace portacl::api {

base::HandleTable<aclDataBuffer>& DataBuffers() {
  static constinit base::Immortal<base::HandleTable<aclDataBuffer>> table;
  return table.Get();
}

}  // namespace portacl::api

namespace {

Status CheckBuffer(const std::shared_ptr<aclDataBuffer>& buffer) {
  if (buffer != nullptr) return {};
  return Error(ACL_ERROR_INVALID_PARAM, "dataBuffer is null or no live data buffer");
}

// Looks a data buffer up for a query whose answer for a bad handle is `fallback`.
template <class T, class Function>
T AskBuffer(const char* function, const aclDataBuffer* buffer, T fallback, Function&& question) {
  T answer = fallback;
  Guarded(function, [&]() -> Status {
    const auto found = DataBuffers().Find(buffer);
    PORTACL_RETURN_IF_ERROR(CheckBuffer(found));
    answer = question(*found);
    return {};
  });
  return answer;
}

}  // namespace

extern "C" {

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* handle = nullptr;
  Guarded(__func__, [&]() -> Status {
    handle = DataBuffers().Add(std::make_shared<aclDataBuffer>(aclDataBuffer{data, size}));
    return {};
  });
  return handle;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return Guarded(__func__, [&]() -> Status {
    return dataBuffer == nullptr ? Status() : CheckBuffer(DataBuffers().Take(dataBuffer));
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return Guarded(__func__, [&]() -> Status {
    const auto found = DataBuffers().Find(dataBuffer);
    PORTACL_RETURN_IF_ERROR(CheckBuffer(found));
    *found = {data, size};
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return AskBuffer<void*>(__func__, dataBuffer, nullptr,
                          [](const aclDataBuffer& found) { return found.data; });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return AskBuffer<size_t>(__func__, dataBuffer, 0,
                           [](const aclDataBuffer& found) { return found.size; });
}

}  // extern "C"
