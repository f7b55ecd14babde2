// acl_base.h: float16, data types, data buffers, tensor descriptions, log and processor name.
#include "acl/acl_base.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>

#include "api/handles.h"
#include "api/shim.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/log.h"
#include "ops/settings.h"
#include "runtime/error.h"

namespace base = portacl::base;
using portacl::api::DataBuffers;
using portacl::api::Guarded;
using portacl::api::GuardedValue;
using portacl::api::RawValue;
using portacl::api::TensorDescs;
using portacl::base::Status;
using portacl::runtime::Error;

namespace portacl::api {

base::HandleTable<aclDataBuffer>& DataBuffers() {
  static constinit base::Immortal<base::HandleTable<aclDataBuffer>> table;
  return table.Get();
}

base::HandleTable<aclTensorDesc>& TensorDescs() {
  static constinit base::Immortal<base::HandleTable<aclTensorDesc>> table;
  return table.Get();
}

}  // namespace portacl::api

namespace {

base::LogLevel ToLogLevel(int32_t level) {
  switch (level) {
    case ACL_DEBUG:
      return base::LogLevel::kDebug;
    case ACL_INFO:
      return base::LogLevel::kInfo;
    case ACL_WARNING:
      return base::LogLevel::kWarn;
    default:
      return base::LogLevel::kError;
  }
}

Status CheckBuffer(const std::shared_ptr<aclDataBuffer>& buffer) {
  if (buffer != nullptr) return {};
  return Error(ACL_ERROR_INVALID_PARAM, "dataBuffer is null or no live data buffer");
}

Status CheckDesc(const std::shared_ptr<aclTensorDesc>& desc) {
  if (desc != nullptr) return {};
  return Error(ACL_ERROR_INVALID_PARAM, "desc is null or no live tensor description");
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

// Looks a description up for a query whose answer for a bad handle is `fallback`.
template <class T, class Function>
T Ask(const char* function, const aclTensorDesc* desc, T fallback, Function&& question) {
  T answer = fallback;
  Guarded(function, [&]() -> Status {
    const auto found = TensorDescs().Find(desc);
    PORTACL_RETURN_IF_ERROR(CheckDesc(found));
    answer = question(*found);
    return {};
  });
  return answer;
}

// The product of the extents; 0 where it overflows or an extent is unknown (negative).
size_t CountElements(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t dim : desc.dims) {
    if (dim < 0 || !base::CheckedMul(count, static_cast<size_t>(dim), &count)) return 0;
  }
  return count;
}

}  // namespace

extern "C" {

float aclFloat16ToFloat(aclFloat16 value) { return base::ToFloat(base::Float16{value}); }

aclFloat16 aclFloatToFloat16(float value) { return base::ToFloat16(value).bits; }

size_t aclDataTypeSize(aclDataType dataType) {
  return static_cast<size_t>(base::DTypeSize(static_cast<base::DType>(RawValue(dataType))));
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* handle = nullptr;
  Guarded("aclCreateDataBuffer", [&]() -> Status {
    handle = DataBuffers().Add(std::make_shared<aclDataBuffer>(aclDataBuffer{data, size}));
    return {};
  });
  return handle;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return Guarded("aclDestroyDataBuffer", [&]() -> Status {
    return dataBuffer == nullptr ? Status() : CheckBuffer(DataBuffers().Take(dataBuffer));
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return Guarded("aclUpdateDataBuffer", [&]() -> Status {
    const auto found = DataBuffers().Find(dataBuffer);
    PORTACL_RETURN_IF_ERROR(CheckBuffer(found));
    *found = {data, size};
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return AskBuffer<void*>("aclGetDataBufferAddr", dataBuffer, nullptr,
                          [](const aclDataBuffer& found) { return found.data; });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return AskBuffer<size_t>("aclGetDataBufferSizeV2", dataBuffer, 0,
                           [](const aclDataBuffer& found) { return found.size; });
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                   aclFormat format) {
  aclTensorDesc* handle = nullptr;
  Guarded("aclCreateTensorDesc", [&]() -> Status {
    if (numDims < 0 || (numDims > 0 && dims == nullptr)) {
      return Error(ACL_ERROR_INVALID_PARAM, "numDims is {} and dims is {}", numDims,
                   static_cast<const void*>(dims));
    }
    auto desc = std::make_shared<aclTensorDesc>();
    desc->dtype = static_cast<base::DType>(RawValue(dataType));
    desc->format = static_cast<base::Format>(RawValue(format));
    desc->dims.assign(dims, dims + numDims);
    handle = TensorDescs().Add(std::move(desc));
    return {};
  });
  return handle;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  Guarded("aclDestroyTensorDesc", [&]() -> Status {
    return desc == nullptr ? Status() : CheckDesc(TensorDescs().Take(desc));
  });
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescType", desc, ACL_DT_UNDEFINED,
             [](const aclTensorDesc& found) { return static_cast<aclDataType>(found.dtype); });
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescFormat", desc, ACL_FORMAT_UNDEFINED,
             [](const aclTensorDesc& found) { return static_cast<aclFormat>(found.format); });
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescSize", desc, size_t{0}, [](const aclTensorDesc& found) -> size_t {
    size_t bytes = 0;
    const auto element = static_cast<size_t>(base::DTypeSize(found.dtype));
    return base::CheckedMul(CountElements(found), element, &bytes) ? bytes : 0;
  });
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescElementCount", desc, size_t{0}, CountElements);
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return Ask("aclGetTensorDescNumDims", desc, size_t{0},
             [](const aclTensorDesc& found) { return found.dims.size(); });
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t dim = -1;
  return aclGetTensorDescDimV2(desc, index, &dim) == ACL_SUCCESS ? dim : -1;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return Guarded("aclGetTensorDescDimV2", [&]() -> Status {
    const auto found = TensorDescs().Find(desc);
    PORTACL_RETURN_IF_ERROR(CheckDesc(found));
    if (dimSize == nullptr) return Error(ACL_ERROR_INVALID_PARAM, "dimSize is null");
    if (index >= found->dims.size()) {
      return Error(ACL_ERROR_INVALID_PARAM, "index is {}, but the tensor has {} axes", index,
                   found->dims.size());
    }
    *dimSize = found->dims[index];
    return {};
  });
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  Guarded("aclSetTensorDescName", [&]() -> Status {
    const auto found = TensorDescs().Find(desc);
    PORTACL_RETURN_IF_ERROR(CheckDesc(found));
    if (name == nullptr) return Error(ACL_ERROR_INVALID_PARAM, "name is null");
    found->name = name;
    return {};
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return Ask("aclGetTensorDescName", desc, "",
             [](const aclTensorDesc& found) { return found.name.c_str(); });
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  const base::LogLevel level = ToLogLevel(RawValue(logLevel));
  if (fmt == nullptr ||
      !GuardedValue("aclAppLog", false, [&] { return base::LogEnabled(level); })) {
    return;
  }
  std::array<char, 1024> text;  // longer messages are cut
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text.data(), text.size(), fmt, arguments);
  va_end(arguments);
  GuardedValue("aclAppLog", 0, [&] {
    base::Log(level, fmt::format("[app] {}:{} {}: {}", file != nullptr ? file : "?", line,
                                 func != nullptr ? func : "?", text.data()));
    return 0;
  });
}

// Programs choose code by this name, so each profile answers like a processor that it stands for.
const char* aclrtGetSocName() {
  using portacl::ops::Profile;
  const Profile profile = GuardedValue("aclrtGetSocName", Profile::kAtlasA2,
                                       [] { return portacl::ops::CurrentProfile(); });
  switch (profile) {
    case Profile::kAtlasA2:
    case Profile::kOpen:  // programs refuse names that they do not know
      break;
    case Profile::kAtlasA3:
      return "Ascend910_9391";
    case Profile::kAtlasTraining:
      return "Ascend910A";
  }
  return "Ascend910B1";
}

}  // extern "C"
