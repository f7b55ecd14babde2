// Captured streams: their tasks are recorded instead of run, and replayed as often as wanted.
//
// All streams of a capture share one list of steps, in the order of the calls. A wait is called
// after the record that it waits for. So the list has every order that the events demand: one
// stream replays it, and events need no steps.
#ifndef PORTACL_RUNTIME_CAPTURE_H_
#define PORTACL_RUNTIME_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/capture_rules.h"
#include "runtime/stream_queue.h"

namespace portacl::runtime {

enum class CaptureState : int32_t { kNone = 0, kActive = 1, kInvalidated = 2 };

class Capture;

// A record of an event in a capture: the work of the capture's streams that was before it.
struct CapturedRecord;

base::Status BeginCapture(void* stream, CaptureMode mode);
base::Status EndCapture(void* stream, void** graph);

// *graph: null if the stream is not captured.
base::Status GetCaptureInfo(void* stream, CaptureState* state, void** graph);

base::Status ReplayGraph(void* graph, void* stream);
base::Status DestroyGraph(void* graph);

// A line per step: name, category and details of its task; and the same as a JSON array.
base::Status DescribeGraph(void* graph, std::string* lines, std::string* json);

base::Status BeginTaskGroup(void* stream);
base::Status EndTaskGroup(void* stream, void** group);
base::Status BeginTaskUpdate(void* stream, void* group);
base::Status EndTaskUpdate(void* stream);

// ---- For events. -------------------------------------------------------------------------------

// The record of an event on a stream now; null if the stream is not captured.
base::Status RecordInCapture(Stream& stream, std::shared_ptr<const CapturedRecord>* record);

// Whether the capture of a record goes on.
bool IsCapturing(const std::shared_ptr<const CapturedRecord>& record);

// The stream's later work is after the record; joins the stream to the capture if need be.
base::Status WaitInCapture(const std::shared_ptr<Stream>& stream,
                           const std::shared_ptr<const CapturedRecord>& record);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CAPTURE_H_
