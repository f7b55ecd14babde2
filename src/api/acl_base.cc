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

// Both leaked on purpose: handles may be destroyed by static objects of the program.
base::HandleTable<aclDataBuffer>& DataBuffers() {
  static auto* const table = new base::HandleTable<aclDataBuffer>;
  return *table;
}

base::HandleTable<aclTensorDesc>& TensorDescs() {
  static auto* const table = new base::HandleTable<aclTensorDesc>;
  return *table;
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

// Looks a description up for a query whose answer for a bad handle is `fallback`.
template <class T, class Function>
T Ask(const char* function, const aclTensorDesc* desc, T fallback, Function&& question) {
  return GuardedValue(function, fallback, [&]() -> T {
    const auto found = TensorDescs().Find(desc);
    if (found != nullptr) return question(*found);
    base::Report(
        Error(ACL_ERROR_INVALID_PARAM, "{}: desc is null or no live tensor description", function));
    return fallback;
  });
}

// The product of the extents; 0 where it overflows or an extent is unknown (negative).
size_t CountElements(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t dim : desc.dims) {
    if (dim < 0 || !base::CheckedMul(count, static_cast<size_t>(dim), &count)) return 0;
  }
  return count;
}

Status CheckBuffer(const std::shared_ptr<aclDataBuffer>& buffer) {
  if (buffer != nullptr) return {};
  return Error(ACL_ERROR_INVALID_PARAM, "dataBuffer is null or no live data buffer");
}

}  // namespace

extern "C" {

float aclFloat16ToFloat(aclFloat16 value) { return base::ToFloat(base::Float16{value}); }

aclFloat16 aclFloatToFloat16(float value) { return base::ToFloat16(value).bits; }

size_t aclDataTypeSize(aclDataType dataType) {
  return static_cast<size_t>(base::DTypeSize(static_cast<base::DType>(RawValue(dataType))));
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return GuardedValue<aclDataBuffer*>("aclCreateDataBuffer", nullptr, [&] {
    return DataBuffers().Add(std::make_shared<aclDataBuffer>(aclDataBuffer{data, size}));
  });
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
  return GuardedValue<void*>("aclGetDataBufferAddr", nullptr, [&] {
    const auto found = DataBuffers().Find(dataBuffer);
    return found != nullptr ? found->data : nullptr;
  });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return GuardedValue<size_t>("aclGetDataBufferSizeV2", 0, [&] {
    const auto found = DataBuffers().Find(dataBuffer);
    return found != nullptr ? found->size : 0;
  });
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                   aclFormat format) {
  constexpr const char* kFunction = "aclCreateTensorDesc";
  return GuardedValue<aclTensorDesc*>(kFunction, nullptr, [&]() -> aclTensorDesc* {
    if (numDims < 0 || (numDims > 0 && dims == nullptr)) {
      base::Report(Error(ACL_ERROR_INVALID_PARAM, "{}: numDims is {} and dims is {}", kFunction,
                         numDims, static_cast<const void*>(dims)));
      return nullptr;
    }
    auto desc = std::make_shared<aclTensorDesc>();
    desc->dtype = static_cast<base::DType>(RawValue(dataType));
    desc->format = static_cast<base::Format>(RawValue(format));
    desc->dims.assign(dims, dims + numDims);
    return TensorDescs().Add(std::move(desc));
  });
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  GuardedValue("aclDestroyTensorDesc", false, [&] { return TensorDescs().Take(desc) != nullptr; });
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
    if (found == nullptr) {
      return Error(ACL_ERROR_INVALID_PARAM, "desc is null or no live tensor description");
    }
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
  GuardedValue("aclSetTensorDescName", false, [&] {
    const auto found = TensorDescs().Find(desc);
    if (found == nullptr || name == nullptr) return false;
    found->name = name;
    return true;
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return Ask("aclGetTensorDescName", desc, "",
             [](const aclTensorDesc& found) { return found.name.c_str(); });
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  const base::LogLevel level = ToLogLevel(RawValue(logLevel));
  if (fmt == nullptr || !base::LogEnabled(level)) return;
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
  switch (portacl::ops::CurrentProfile()) {
    case portacl::ops::Profile::kAtlasA2:
      return "Ascend910B1";
    case portacl::ops::Profile::kAtlasA3:
      return "Ascend910_9391";
    case portacl::ops::Profile::kAtlasTraining:
      return "Ascend910A";
    case portacl::ops::Profile::kOpen:
      break;
  }
  return "portacl";
}

}  // extern "C"
