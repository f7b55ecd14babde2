// Copies and fills of memory: checked against the registry, then run at once or on a stream.
#ifndef PORTACL_RUNTIME_COPY_H_
#define PORTACL_RUNTIME_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace portacl::runtime {

// A rectangle of bytes. A plain copy has height 1 and ignores the pitches.
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
  size_t room = 0;  // size of dst in bytes, given by the caller
  int32_t value = 0;
  size_t count = 0;
};

// Makes the request of a plain copy of `count` bytes into a destination of `room` bytes.
base::Status MakeCopyRequest(void* dst, size_t room, const void* src, size_t count, int32_t kind,
                             CopyRequest* request);

// Makes the same checks as Copy() and CopyAsync().
base::Status CheckCopy(const CopyRequest& request);

base::Status Copy(const CopyRequest& request);
base::Status CopyAsync(const CopyRequest& request, void* stream);
// Enqueues all copies, or none if a copy is refused.
base::Status CopyAllAsync(const std::vector<CopyRequest>& requests, void* stream);

base::Status Fill(const FillRequest& request);
base::Status FillAsync(const FillRequest& request, void* stream);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_COPY_H_
