/**
 * @file
 * The runtime: attributes and limits of streams, numbers in memory that streams write and wait for,
 * times of events. Also the loading of device code, which a CPU cannot run.
 * Errors, contexts and thread-safety: see acl_rt.h, which includes this file.
 */
#ifndef PORTACL_ACL_ACL_RT_STREAM_H_
#define PORTACL_ACL_ACL_RT_STREAM_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt_device.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of a stream. */
typedef enum aclrtStreamAttr {
  ACL_STREAM_ATTR_FAILURE_MODE = 1,
  ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
  ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
  ACL_STREAM_ATTR_CACHE_OP_INFO = 4
} aclrtStreamAttr;

/** The value of an attribute. */
typedef union aclrtStreamAttrValue {
  uint64_t failureMode;       /**< as in aclrtSetStreamFailureMode() */
  uint32_t overflowSwitch;    /**< 0 or 1 */
  uint32_t userCustomTag;     /**< any */
  uint32_t cacheOpInfoSwitch; /**< 0 or 1 */
  uint32_t reserve[4];
} aclrtStreamAttrValue;

/** Operations on the caches. */
typedef enum aclrtCmoType {
  ACL_RT_CMO_TYPE_PREFETCH = 0,
  ACL_RT_CMO_TYPE_WRITEBACK = 1,
  ACL_RT_CMO_TYPE_INVALID = 2,
  ACL_RT_CMO_TYPE_FLUSH = 3
} aclrtCmoType;

/**
 * @name Conditions of aclrtValueWait(); m is the number in memory
 * @{
 */
#define ACL_VALUE_WAIT_GEQ 0x0u /**< m >= value */
#define ACL_VALUE_WAIT_EQ 0x1u  /**< m == value */
#define ACL_VALUE_WAIT_AND 0x2u /**< (m & value) != 0 */
#define ACL_VALUE_WAIT_NOR 0x3u /**< ~(m | value) != 0 */
/** @} */

/** Name of an event for other processes. */
typedef struct aclrtIpcEventHandle {
  char reserved[64];
} aclrtIpcEventHandle;

/** Handle of loaded device code. */
typedef void* aclrtBinHandle;

/** Handle of a function in loaded device code. */
typedef void* aclrtFuncHandle;

/** How device code is loaded. */
typedef enum aclrtBinaryLoadOptionType {
  ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD = 1,
  ACL_RT_BINARY_LOAD_OPT_MAGIC = 2,
  ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE = 3
} aclrtBinaryLoadOptionType;

/** The value of such an option. */
typedef union aclrtBinaryLoadOptionValue {
  uint32_t isLazyLoad;
  uint32_t magic;
  int32_t cpuKernelMode;
  uint32_t rsv[4];
} aclrtBinaryLoadOptionValue;

/** An option of aclrtBinaryLoadFromData(). */
typedef struct aclrtBinaryLoadOption {
  aclrtBinaryLoadOptionType type;
  aclrtBinaryLoadOptionValue value;
} aclrtBinaryLoadOption;

/** A list of such options. */
typedef struct aclrtBinaryLoadOptions {
  aclrtBinaryLoadOption* options;
  size_t numOpt;
} aclrtBinaryLoadOptions;

/* ---- Attributes ----------------------------------------------------------------------------- */

/** Sets an attribute. Only the failure mode changes what a stream does; the others are kept. */
PORTACL_API aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                             aclrtStreamAttrValue* value);

/** Reads an attribute. */
PORTACL_API aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                             aclrtStreamAttrValue* value);

/** 1: overflow is looked for; 0: it is not. portacl keeps it; overflow gives infinity. */
PORTACL_API aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

/** The switch of aclrtSetStreamOverflowSwitch(); 0 at first. */
PORTACL_API aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag);

/** Cores that a stream may use; see aclrtSetDeviceResLimit(). */
PORTACL_API aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                            uint32_t value);

/** The limit of a stream; without a limit, the limit of its device. */
PORTACL_API aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                            uint32_t* value);

/** Forgets the limits of a stream. */
PORTACL_API aclError aclrtResetStreamResLimit(aclrtStream stream);

/** Makes aclrtGetResInCurrentThread() answer this stream's limits on this thread. */
PORTACL_API aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/** Undoes aclrtUseStreamResInCurrentThread(). */
PORTACL_API aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

/* ---- In the stream's order ------------------------------------------------------------------ */

/** Writes a number of 8 bytes to device memory, aligned to 8; flag is 0. */
PORTACL_API aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag,
                                     aclrtStream stream);

/**
 * Makes later work wait until the number in device memory (8 bytes, aligned to 8) fulfils `flag`.
 * @param flag one of ACL_VALUE_WAIT_GEQ, _EQ, _AND, _NOR.
 */
PORTACL_API aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag,
                                    aclrtStream stream);

/** An operation on the cache: checked, with nothing to do, because the memory is coherent. */
PORTACL_API aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType,
                                   aclrtStream stream);

/* ---- Events --------------------------------------------------------------------------------- */

/**
 * Returns when a complete event's record was over, in microseconds of a monotonic clock.
 * @return 107006 for an event that is not complete or was made without ACL_EVENT_TIME_LINE.
 */
PORTACL_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);

/** Names an event for other processes: 200001. */
PORTACL_API aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle);

/** Takes another process's event: 200001. */
PORTACL_API aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event);

/* ---- Device code ---------------------------------------------------------------------------- */

/** Loads compiled device code: 200001, a CPU cannot run it. */
PORTACL_API aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                             const aclrtBinaryLoadOptions* options,
                                             aclrtBinHandle* binHandle);

/** Finds a function in loaded code: 200001. */
PORTACL_API aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName,
                                            aclrtFuncHandle* funcHandle);

/** The addresses of a function's code: 200001. */
PORTACL_API aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void** aicAddr,
                                          void** aivAddr);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_RT_STREAM_H_
