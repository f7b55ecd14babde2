/**
 * @file
 * The runtime: devices, contexts, memory, streams, events and callbacks.
 *
 * How the pieces fit: aclrtSetDevice() makes a device and its default context current on this
 * thread. Streams and events belong to the context that was current when they were created. Work
 * on one stream runs in the order it was enqueued; work on different streams is unordered, except
 * where an event orders it. A null stream means the current context's default stream.
 *
 * Errors. Every function returns ACL_SUCCESS or a code. These codes hold everywhere:
 *   107000  null output pointer, or an argument outside its range
 *   107001  a device id that no device has
 *   107002  a context is needed and none is current on this thread
 *   107003  the stream belongs to another context than the current one
 *   107017  a stream, event or context that was never created or is already destroyed
 *   200000  the host has no memory for the call itself (functions that give memory: 207001)
 *   200001  a function that needs the vendor's hardware
 *   207000  an option that this device does not have
 *   207005  the system makes no more threads
 * A failed call changes nothing. aclGetRecentErrMsg() (acl.h) has the words.
 *
 * Thread-safety: all functions may be called from any thread at the same time. A handle must not be
 * destroyed while another thread passes it to a function. The current device, the current context
 * and the last error are per thread.
 */
#ifndef PORTACL_ACL_ACL_RT_H_
#define PORTACL_ACL_ACL_RT_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Flags of aclrtCreateEventWithFlag() and aclrtCreateEventExWithFlag(); may be or-ed.
 * @{
 */
#define ACL_EVENT_SYNC 1u                    /**< for ordering streams */
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 2u /**< for asking how far a stream has got */
#define ACL_EVENT_TIME_LINE 8u               /**< for aclrtEventElapsedTime() */
#define ACL_EVENT_EXTERNAL 0x20u             /**< 200001: not here */
#define ACL_EVENT_IPC 0x40u                  /**< works in this process like any other event */
/** @} */

/**
 * @name Flags of aclrtCreateStreamWithConfig(); may be or-ed.
 * @{
 */
#define ACL_STREAM_FAST_LAUNCH 1u
#define ACL_STREAM_FAST_SYNC 2u
#define ACL_STREAM_PERSISTENT 4u
#define ACL_STREAM_HUGE 8u
#define ACL_STREAM_CPU_SCHEDULE 16u
/** @} */

/**
 * @name Modes of aclrtSetStreamFailureMode()
 * @{
 */
#define ACL_CONTINUE_ON_FAILURE 0u /**< default: later work runs after a task failed */
#define ACL_STOP_ON_FAILURE 1u     /**< later work is dropped after a task failed */
/** @} */

/** Where the program itself runs. */
typedef enum aclrtRunMode {
  ACL_DEVICE = 0,
  ACL_HOST = 1 /**< on a host that drives devices */
} aclrtRunMode;

/** Answer of aclrtQueryEvent(). */
typedef enum aclrtEventStatus {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

/** Answer of aclrtQueryEventStatus(). */
typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

/** Answer of aclrtQueryEventWaitStatus(). */
typedef enum aclrtEventWaitStatus {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF
} aclrtEventWaitStatus;

/** Answer of aclrtStreamQuery(). */
typedef enum aclrtStreamStatus {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xFFFF
} aclrtStreamStatus;

/** Whether a stream waits for a callback. */
typedef enum aclrtCallbackBlockType {
  ACL_CALLBACK_NO_BLOCK = 0, /**< later work may start before the callback has returned */
  ACL_CALLBACK_BLOCK = 1     /**< later work starts after the callback has returned */
} aclrtCallbackBlockType;

/** Direction of a copy. */
typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4, /**< the addresses decide */
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6, /**< both on one device */
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7  /**< between two devices */
} aclrtMemcpyKind;

/**
 * The memory that aclrtMalloc() should prefer. The first group are numbers, the second group are
 * bits to be or-ed to a number. In portacl all policies give the same kind of memory.
 */
typedef enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,

  ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
  ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

/** The pool that aclrtGetMemInfo() is asked about. */
typedef enum aclrtMemAttr {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5,
  ACL_DDR_MEM_P2P_HUGE = 6,
  ACL_DDR_MEM_P2P_NORMAL = 7,
  ACL_HBM_MEM_P2P_HUGE = 8,
  ACL_HBM_MEM_P2P_NORMAL = 9,
  ACL_HBM_MEM_HUGE1G = 10,
  ACL_HBM_MEM_P2P_HUGE1G = 11
} aclrtMemAttr;

/** The side that an address belongs to. */
typedef enum aclrtMemLocationType {
  ACL_MEM_LOCATION_TYPE_HOST = 0,
  ACL_MEM_LOCATION_TYPE_DEVICE = 1,
  ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2 /**< the library does not know this memory */
} aclrtMemLocationType;

/** Place of a piece of memory. */
typedef struct aclrtMemLocation {
  uint32_t id; /**< device id; without meaning for host memory */
  aclrtMemLocationType type;
} aclrtMemLocation;

/** What aclrtPointerGetAttributes() returns about an address. */
typedef struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize; /**< bytes */
  uint32_t rsv[4];   /**< reserved */
} aclrtPtrAttributes;

/** The last error that aclrtPeekAtLastError() and aclrtGetLastError() report. */
typedef enum aclrtLastErrLevel {
  ACL_RT_THREAD_LEVEL = 0 /**< of the calling thread */
} aclrtLastErrLevel;

/** A callback of aclrtLaunchCallback(); runs on the thread that calls aclrtProcessReport(). */
typedef void (*aclrtCallback)(void* userData);

/** A function of aclrtLaunchHostFunc(); runs on a thread of the library. */
typedef void (*aclrtHostFunc)(void* args);

/* ---- Devices and contexts ------------------------------------------------------------------- */

/**
 * Makes a device current on this thread, with its default context, which the first call creates.
 * @param deviceId 0 to aclrtGetDeviceCount() - 1.
 */
PORTACL_API aclError aclrtSetDevice(int32_t deviceId);

/**
 * Undoes one aclrtSetDevice(). The last call waits for the device's work and frees the objects of
 * its default context.
 */
PORTACL_API aclError aclrtResetDevice(int32_t deviceId);

/** Like aclrtResetDevice(), however many aclrtSetDevice() calls there were. */
PORTACL_API aclError aclrtResetDeviceForce(int32_t deviceId);

/** The device of the current context. */
PORTACL_API aclError aclrtGetDevice(int32_t* deviceId);

/** Number of devices; needs no context. */
PORTACL_API aclError aclrtGetDeviceCount(uint32_t* count);

/** Where the program runs: ACL_HOST here. */
PORTACL_API aclError aclrtGetRunMode(aclrtRunMode* runMode);

/** Waits until all streams of the current device are empty. */
PORTACL_API aclError aclrtSynchronizeDevice(void);

/**
 * Like aclrtSynchronizeDevice(), at most for a time.
 * @param timeout milliseconds; -1 waits without limit.
 * @return 107019 when the time is over.
 */
PORTACL_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/**
 * Creates a context on a device and makes it current on this thread.
 * @param[out] context to be freed with aclrtDestroyContext().
 */
PORTACL_API aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

/**
 * Waits for the context's work and frees the context with its streams and events. Threads where it
 * is current have no current context afterwards. Not for the default context of a device:
 * aclrtResetDevice() frees that.
 */
PORTACL_API aclError aclrtDestroyContext(aclrtContext context);

/** Makes a context, and so its device, current on this thread. */
PORTACL_API aclError aclrtSetCurrentContext(aclrtContext context);

/** The context that is current on this thread. */
PORTACL_API aclError aclrtGetCurrentContext(aclrtContext* context);

/**
 * Sets an option of the current context.
 * portacl: ACL_OPT_DETERMINISTIC is accepted and reported back, and changes nothing. Operators
 * always give the same bits on every run. (By its pages, the vendor's do not by default.)
 */
PORTACL_API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the current context. */
PORTACL_API aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/** Sets an option of the process; see aclrtCtxSetSysParamOpt(). */
PORTACL_API aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads an option of the process. */
PORTACL_API aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/**
 * Free and total memory of the current device.
 * @param attr which pool; a device with one kind of memory answers the same for all.
 * @param[out] freeBytes, totalBytes the answer.
 */
PORTACL_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* freeBytes, size_t* totalBytes);

/* ---- Memory --------------------------------------------------------------------------------- */

/**
 * Allocates device memory; its content is undefined.
 * @param[out] devPtr start, aligned to at least 64 bytes; to be freed with aclrtFree().
 * @param size bytes, more than 0.
 * @param policy which memory to prefer.
 * @return 207001 when memory runs out; the message holds "Failed to allocate".
 */
PORTACL_API aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/** Like aclrtMalloc(); the interface promises only 32-byte alignment. */
PORTACL_API aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/** Like aclrtMalloc(), for memory that needs aclrtMemFlush() and aclrtMemInvalidate(). */
PORTACL_API aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * Frees device memory. No enqueued work may still use it.
 * @return 207002 for an address that no aclrtMalloc... returned, or that is already freed.
 */
PORTACL_API aclError aclrtFree(void* devPtr);

/**
 * Allocates host memory for direct copies to and from the device.
 * @param[out] hostPtr to be freed with aclrtFreeHost().
 * @param size bytes, more than 0.
 * @return 207001 when memory runs out.
 */
PORTACL_API aclError aclrtMallocHost(void** hostPtr, size_t size);

/**
 * Frees memory of aclrtMallocHost().
 * @return 207002 for an address that it did not return, or that is already freed.
 */
PORTACL_API aclError aclrtFreeHost(void* hostPtr);

/**
 * Copies memory; done when it returns. It does not wait for streams: synchronise first.
 * @param dst destination.
 * @param destMax bytes that dst has room for, at least count.
 * @param src source; must not overlap the destination.
 * @param count bytes to copy.
 * @param kind direction; must fit the two addresses.
 */
PORTACL_API aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                 aclrtMemcpyKind kind);

/** Enqueues an aclrtMemcpy() on a stream. Both memories must stay until the copy is done. */
PORTACL_API aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                      aclrtMemcpyKind kind, aclrtStream stream);

/**
 * Sets `count` bytes to a value; done when it returns.
 * @param devPtr start.
 * @param maxCount bytes that devPtr has room for, at least count.
 * @param value its low 8 bits go into every byte.
 * @param count bytes to set.
 */
PORTACL_API aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);

/** Enqueues an aclrtMemset() on a stream. The memory must stay until it is done. */
PORTACL_API aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                      aclrtStream stream);

/**
 * Copies a rectangle; done when it returns.
 * @param dpitch, spitch bytes from one row to the next in dst and src, at least width.
 * @param width bytes of one row.
 * @param height rows.
 */
PORTACL_API aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch,
                                   size_t width, size_t height, aclrtMemcpyKind kind);

/** Enqueues an aclrtMemcpy2d() on a stream. Both memories must stay until the copy is done. */
PORTACL_API aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                        size_t width, size_t height, aclrtMemcpyKind kind,
                                        aclrtStream stream);

/**
 * Tells which side an address belongs to. Memory that the runtime neither allocated nor knows by
 * aclrtHostRegister() is ACL_MEM_LOCATION_TYPE_UNREGISTERED.
 */
PORTACL_API aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes);

/** Makes the host's writes to memory of aclrtMallocCached() visible to the device. */
PORTACL_API aclError aclrtMemFlush(void* devPtr, size_t size);

/** Makes the device's writes to memory of aclrtMallocCached() visible to the host. */
PORTACL_API aclError aclrtMemInvalidate(void* devPtr, size_t size);

/* ---- Streams -------------------------------------------------------------------------------- */

/**
 * Creates a stream in the current context.
 * @param[out] stream to be freed with aclrtDestroyStream().
 */
PORTACL_API aclError aclrtCreateStream(aclrtStream* stream);

/**
 * Like aclrtCreateStream(), with a priority (0 is the highest) and ACL_STREAM_... flags (0 for
 * none). portacl: both are hints.
 */
PORTACL_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                 uint32_t flag);

/** Waits for the stream's work, then frees the stream. */
PORTACL_API aclError aclrtDestroyStream(aclrtStream stream);

/** Drops work that has not started, waits for the running task, then frees the stream. */
PORTACL_API aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * Waits until all work enqueued on the stream so far is done.
 * @return also the error of a task that failed since the last synchronisation.
 */
PORTACL_API aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * Like aclrtSynchronizeStream(), at most for a time; the work goes on.
 * @param timeout milliseconds; -1 waits without limit.
 * @return 507046 when the time is over.
 */
PORTACL_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/** Whether all work of the stream is done; does not wait. */
PORTACL_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);

/**
 * Enqueues a wait: later work of the stream starts after the event's latest record is reached. An
 * event that was never recorded holds nothing up. The caller does not wait.
 */
PORTACL_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** Returns a number that identifies the stream in its context while the stream lives. */
PORTACL_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);

/**
 * Says what happens to later work after a task failed.
 * @param mode ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE.
 */
PORTACL_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/** Drops work of the stream that has not started and waits for the running task. */
PORTACL_API aclError aclrtStreamAbort(aclrtStream stream);

/* ---- Events --------------------------------------------------------------------------------- */

/**
 * Creates an event for all uses of the ACL_EVENT_... flags.
 * @param[out] event to be freed with aclrtDestroyEvent().
 */
PORTACL_API aclError aclrtCreateEvent(aclrtEvent* event);

/** Creates an event for the uses named by or-ed ACL_EVENT_... flags. */
PORTACL_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);

/** Like aclrtCreateEventWithFlag(), for an event that never needs aclrtResetEvent(). */
PORTACL_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);

/** Frees an event. Waits that are already enqueued are still served. */
PORTACL_API aclError aclrtDestroyEvent(aclrtEvent event);

/** Enqueues the event's mark: it is complete when all work before it on the stream is done. */
PORTACL_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/** Enqueues a reset: afterwards the event is as if it was never recorded. */
PORTACL_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/** Whether the event's latest record is complete; does not wait. See aclrtQueryEventStatus(). */
PORTACL_API aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);

/** Whether the event's latest record is complete; does not wait. */
PORTACL_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);

/** Whether all enqueued waits for the event are over; does not wait. */
PORTACL_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);

/** Waits until the event's latest record is complete. */
PORTACL_API aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * Like aclrtSynchronizeEvent(), at most for a time.
 * @param timeout milliseconds; -1 waits without limit.
 * @return 107019 when the time is over.
 */
PORTACL_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * Time between two complete events.
 * @param[out] ms milliseconds from start to end, with a fraction.
 * @return 107000 also for an event that is not recorded and complete, or not made for timing.
 */
PORTACL_API aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

/* ---- Callbacks and errors ------------------------------------------------------------------- */

/**
 * Chooses a thread of the caller to run the callbacks of a stream. That thread must then call
 * aclrtProcessReport() in a loop.
 * @param threadId the thread's pthread_self().
 * @return 107011 if the stream is already subscribed, 107012 if the thread serves another device.
 */
PORTACL_API aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Enqueues a callback on a stream with a thread of aclrtSubscribeReport().
 * @param fn called once, after all work before it on the stream, with userData.
 * @param userData the caller's; passed on as it is.
 * @param blockType whether later work of the stream waits for the callback's return.
 * @return 107015 if the stream has no subscribed thread.
 */
PORTACL_API aclError aclrtLaunchCallback(aclrtCallback fn, void* userData,
                                         aclrtCallbackBlockType blockType, aclrtStream stream);

/**
 * Waits for a callback for the calling thread, and runs it.
 * @param timeout milliseconds; -1 waits without limit.
 * @return 107012 if the thread is not subscribed; 107019 when the time is over.
 */
PORTACL_API aclError aclrtProcessReport(int32_t timeout);

/**
 * Ends a subscription.
 * @return 107011, 107012 if that stream or thread is not subscribed.
 */
PORTACL_API aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Enqueues a host function: it runs once, on a thread of the library, after all work before it, and
 * later work of the stream waits for its return. It must not call aclrt... or aclnn... functions.
 * @param args the caller's; passed on as it is.
 */
PORTACL_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args);

/**
 * Returns the code of this thread's newest failed ACL or aclnn call, and keeps it; ACL_SUCCESS if
 * there is none. Pure questions (aclrtGetDevice(), aclrtStreamQuery(), the queries of events)
 * change neither this code nor aclGetRecentErrMsg(), for any answer.
 */
PORTACL_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/** Like aclrtPeekAtLastError(), but clears the error; its message stays. */
PORTACL_API aclError aclrtGetLastError(aclrtLastErrLevel level);

#ifdef __cplusplus
}
#endif

/* The rest of the runtime by topic. They need the part above. */
#include "acl/acl_rt_device.h"
#include "acl/acl_rt_memory.h"
#include "acl/acl_rt_stream.h"

#endif  // PORTACL_ACL_ACL_RT_H_
