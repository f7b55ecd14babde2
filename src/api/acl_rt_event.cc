// acl_rt.h, acl_rt_stream.h: events.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"
#include "runtime/event.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::Question;
using portacl::base::Status;

namespace {

constexpr uint32_t kAllFlags =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;

// Answers one of the three queries, which differ in the question and in the names of the answers.
template <class Answer>
aclError Query(aclrtEvent event, Answer* status, Status (*ask)(void*, bool*), Answer complete,
               Answer not_ready) {
  return Question([&]() -> Status {
    if (status == nullptr) return rt::InvalidParam("status is null");
    bool over = false;
    PORTACL_RETURN_IF_ERROR(ask(event, &over));
    *status = over ? complete : not_ready;
    return {};
  });
}

}  // namespace

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return Guarded(__func__, [&] { return rt::CreateEvent(kAllFlags, event); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return Guarded(__func__, [&] { return rt::CreateEvent(flag, event); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return Guarded(__func__, [&] { return rt::CreateEvent(flag, event); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return Guarded(__func__, [&] { return rt::DestroyEvent(event); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::RecordEvent(event, stream); });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::ResetEvent(event, stream); });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Guarded(__func__, [&] { return rt::StreamWaitEvent(stream, event); });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return Query(event, status, rt::QueryEventRecorded, ACL_EVENT_STATUS_COMPLETE,
               ACL_EVENT_STATUS_NOT_READY);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return Query(event, status, rt::QueryEventRecorded, ACL_EVENT_RECORDED_STATUS_COMPLETE,
               ACL_EVENT_RECORDED_STATUS_NOT_READY);
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return Query(event, status, rt::QueryEventWaited, ACL_EVENT_WAIT_STATUS_COMPLETE,
               ACL_EVENT_WAIT_STATUS_NOT_READY);
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Guarded(__func__, [&] { return rt::SynchronizeEvent(event, rt::DeadlineAfter(-1)); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckTimeout(timeout));
    return rt::SynchronizeEvent(event, rt::DeadlineAfter(timeout));
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return Guarded(__func__, [&] { return rt::EventElapsedTime(startEvent, endEvent, ms); });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return Guarded(__func__, [&] { return rt::EventTimestamp(event, timestamp); });
}

}  // extern "C"
