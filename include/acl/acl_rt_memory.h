/**
 * @file
 * The runtime: virtual memory, several copies in one call, registered host memory, and memory
 * between processes. Errors, contexts and thread-safety: see acl_rt.h, which includes this file.
 */
#ifndef PORTACL_ACL_ACL_RT_MEMORY_H_
#define PORTACL_ACL_ACL_RT_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of physical memory; see aclrtMallocPhysical(). */
typedef void* aclrtDrvMemHandle;

/** How physical memory may be shared between processes. */
typedef enum aclrtMemHandleType { ACL_MEM_HANDLE_TYPE_NONE = 0 } aclrtMemHandleType;

/** Kind of physical memory. */
typedef enum aclrtMemAllocationType { ACL_MEM_ALLOCATION_TYPE_PINNED = 0 } aclrtMemAllocationType;

/** The granularity that aclrtMemGetAllocationGranularity() is asked for. */
typedef enum aclrtMemGranularityOptions {
  ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
  ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF
} aclrtMemGranularityOptions;

/** The kind of physical memory to allocate. */
typedef struct aclrtPhysicalMemProp {
  aclrtMemHandleType handleType;
  aclrtMemAllocationType allocationType;
  aclrtMemAttr memAttr;      /**< any; a device has one kind of memory */
  aclrtMemLocation location; /**< a device */
  uint64_t reserve;          /**< 0 */
} aclrtPhysicalMemProp;

/** Places of copies in a batch, from one index on. */
typedef struct aclrtMemcpyBatchAttr {
  aclrtMemLocation dstLoc;
  aclrtMemLocation srcLoc;
  uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

/** How aclrtHostRegister() registers memory. */
typedef enum aclrtHostRegisterType { ACL_HOST_REGISTER_MAPPED = 0 } aclrtHostRegisterType;

/**
 * @name Flags of aclrtHostRegisterV2(); may be or-ed.
 * @{
 */
#define ACL_HOST_REG_MAPPED 0x2u
#define ACL_HOST_REG_PINNED 0x10000000u
/** @} */

/** The kind of an attribute of aclrtMallocHostWithCfg(). */
typedef enum aclrtMallocAttrType {
  ACL_RT_MEM_ATTR_RSV = 0,
  ACL_RT_MEM_ATTR_MODULE_ID = 1,
  ACL_RT_MEM_ATTR_DEVICE_ID = 2,
  ACL_RT_MEM_ATTR_VA_FLAG = 3
} aclrtMallocAttrType;

/** The value of such an attribute. */
typedef union aclrtMallocAttrValue {
  uint16_t moduleId;
  uint32_t deviceId;
  uint32_t vaFlag;
  uint8_t rsv[8];
} aclrtMallocAttrValue;

/** An attribute of an allocation. */
typedef struct aclrtMallocAttribute {
  aclrtMallocAttrType attr;
  aclrtMallocAttrValue value;
} aclrtMallocAttribute;

/** The attributes of an allocation. */
typedef struct aclrtMallocConfig {
  aclrtMallocAttribute* attrs;
  size_t numAttrs;
} aclrtMallocConfig;

/** Memory that one part of the library holds on a device. */
typedef struct aclrtMemUsageInfo {
  char name[32];
  uint64_t curMemSize;  /**< bytes now */
  uint64_t memPeakSize; /**< most bytes so far */
  size_t reserved[8];
} aclrtMemUsageInfo;

/** Bytes of the key of aclrtIpcMemGetExportKey(). */
#define ACL_IPC_HANDLE_SIZE 65

/* ---- Virtual memory ---------------------------------------------------------------------------
 * Addresses and memory are separate: a program reserves a range of addresses, allocates memory, and
 * maps pieces of memory at addresses of the range. Mapped memory is device memory like
 * aclrtMalloc()'s for every function, even across neighbouring pieces of one device. */

/**
 * Reserves a range of addresses without memory.
 * @param[out] virPtr its start, a multiple of 2 MiB.
 * @param size bytes; the range may be larger than the device's memory.
 * @param alignment 0 for the default, or a power of two.
 * @param expectPtr where the range should begin if it can; may be null.
 * @param flags 0, or 1 for huge pages.
 * @return 207001 if there are not enough addresses.
 */
PORTACL_API aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment,
                                            void* expectPtr, uint64_t flags);

/** Frees a range. 107000 for another address than its start, or if memory is mapped in it. */
PORTACL_API aclError aclrtReleaseMemAddress(void* virPtr);

/**
 * Allocates memory without an address. It counts against the device's memory.
 * @param[out] handle to be freed with aclrtFreePhysical().
 * @param size a multiple of aclrtMemGetAllocationGranularity().
 * @param prop a device's memory. @param flags 0.
 * @return 207001 if the device does not have so much memory.
 */
PORTACL_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                                         const aclrtPhysicalMemProp* prop, uint64_t flags);

/** Frees memory; if it is mapped, it is freed when it is unmapped. */
PORTACL_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/**
 * Maps memory at addresses of a reserved range.
 * @param virPtr, size, offset multiples of 2 MiB; offset counts from the memory's start.
 * @return 107000 outside a reserved range, or over memory that is mapped there.
 */
PORTACL_API aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                 uint64_t flags);

/** Unmaps a mapped piece of memory. 107000 for another address than its start. */
PORTACL_API aclError aclrtUnmapMem(void* virPtr);

/** Sizes and addresses of virtual memory are multiples of this number of bytes: 2 MiB. */
PORTACL_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                                      aclrtMemGranularityOptions option,
                                                      size_t* granularity);

/** Makes memory known to other processes: 200001. */
PORTACL_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                     aclrtMemHandleType handleType, uint64_t flags,
                                                     uint64_t* shareableHandle);

/** Takes memory of another process: 200001. */
PORTACL_API aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                                       aclrtDrvMemHandle* handle);

/** Names the processes that may take memory: 200001. */
PORTACL_API aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid,
                                                     size_t pidNum);

/* ---- Copies --------------------------------------------------------------------------------- */

/**
 * Several copies at once, with the checks of aclrtMemcpy().
 * @param dsts, destMax, srcs, sizes one value per copy, numBatches of them.
 * @param attrs places; attrs[k] is for copies from attrsIndexes[k] to the next index; numAttrs of
 *        both. The indexes ascend from 0.
 * @param[out] failIdx the index of a refused copy; SIZE_MAX if no copy was the reason.
 */
PORTACL_API aclError aclrtMemcpyBatch(void** dsts, size_t* destMax, void** srcs, size_t* sizes,
                                      size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                      size_t* attrsIndexes, size_t numAttrs, size_t* failIdx);

/** Like aclrtMemcpyBatch(), in the stream's order. Nothing is enqueued if one is refused. */
PORTACL_API aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMax, void** srcs, size_t* sizes,
                                           size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                           size_t* attrsIndexes, size_t numAttrs, size_t* failIdx,
                                           aclrtStream stream);

/** aclrtMemcpyAsync() for addresses of any side; in portacl the same. */
PORTACL_API aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src,
                                                   size_t count, aclrtMemcpyKind kind,
                                                   aclrtStream stream);

/* ---- Host memory ---------------------------------------------------------------------------- */

/** Registers host memory for the devices; *devPtr receives the same address. */
PORTACL_API aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type,
                                       void** devPtr);

/** Registers host memory for the devices. */
PORTACL_API aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag);

/** Undoes aclrtHostRegister(). 107000 if the memory is not registered. */
PORTACL_API aclError aclrtHostUnregister(void* ptr);

/** aclrtMallocHost() with attributes, which change nothing here. */
PORTACL_API aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg);

/* ---- Use, and other processes --------------------------------------------------------------- */

/**
 * Memory that parts of the library use on a device. One entry: the program's allocations.
 * @param inputNum entries at memUsageInfo. @param[out] outputNum entries written.
 */
PORTACL_API aclError aclrtGetMemUsageInfo(uint32_t deviceId, aclrtMemUsageInfo* memUsageInfo,
                                          size_t inputNum, size_t* outputNum);

/** Names device memory for other processes: 200001. */
PORTACL_API aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len,
                                             uint64_t flag);

/** Names the processes that may use a key: 200001. */
PORTACL_API aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num);

/** Takes another process's memory: 200001. */
PORTACL_API aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flag);

/** Ends the use of a key: 200001. */
PORTACL_API aclError aclrtIpcMemClose(const char* key);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_RT_MEMORY_H_
