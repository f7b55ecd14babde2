/**
 * @file
 * The runtime: properties of devices, access between devices, limits, timeouts and faults.
 * Errors, contexts and thread-safety: see acl_rt.h, which includes this file.
 */
#ifndef PORTACL_ACL_ACL_RT_DEVICE_H_
#define PORTACL_ACL_ACL_RT_DEVICE_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A property that aclrtGetDeviceInfo() returns. */
typedef enum aclrtDevAttr {
  ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
  ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
  ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
  ACL_DEV_ATTR_WARP_SIZE = 202,
  ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE = 203,
  ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE = 204,
  ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
  ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
  ACL_DEV_ATTR_SMP_ID = 401,
  ACL_DEV_ATTR_PHY_CHIP_ID = 402,
  ACL_DEV_ATTR_IS_VIRTUAL = 501
} aclrtDevAttr;

/** The result of an operation whose value is too large. */
typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0, /**< the largest finite number */
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,     /**< infinity, as in IEEE 754 */
  ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

/** Resources that can be limited. */
typedef enum aclrtDevResLimitType {
  ACL_RT_DEV_RES_CUBE_CORE = 0,
  ACL_RT_DEV_RES_VECTOR_CORE = 1
} aclrtDevResLimitType;

/** Identity of a device, the same in every process of a machine. */
typedef struct aclrtUuid {
  char bytes[16];
} aclrtUuid;

/** Further numbers of aclrtGetDeviceUtilizationRate(). */
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

/** The value of a member of aclrtUtilizationInfo that is not measured. */
PORTACL_CONSTANT(int32_t, DEVICE_UTILIZATION_NOT_SUPPORT, -1);

/** How busy a device is, in percent. */
typedef struct aclrtUtilizationInfo {
  int32_t cubeUtilization;
  int32_t vectorUtilization;
  int32_t aicpuUtilization;
  int32_t memoryUtilization;
  aclrtUtilizationExtendInfo* utilizationExtend; /**< null */
} aclrtUtilizationInfo;

#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128
#define UCE_INFO_RESERVED_SIZE 14

/** A range of device memory with errors that cannot be corrected. */
typedef struct aclrtMemUceInfo {
  void* addr;
  size_t len;
  size_t reserved[UCE_INFO_RESERVED_SIZE];
} aclrtMemUceInfo;

/** Kind of a device's fault. */
typedef enum aclrtErrorType {
  ACL_RT_NO_ERROR = 0,
  ACL_RT_ERROR_MEMORY = 1,
  ACL_RT_ERROR_L2 = 2,
  ACL_RT_ERROR_AICORE = 3,
  ACL_RT_ERROR_LINK = 4,
  ACL_RT_ERROR_OTHERS = 0xFFFF
} aclrtErrorType;

/** The possible reason of a core's fault. */
typedef enum aclrtAicoreErrorType {
  ACL_RT_AICORE_ERROR_UNKNOWN = 0,
  ACL_RT_AICORE_ERROR_SW = 1,
  ACL_RT_AICORE_ERROR_HW_LOCAL = 2
} aclrtAicoreErrorType;

#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20

/** Several ranges. */
typedef struct aclrtMemUceInfoArray {
  size_t arraySize; /**< ranges in memUceInfoArray */
  aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

/** More about a fault. The kind of fault says which member is set. */
typedef union aclrtErrorInfoDetail {
  aclrtMemUceInfoArray uceInfo;
  aclrtAicoreErrorType aicoreErrType;
} aclrtErrorInfoDetail;

/** A device's fault. */
typedef struct aclrtErrorInfo {
  uint8_t tryRepair; /**< 1: aclrtRepairError() is needed */
  uint8_t hasDetail; /**< 1: detail is filled in */
  uint8_t reserved[2];
  aclrtErrorType errorType;
  aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

/* ---- Devices beside each other -------------------------------------------------------------- */

/** 1 in *canAccessPeer if two different devices can copy from each other, 0 for the same one. */
PORTACL_API aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                              int32_t peerDeviceId);

/** Lets the current device reach another's memory; flags is 0. portacl: it always can. */
PORTACL_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/** Ends aclrtDeviceEnablePeerAccess(). */
PORTACL_API aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/** The process id by which other processes name this process: getpid(). */
PORTACL_API aclError aclrtDeviceGetBareTgid(int32_t* pid);

/** The device of a number that the user sees; here the same number. */
PORTACL_API aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* logicDevId);

/* ---- What a device is ----------------------------------------------------------------------- */

/**
 * Returns one property of a device. Cores are threads; properties that only hardware has are 0.
 * @return 107000 for an attribute that is not in the list, 107001 for an unknown device.
 */
PORTACL_API aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value);

/** Identity of the device, made from the machine's identity and the device's number. */
PORTACL_API aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid);

/** Whether a device's default context exists; flags is 0. */
PORTACL_API aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active);

/** How full the device's memory is. The load of its cores is not measured. */
PORTACL_API aclError aclrtGetDeviceUtilizationRate(int32_t deviceId,
                                                   aclrtUtilizationInfo* utilizationInfo);

/* ---- Modes, limits, timeouts ---------------------------------------------------------------- */

/** What overflow gives on the current device. portacl keeps it; results always follow IEEE 754. */
PORTACL_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/** The mode of aclrtSetDeviceSatMode(); INFNAN at first. */
PORTACL_API aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);

/** Longest time of an operator in seconds, 0: no limit. portacl: kept, no operator is stopped. */
PORTACL_API aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** The same in microseconds; *actualTimeout receives what was set. */
PORTACL_API aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout);

/** The longest time of an operator in milliseconds. */
PORTACL_API aclError aclrtGetOpExecuteTimeout(uint32_t* timeoutMs);

/** Longest wait for an event in seconds, 0: no limit. portacl: kept, no wait is ended. */
PORTACL_API aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/** Cores that a device may use. portacl: kept and reported back; threads: portacl.h. */
PORTACL_API aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                            uint32_t value);

/** The limit of a device; without a limit, the device's cores. */
PORTACL_API aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                            uint32_t* value);

/** Forgets the limits of a device. */
PORTACL_API aclError aclrtResetDeviceResLimit(int32_t deviceId);

/** The limit that holds on this thread: of the stream in use, or of the current device. */
PORTACL_API aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value);

/* ---- Faults --------------------------------------------------------------------------------- */

/** Drops work that a device's streams have not begun and waits for running work. */
PORTACL_API aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/** Broken ranges of a device's memory: portacl has none, *retSize is 0. */
PORTACL_API aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray,
                                        size_t arraySize, size_t* retSize);

/** Repairs broken ranges: 200001, there are none. */
PORTACL_API aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray,
                                       size_t arraySize);

/** A device's fault: ACL_RT_NO_ERROR here. */
PORTACL_API aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo);

/** Repairs a fault: 200001, there are none. */
PORTACL_API aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo* errorInfo);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_RT_DEVICE_H_
