// Captured streams: their tasks are recorded instead of run, and can be replayed many times.
//
// All streams of a capture share one list of steps, in the order of the calls. A wait is called
// after the record that it waits for. So the list's order fulfils all events: one stream replays
// the list, and events need no steps.
#ifndef PORTACL_RUNTIME_CAPTURE_H_
#define PORTACL_RUNTIME_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/capture_rules.h"
#include "runtime/stream.h"

namespace portacl::runtime {

enum class CaptureState : int32_t { kNone = 0, kActive = 1, kInvalidated = 2 };

class Capture;

// The record of an event in a capture: which work of the capture's streams comes before the record.
struct CapturedRecord;

base::Status BeginCapture(void* stream, CaptureMode mode);
base::Status EndCapture(void* stream, void** graph);

// Sets *graph to null if the stream is not captured.
base::Status GetCaptureInfo(void* stream, CaptureState* state, void** graph);

base::Status ReplayGraph(void* graph, void* stream);
base::Status DestroyGraph(void* graph);

// `lines` gets a line per step: name, category and details of its task. `json` gets the same.
base::Status DescribeGraph(void* graph, std::string* lines, std::string* json);

base::Status BeginTaskGroup(void* stream);
base::Status EndTaskGroup(void* stream, void** group);
base::Status BeginTaskUpdate(void* stream, void* group);
base::Status EndTaskUpdate(void* stream);

// ---- for events --------------------------------------------------------------------------------

// Records an event on a captured stream. *record is null if the stream is not captured.
base::Status RecordInCapture(Stream& stream, std::shared_ptr<const CapturedRecord>* record);

// Returns true while the record's capture goes on.
bool IsCapturing(const std::shared_ptr<const CapturedRecord>& record);

// Orders the stream's later work after the record. Joins the stream to the capture if needed.
base::Status WaitInCapture(const std::shared_ptr<Stream>& stream,
                           const std::shared_ptr<const CapturedRecord>& record);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CAPTURE_H_
