// Checks copies and fills, and runs them.
#include "runtime/copy.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "acl/acl_rt.h"
#include "base/checked.h"
#include "runtime/capture_rules.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/scratch.h"
#include "runtime/stream.h"
#include "runtime/trace.h"
#include "runtime/virtual_memory.h"

namespace portacl::runtime {
namespace {

constexpr size_t kSmall = size_t{32} << 10;  // about a microsecond: another thread does not pay
constexpr size_t kGrain = size_t{1} << 20;   // bytes per task if several threads copy

enum class Side { kHost, kDevice, kAny };

struct Direction {
  const char* name;
  Side dst;
  Side src;
};

constexpr Direction kDirections[] = {
    {"ACL_MEMCPY_HOST_TO_HOST", Side::kHost, Side::kHost},
    {"ACL_MEMCPY_HOST_TO_DEVICE", Side::kDevice, Side::kHost},
    {"ACL_MEMCPY_DEVICE_TO_HOST", Side::kHost, Side::kDevice},
    {"ACL_MEMCPY_DEVICE_TO_DEVICE", Side::kDevice, Side::kDevice},
    {"ACL_MEMCPY_DEFAULT", Side::kAny, Side::kAny},
    {"ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE", Side::kDevice, Side::kHost},
    {"ACL_MEMCPY_INNER_DEVICE_TO_DEVICE", Side::kDevice, Side::kDevice},
    {"ACL_MEMCPY_INTER_DEVICE_TO_DEVICE", Side::kDevice, Side::kDevice},
};

// A checked copy, with addresses that kernels may use.
struct CopyJob {
  char* dst = nullptr;
  const char* src = nullptr;
  size_t dst_pitch = 0;
  size_t src_pitch = 0;
  size_t width = 0;
  size_t height = 0;
  const char* kind = "";
};

struct Place {
  void* address = nullptr;  // the address that kernels use
  int32_t device = -1;      // -1: host memory
};

// Finds out where an address lies. Refuses `bytes` bytes that leave the allocation there.
base::Status Locate(const void* address, size_t bytes, Side side, const char* name,
                    const char* kind, Place* place) {
  if (address == nullptr) return InvalidParam("{} is null", name);
  AllocationInfo info;
  const bool known = FindAllocation(address, &info);
  const bool device = known && !info.host;
  if (side == Side::kDevice && !device) {
    return InvalidParam("{} is {}, which is not device memory, but the kind is {}", name, address,
                        kind);
  }
  if (side == Side::kHost && device) {
    return InvalidParam("{} is {}, which is memory of device {}, but the kind is {}", name, address,
                        info.device, kind);
  }
  if (!known && IsReserved(address)) {
    return InvalidParam("{} is {}, an address of aclrtReserveMemAddress where no memory is mapped",
                        name, address);
  }
  *place = {const_cast<void*>(address), -1};
  if (!known) return {};
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  if (bytes > info.size - offset) {
    return InvalidParam("{} bytes at {} {} leave its allocation of {} bytes, which ends after {}",
                        bytes, name, address, info.size, info.size - offset);
  }
  *place = {static_cast<char*>(info.kernel_base) + offset, device ? info.device : -1};
  return {};
}

// Counts the bytes from the first byte to the last byte of a rectangle.
base::Status Extent(size_t pitch, size_t width, size_t height, const char* name, size_t* bytes) {
  if (height > 1 && pitch < width) {
    return InvalidParam("{} is {}, wanted at least the width {}", name, pitch, width);
  }
  size_t before_last = 0;
  if (!base::CheckedMul(height - 1, pitch, &before_last) ||
      !base::CheckedAdd(before_last, width, bytes)) {
    return InvalidParam("{} rows of {} {} bytes are more than an address space", height, name,
                        pitch);
  }
  return {};
}

// Returns true if both rectangles overlap. Rows with equal pitches and different columns do not.
bool Overlap(const CopyJob& job, size_t dst_bytes, size_t src_bytes) {
  const auto dst = reinterpret_cast<uintptr_t>(job.dst);
  const auto src = reinterpret_cast<uintptr_t>(job.src);
  if (dst >= src + src_bytes || src >= dst + dst_bytes) return false;
  if (job.height == 1 || job.dst_pitch != job.src_pitch) return true;
  const size_t column = (dst > src ? dst - src : src - dst) % job.dst_pitch;
  return column < job.width || job.dst_pitch - column < job.width;
}

base::Status Check(const CopyRequest& request, CopyJob* job) {
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  if (request.kind < 0 || request.kind >= static_cast<int32_t>(std::size(kDirections))) {
    return InvalidParam("kind is {}, which is no aclrtMemcpyKind", request.kind);
  }
  const Direction& direction = kDirections[request.kind];
  *job = {nullptr,       nullptr,        request.dst_pitch, request.src_pitch,
          request.width, request.height, direction.name};
  if (request.width == 0 || request.height == 0) return {};
  size_t dst_bytes = 0;
  size_t src_bytes = 0;
  PORTACL_RETURN_IF_ERROR(
      Extent(request.dst_pitch, request.width, request.height, "dpitch", &dst_bytes));
  PORTACL_RETURN_IF_ERROR(
      Extent(request.src_pitch, request.width, request.height, "spitch", &src_bytes));
  Place dst;
  Place src;
  PORTACL_RETURN_IF_ERROR(
      Locate(request.dst, dst_bytes, direction.dst, "dst", direction.name, &dst));
  PORTACL_RETURN_IF_ERROR(
      Locate(request.src, src_bytes, direction.src, "src", direction.name, &src));
  job->dst = static_cast<char*>(dst.address);
  job->src = static_cast<const char*>(src.address);
  if (request.kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE && dst.device != src.device) {
    return InvalidParam("dst is on device {} and src on device {}, but the kind is {}", dst.device,
                        src.device, direction.name);
  }
  if (Overlap(*job, dst_bytes, src_bytes)) {
    return InvalidParam("{} bytes at dst {} and {} bytes at src {} overlap", dst_bytes, request.dst,
                        src_bytes, request.src);
  }
  return {};
}

void RunCopy(const CopyJob& job) {
  if (job.width == 0 || job.height == 0) return;
  if (job.height == 1) {
    ParallelFor(static_cast<int64_t>(job.width), kGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(job.dst + begin, job.src + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  const size_t rows = std::max<size_t>(1, kGrain / job.width);
  ParallelFor(static_cast<int64_t>(job.height), static_cast<int64_t>(rows),
              [&](int64_t begin, int64_t end) {
                for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
                  std::memcpy(job.dst + row * job.dst_pitch, job.src + row * job.src_pitch,
                              job.width);
                }
              });
}

struct FillJob {
  char* dst = nullptr;
  unsigned char value = 0;
  size_t count = 0;
};

base::Status Check(const FillRequest& request, FillJob* job) {
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  if (request.count > request.room) {
    return InvalidParam("count is {}, but maxCount only {}", request.count, request.room);
  }
  *job = {nullptr, static_cast<unsigned char>(request.value & 0xFF), request.count};
  if (request.count == 0) return {};
  Place dst;
  PORTACL_RETURN_IF_ERROR(Locate(request.dst, request.count, Side::kAny, "devPtr", "", &dst));
  job->dst = static_cast<char*>(dst.address);
  return {};
}

void RunFill(const FillJob& job) {
  ParallelFor(static_cast<int64_t>(job.count), kGrain, [&](int64_t begin, int64_t end) {
    std::memset(job.dst + begin, job.value, static_cast<size_t>(end - begin));
  });
}

// Lists a copy's accesses, also to host memory, because two streams may copy to the same place.
std::vector<MemoryAccess> AccessesOf(const CopyJob& job) {
  if (job.width == 0 || job.height == 0) return {};
  const auto access = [&](const char* name, const void* address, size_t pitch, bool write) {
    return MemoryAccess{name, reinterpret_cast<uintptr_t>(address),
                        (job.height - 1) * pitch + job.width, write,
                        job.height == 1 || pitch == job.width};
  };
  return {access("src", job.src, job.src_pitch, false),
          access("dst", job.dst, job.dst_pitch, true)};
}

std::vector<MemoryAccess> AccessesOf(const FillJob& job) {
  return {{"devPtr", reinterpret_cast<uintptr_t>(job.dst), job.count, true}};
}

Work MakeWork(const char* name, const char* category, size_t bytes, const char* kind) {
  Work work;
  work.name = name;
  work.category = category;
  work.small = bytes <= kSmall;
  if (TraceEnabled()) work.detail = fmt::format("{} bytes {}", bytes, kind);
  return work;
}

}  // namespace

base::Status MakeCopyRequest(void* dst, size_t room, const void* src, size_t count, int32_t kind,
                             CopyRequest* request) {
  if (count > room) return InvalidParam("count is {}, but destMax only {}", count, room);
  *request = {dst, src, count, count, count, 1, kind};
  return {};
}

base::Status CheckCopy(const CopyRequest& request) {
  CopyJob job;
  return Check(request, &job);
}

base::Status Copy(const CopyRequest& request) {
  CopyJob job;
  PORTACL_RETURN_IF_ERROR(RefuseUnsafeCall());
  PORTACL_RETURN_IF_ERROR(Check(request, &job));
  if (LazyEnabled()) NoteHostAccess("a copy", AccessesOf(job));
  RunCopy(job);
  return {};
}

namespace {

base::Status MakeCopyWork(const CopyRequest& request, Work* work) {
  CopyJob job;
  PORTACL_RETURN_IF_ERROR(Check(request, &job));
  *work = MakeWork("copy", "copy", job.width * job.height, job.kind);
  std::shared_ptr<Scratch> buffer;
  if (request.kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE && job.width * job.height > 0) {
    // Copies the source now, because the caller may change it as soon as this call returns.
    buffer = std::make_shared<Scratch>(job.width * job.height);
    if (buffer->data() == nullptr) {
      return Error(ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for a buffer of {} bytes",
                   job.width * job.height);
    }
    CopyJob fetch = job;
    fetch.dst = static_cast<char*>(buffer->data());
    fetch.dst_pitch = job.width;
    RunCopy(fetch);
    job.src = fetch.dst;
    job.src_pitch = job.width;
  }
  if (AccessesWanted()) work->accesses = AccessesOf(job);
  if (buffer != nullptr)
    std::erase_if(work->accesses, [](const auto& access) { return !access.write; });
  work->run = [job, buffer = std::move(buffer)] {
    RunCopy(job);
    return base::Status();
  };
  return {};
}

}  // namespace

base::Status CopyAsync(const CopyRequest& request, void* stream) {
  Work work;
  PORTACL_RETURN_IF_ERROR(MakeCopyWork(request, &work));
  return Launch(stream, std::move(work));
}

base::Status CopyAllAsync(const std::vector<CopyRequest>& requests, void* stream) {
  std::list<Work> all;
  for (const CopyRequest& request : requests) {
    PORTACL_RETURN_IF_ERROR(MakeCopyWork(request, &all.emplace_back()));
  }
  return LaunchAll(stream, std::move(all));
}

base::Status Fill(const FillRequest& request) {
  FillJob job;
  PORTACL_RETURN_IF_ERROR(RefuseUnsafeCall());
  PORTACL_RETURN_IF_ERROR(Check(request, &job));
  if (LazyEnabled()) NoteHostAccess("a fill", AccessesOf(job));
  RunFill(job);
  return {};
}

base::Status FillAsync(const FillRequest& request, void* stream) {
  FillJob job;
  PORTACL_RETURN_IF_ERROR(Check(request, &job));
  Work work = MakeWork("memset", "memset", job.count, "");
  if (AccessesWanted()) work.accesses = AccessesOf(job);
  work.run = [job] {
    RunFill(job);
    return base::Status();
  };
  return Launch(stream, std::move(work));
}

}  // namespace portacl::runtime
