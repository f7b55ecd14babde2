// Where canaries lie, and the handler of faults behind read-only pages.
#include "tools/testing/fenced_memory.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace portacl::golden {
namespace {

constexpr size_t kCanaries = 16 * 1024;  // on each side at least

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Changes from byte to byte, so that neither a run of equal bytes nor a copy of the neighbours
// passes for it.
std::byte CanaryAt(size_t i) { return static_cast<std::byte>(0xA5 ^ (i * 37) ^ (i >> 8)); }

// ---- Read-only pages: what the handler reads, which may be on any thread. -----------------------

struct Guarded {
  std::atomic<uintptr_t> begin{0}, end{0};  // whole pages; 0: none
  uintptr_t data = 0;
  std::atomic<uintptr_t> first_write{0};
};
constexpr size_t kMostGuarded = 16;
std::array<Guarded, kMostGuarded> guarded;
struct sigaction previous;

void SetAccess(const Guarded& pages, int access) {
  const uintptr_t begin = pages.begin, end = pages.end;
  if (begin != 0) mprotect(reinterpret_cast<void*>(begin), end - begin, access);
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Guarded& pages : guarded) {
    if (address < pages.begin || address >= pages.end) continue;
    uintptr_t none = 0;
    pages.first_write.compare_exchange_strong(none, address);
    SetAccess(pages, PROT_READ | PROT_WRITE);  // the instruction is tried again
    return;
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    sigaction(SIGSEGV, &previous, nullptr);  // and ends the process
  }
}

// Whether this process has read and write access to all of [begin, end) as to its own memory.
bool IsOwnMemory(uintptr_t begin, uintptr_t end) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line) && begin < end;) {
    uintptr_t from = 0, to = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) != 3) continue;
    if (begin < from || begin >= to) continue;
    if (std::strncmp(access, "rw", 2) != 0 || line.find("/dev/") != std::string::npos) return false;
    begin = to;
  }
  return begin >= end;
}

bool IsGuardMode() {
  const char* const guard = std::getenv("PORTACL_GUARD");
  return guard != nullptr && *guard != '\0' && std::strcmp(guard, "0") != 0;
}

}  // namespace

size_t FencedBytes(size_t size) {
  const size_t page = PageSize();
  return kCanaries + page + RoundUp(std::max<size_t>(size, 1), page) + kCanaries;
}

Fence FenceIn(void* memory, size_t size) {
  const size_t page = PageSize();
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t data = RoundUp(begin + kCanaries, page);
  const size_t pages = RoundUp(std::max<size_t>(size, 1), page);
  return {static_cast<std::byte*>(memory) + (data - begin), size, kCanaries,
          pages - size + kCanaries};
}

std::vector<std::byte> Canaries(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = CanaryAt(i);
  return bytes;
}

std::string DescribeBroken(const Fence& fence, const std::vector<std::byte>& before,
                           const std::vector<std::byte>& after) {
  std::string text;
  const auto broken = [](const std::vector<std::byte>& bytes, size_t i) {
    return bytes[i] != CanaryAt(i);
  };
  // From the first to the last: what was written between may be what was there.
  size_t first = 0, count = 0;
  const auto look = [&](const std::vector<std::byte>& bytes) {
    first = bytes.size();
    count = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!broken(bytes, i)) continue;
      first = std::min(first, i);
      count = i - first + 1;
    }
  };
  look(before);
  if (count > 0) {
    text = fmt::format("was written before its beginning: {} byte{}, the first is byte -{}", count,
                       count == 1 ? "" : "s", before.size() - first);
  }
  look(after);
  if (count > 0) {
    text += fmt::format("{}was written past its end: {} byte{}, the first is byte {} of {}",
                        text.empty() ? "" : " and ", count, count == 1 ? "" : "s",
                        fence.size + first, fence.size);
  }
  return text;
}

ReadOnlyMemory::ReadOnlyMemory(const std::vector<Fence>& fences) {
  if (IsGuardMode()) return;
  const size_t page = PageSize();
  for (size_t i = 0; i < fences.size() && i < kMostGuarded; ++i) {
    const auto data = reinterpret_cast<uintptr_t>(fences[i].data);
    const uintptr_t end = data + RoundUp(fences[i].size, page);
    if (fences[i].size == 0 || !IsOwnMemory(data, end)) continue;
    guarded[i].data = data;
    guarded[i].first_write = 0;
    guarded[i].end = end;
    guarded[i].begin = data;
  }
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
  for (const Guarded& pages : guarded) SetAccess(pages, PROT_READ);
}

ReadOnlyMemory::~ReadOnlyMemory() {
  if (IsGuardMode()) return;
  for (Guarded& pages : guarded) {
    SetAccess(pages, PROT_READ | PROT_WRITE);
    pages.begin = pages.end = 0;
    pages.first_write = 0;
  }
  sigaction(SIGSEGV, &previous, nullptr);
}

std::optional<int64_t> ReadOnlyMemory::FirstWrite(size_t i) const {
  if (i >= kMostGuarded || guarded[i].first_write == 0) return std::nullopt;
  return static_cast<int64_t>(guarded[i].first_write - guarded[i].data);
}

}  // namespace portacl::golden
