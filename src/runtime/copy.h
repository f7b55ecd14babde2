// Copies and fills of memory: checked against the registry, at once or in a stream's order.
#ifndef PORTACL_RUNTIME_COPY_H_
#define PORTACL_RUNTIME_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace portacl::runtime {

// A rectangle of bytes; a plain copy has height 1 and pitches that do not matter.
struct CopyRequest {
  void* dst = nullptr;
  const void* src = nullptr;
  size_t dst_pitch = 0;
  size_t src_pitch = 0;
  size_t width = 0;
  size_t height = 1;
  int32_t kind = 0;  // an aclrtMemcpyKind
};

struct FillRequest {
  void* dst = nullptr;
  size_t room = 0;  // bytes that the caller says dst has
  int32_t value = 0;
  size_t count = 0;
};

// A plain copy into a destination with room for `room` bytes.
base::Status MakeCopyRequest(void* dst, size_t room, const void* src, size_t count, int32_t kind,
                             CopyRequest* request);

// The checks that Copy and CopyAsync make before they do anything.
base::Status CheckCopy(const CopyRequest& request);

base::Status Copy(const CopyRequest& request);
base::Status CopyAsync(const CopyRequest& request, void* stream);
// All of them or none.
base::Status CopyAllAsync(const std::vector<CopyRequest>& requests, void* stream);

base::Status Fill(const FillRequest& request);
base::Status FillAsync(const FillRequest& request, void* stream);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_COPY_H_
