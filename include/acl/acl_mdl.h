/**
 * @file
 * Captured streams: a stream's work is recorded instead of run, and can be replayed many times with
 * the recorded addresses. Also dumps, which portacl does not have.
 *
 * A capture begins and ends on one stream, and records the work enqueued there. Another stream
 * joins the capture if it waits for an event that the capture recorded. Before the end, the first
 * stream must wait for an event behind the other stream's last work.
 *
 * Errors, beside acl_rt.h's:
 *   107024  a captured stream waits for an event that the capture has not recorded
 *   107025  the capture ended with work on another stream that was not joined
 *   107026  a capture's object is used before the capture has ended
 *   107027  the stream is captured: it cannot be synchronised with, asked or destroyed
 *   107028  the event was recorded by a capture that goes on: it cannot be waited for on the host
 *   107029  the stream is not captured
 *   107030  the call is not allowed while a stream is captured, in the capture's mode
 *   107036  the capture was begun on another stream
 *
 * Thread-safety: all functions may be called from any thread.
 */
#ifndef PORTACL_ACL_ACL_MDL_H_
#define PORTACL_ACL_ACL_MDL_H_

#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of captured work. */
typedef void* aclmdlRI;

/** Handle of a group of tasks in captured work. */
typedef void* aclrtTaskGrp;

/**
 * Which threads may make calls that do not go through a stream (aclrtMemcpy(), aclrtMemcpy2d(),
 * aclrtMemset(), aclrtMemcpyBatch(), aclrtSynchronizeDevice()) while a capture goes on.
 */
typedef enum aclmdlRICaptureMode {
  ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,       /**< no thread */
  ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1, /**< every thread except the thread that began it */
  ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2       /**< every thread */
} aclmdlRICaptureMode;

/** Whether a stream is captured. */
typedef enum aclmdlRICaptureStatus {
  ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
  ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
  ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2 /**< it lost a stream; it can only be ended */
} aclmdlRICaptureStatus;

/** Begins to record the work enqueued on a stream; not on the default stream. */
PORTACL_API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/** Returns if a stream is captured, and by which capture (null if it is not). */
PORTACL_API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status,
                                            aclmdlRI* modelRI);

/**
 * Ends the capture that began on this stream.
 * @param[out] modelRI the recorded work, to be freed with aclmdlRIDestroy(); null on failure.
 */
PORTACL_API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI);

/** Exchanges this thread's mode and *mode; in mode RELAXED the thread may make all calls. */
PORTACL_API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode);

/** Enqueues recorded work on a stream, in the order of the capture. */
PORTACL_API aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/** Frees recorded work. Work that is enqueued already still runs. */
PORTACL_API aclError aclmdlRIDestroy(aclmdlRI modelRI);

/** Writes the recorded tasks to the log. */
PORTACL_API aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

/** Writes the recorded tasks to a file, as a JSON array. */
PORTACL_API aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path);

/** Begins a group of a captured stream's tasks; the group can be changed later. */
PORTACL_API aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);

/** Ends a group. @param[out] handle lives as long as the recorded work. */
PORTACL_API aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle);

/** From here on, work enqueued on this stream replaces a group's tasks, and does not run. */
PORTACL_API aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle);

/** Ends a change. 107000 if the number of tasks differs: the group then stays as it was. */
PORTACL_API aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/** Prepares dumps of tensors: 200001. */
PORTACL_API aclError aclmdlInitDump(void);

/** Sets the contents of a dump: 200001. */
PORTACL_API aclError aclmdlSetDump(const char* dumpCfgPath);

/** Ends dumps: 200001. */
PORTACL_API aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_MDL_H_
