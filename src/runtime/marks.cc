// The open ranges.
#include "runtime/marks.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/stream.h"
#include "runtime/trace.h"

namespace portacl::runtime {
namespace {

struct Range {
  std::string text;
  TraceTime begin;
};

struct Ranges {
  std::mutex mutex;
  uint32_t next = 1;
  std::map<uint32_t, Range> open;
};

Ranges& TheRanges() {
  static Ranges* const ranges = new Ranges;  // leaked on purpose, see context.cc
  return *ranges;
}

std::vector<Range>& ThreadsRanges() {
  thread_local std::vector<Range> ranges;
  return ranges;
}

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

void PushRange(std::string text) { ThreadsRanges().push_back({std::move(text), Now()}); }

bool PopRange() {
  std::vector<Range>& ranges = ThreadsRanges();
  if (ranges.empty()) return false;
  AddRange(ranges.back());
  ranges.pop_back();
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
