// PORTACL_TRACE=file.json: a timeline of streams, kernels, copies and events in Chrome's trace
// format (chrome://tracing, ui.perfetto.dev). Each device is a process of the timeline, each stream
// a row. Calls on host threads (plans) have rows in another process of the timeline.
#ifndef PORTACL_RUNTIME_TRACE_H_
#define PORTACL_RUNTIME_TRACE_H_

#include <chrono>
#include <cstdint>
#include <string_view>

namespace portacl::runtime {

using TraceTime = std::chrono::steady_clock::time_point;

struct TraceRow {
  int32_t device = -1;  // -1: the row of the calling host thread
  int32_t stream = 0;
};

struct TraceSpan {
  const char* category = "";
  const char* name = "";
  std::string_view detail;  // shown as an argument; may be empty
  TraceTime begin;
  TraceTime end;
};

// Cheap. Ask it before you take times or build details.
bool TraceEnabled() noexcept;

void AddTraceSpan(const TraceRow& row, const TraceSpan& span) noexcept;

// The beginning of an arrow on the timeline: a moment of a host thread.
struct TraceOrigin {
  int64_t thread = 0;  // 0: not traced
  TraceTime at;
};
TraceOrigin TraceHere() noexcept;

// Draws an arrow to a span that begins at `at`.
void AddTraceArrow(const TraceOrigin& from, const TraceRow& row, TraceTime at) noexcept;

// Writes the buffered entries. The file is complete JSON after every write, so a process may end in
// any way. Entries since the last write are lost if exit handlers do not run.
void FlushTrace();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_TRACE_H_
