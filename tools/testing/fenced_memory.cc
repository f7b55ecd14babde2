// Where canaries lie, and the handler of faults behind watched pages.
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

// The pattern changes from byte to byte. So a run of equal bytes, or a copy of neighbouring bytes,
// differs from it.
std::byte CanaryAt(Canary canary, size_t i) {
  if (canary == Canary::kNaN) return std::byte{0xFF};
  if (canary == Canary::kZero) return std::byte{0};
  return static_cast<std::byte>(0xA5 ^ (i * 37) ^ (i >> 8));
}

std::vector<std::byte> Canaries(const Fence& fence, size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = CanaryAt(fence.canary, i);
  return bytes;
}

// ---- Watched pages: data of the handler, which may be on any thread. ----------------------------

struct Watched {
  std::atomic<uintptr_t> begin{0}, end{0};  // whole pages; 0: none
  std::atomic<uintptr_t> first{0};          // address of the first access that was stopped
};
constexpr size_t kMostFences = 16;
// Of each fence: the pages before it, the data, the pages after it.
struct WatchedFence {
  Watched before, data, after;
  uintptr_t address = 0;  // of the data
};
std::array<WatchedFence, kMostFences> watched;
std::atomic<size_t> watched_count{0};
struct sigaction previous;

void SetAccess(const Watched& pages, int access) {
  const uintptr_t begin = pages.begin, end = pages.end;
  if (begin < end) mprotect(reinterpret_cast<void*>(begin), end - begin, access);
}

void Watch(Watched& pages, uintptr_t begin, uintptr_t end, int access) {
  pages.first = 0;
  pages.end = end;
  pages.begin = begin;
  SetAccess(pages, access);
}

void Forget(Watched& pages) {
  SetAccess(pages, PROT_READ | PROT_WRITE);
  pages.begin = pages.end = 0;
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (size_t i = 0; i < watched_count; ++i) {
    for (Watched* const pages : {&watched[i].before, &watched[i].data, &watched[i].after}) {
      if (address < pages->begin || address >= pages->end) continue;
      uintptr_t none = 0;
      pages->first.compare_exchange_strong(none, address);
      SetAccess(*pages, PROT_READ | PROT_WRITE);  // the instruction is tried again
      return;
    }
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    sigaction(SIGSEGV, &previous, nullptr);  // and ends the process
  }
}

std::optional<int64_t> FirstIn(const Watched& pages, uintptr_t data) {
  if (pages.first == 0) return std::nullopt;
  return static_cast<int64_t>(pages.first - data);
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

Fence FenceIn(void* memory, size_t size, Edge edge, size_t alignment, Canary canary) {
  const size_t page = PageSize();
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = RoundUp(begin + kCanaries, page);
  const size_t pages = RoundUp(std::max<size_t>(size, 1), page);
  const size_t skipped = edge == Edge::kEnd ? (pages - size) / alignment * alignment : 0;
  const uintptr_t data = first + skipped;
  return {static_cast<std::byte*>(memory) + (data - begin), size, kCanaries + skipped,
          pages - skipped - size + kCanaries, canary};
}

std::vector<std::byte> CanariesBefore(const Fence& fence) { return Canaries(fence, fence.before); }
std::vector<std::byte> CanariesAfter(const Fence& fence) { return Canaries(fence, fence.after); }

std::string DescribeBroken(const Fence& fence, const std::vector<std::byte>& before,
                           const std::vector<std::byte>& after) {
  std::string text;
  const auto broken = [&](const std::vector<std::byte>& bytes, size_t i) {
    return bytes[i] != CanaryAt(fence.canary, i);
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

bool CanBeWatched(const void* data, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  return !IsGuardMode() && IsOwnMemory(begin, begin + size);
}

WatchedMemory::WatchedMemory(const std::vector<Fence>& fences, bool sides, bool can_be_watched) {
  if (!can_be_watched || fences.empty()) return;
  const size_t page = PageSize(), count = std::min(fences.size(), kMostFences);
  for (size_t i = 0; i < count; ++i) {
    watched[i].address = reinterpret_cast<uintptr_t>(fences[i].data);
    for (Watched* const pages : {&watched[i].before, &watched[i].data, &watched[i].after}) {
      pages->first = 0;
    }
  }
  watched_count = count;
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
  for (size_t i = 0; i < count; ++i) {
    const Fence& fence = fences[i];
    const uintptr_t data = watched[i].address, end = data + fence.size;
    sizes_.push_back(fence.size);
    if (data == 0 || !sides) continue;
    Watch(watched[i].before, RoundUp(data - fence.before, page), data / page * page, PROT_NONE);
    Watch(watched[i].after, RoundUp(end, page), (end + fence.after) / page * page, PROT_NONE);
  }
}

WatchedMemory::~WatchedMemory() {
  const size_t count = watched_count;
  if (count == 0) return;
  for (size_t i = 0; i < count; ++i) {
    for (Watched* const pages : {&watched[i].before, &watched[i].data, &watched[i].after}) {
      Forget(*pages);
    }
  }
  watched_count = 0;
  sigaction(SIGSEGV, &previous, nullptr);
}

void WatchedMemory::Freeze(size_t count) {
  const size_t page = PageSize();
  for (size_t i = 0; i < std::min<size_t>(count, watched_count); ++i) {
    const uintptr_t data = watched[i].address, end = data + sizes_[i];
    if (sizes_[i] == 0) continue;
    Watch(watched[i].data, data / page * page, RoundUp(end, page), PROT_READ);
  }
}

std::optional<int64_t> WatchedMemory::FirstWrite(size_t i) const {
  if (i >= watched_count) return std::nullopt;
  return FirstIn(watched[i].data, watched[i].address);
}

std::optional<int64_t> WatchedMemory::FirstTouchBefore(size_t i) const {
  if (i >= watched_count) return std::nullopt;
  return FirstIn(watched[i].before, watched[i].address);
}

std::optional<int64_t> WatchedMemory::FirstTouchAfter(size_t i) const {
  if (i >= watched_count) return std::nullopt;
  return FirstIn(watched[i].after, watched[i].address);
}

}  // namespace portacl::golden
