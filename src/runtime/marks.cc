// Keeps the open ranges.
#include "runtime/marks.h"

#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/per_thread.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace portacl::runtime {
namespace {

struct Range {
  std::string text;
  TraceTime begin;
};

struct Ranges {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  uint32_t next = 1;
  std::map<uint32_t, Range> open;
};

Ranges& TheRanges() {
  static constinit base::Immortal<Ranges> ranges;
  return ranges.Get();
}

// Returns null if there is no memory.
std::vector<Range>* ThreadsRanges() { return base::PerThread<std::vector<Range>>::Get(); }

TraceTime Now() { return std::chrono::steady_clock::now(); }

void AddRange(const Range& range) {
  if (!TraceEnabled()) return;
  AddTraceSpan({}, {"user", "range", range.text, range.begin, Now()});
}

}  // namespace

void Mark(const std::string& text) {
  if (!TraceEnabled()) return;
  const TraceTime now = Now();
  AddTraceSpan({}, {"user", "mark", text, now, now});
}

base::Status MarkStream(const std::string& text, void* stream) {
  Work work;
  work.name = "mark";
  work.category = "user";
  work.small = true;
  work.detail = text;
  work.run = [] { return base::Status(); };
  return Launch(stream, std::move(work));
}

void PushRange(std::string text) {
  std::vector<Range>* const ranges = ThreadsRanges();
  if (ranges == nullptr) throw std::bad_alloc();
  ranges->push_back({std::move(text), Now()});
}

bool PopRange() {
  std::vector<Range>* const ranges = ThreadsRanges();
  if (ranges == nullptr || ranges->empty()) return false;
  AddRange(ranges->back());
  ranges->pop_back();
  return true;
}

uint32_t StartRange(std::string text) {
  Ranges& ranges = TheRanges();
  const std::lock_guard lock(ranges.mutex);
  ranges.open.emplace(ranges.next, Range{std::move(text), Now()});
  return ranges.next++;
}

bool StopRange(uint32_t range) {
  Ranges& ranges = TheRanges();
  Range ended;
  {
    const std::lock_guard lock(ranges.mutex);
    const auto found = ranges.open.find(range);
    if (found == ranges.open.end()) return false;
    ended = std::move(found->second);
    ranges.open.erase(found);
  }
  AddRange(ended);
  return true;
}

}  // namespace portacl::runtime
