/**
 * @file
 * Profiling. portacl's own profiler is the timeline of PORTACL_TRACE: marks and ranges of these
 * functions appear there. Configurations are accepted and collect nothing else.
 *
 * Errors: 100000 for a null or unknown handle or a text that is too long. Ranges and stamps belong
 * to the process; aclprofPush() and aclprofPop() nest per thread.
 */
#ifndef PORTACL_ACL_ACL_PROF_H_
#define PORTACL_ACL_ACL_PROF_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Data types of aclprofCreateConfig(); may be or-ed.
 * @{
 */
#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX 0x0080ULL
#define ACL_PROF_RUNTIME_API 0x0100ULL
#define ACL_PROF_TASK_TIME_L0 0x0800ULL
#define ACL_PROF_TASK_MEMORY 0x1000ULL
#define ACL_PROF_OP_ATTR 0x4000ULL
/** @} */

/** Counters of a core. */
typedef enum aclprofAicoreMetrics {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
  ACL_AICORE_MEMORY_ACCESS = 8,
  ACL_AICORE_NONE = 0xFF
} aclprofAicoreMetrics;

/** Settings of aclprofSetConfig(). */
typedef enum aclprofConfigType {
  ACL_PROF_ARGS_MIN = 0,
  ACL_PROF_STORAGE_LIMIT = 1,
  ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
  ACL_PROF_LLC_MODE = 4,
  ACL_PROF_SYS_IO_FREQ = 5,
  ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
  ACL_PROF_DVPP_FREQ = 7,
  ACL_PROF_HOST_SYS = 8,
  ACL_PROF_HOST_SYS_USAGE = 9,
  ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
  ACL_PROF_ARGS_MAX = 15
} aclprofConfigType;

/** Begin and end of a step. */
typedef enum aclprofStepTag { ACL_STEP_START = 0, ACL_STEP_END = 1 } aclprofStepTag;

/** The data to collect, and on which devices. */
typedef struct aclprofConfig aclprofConfig;

/** Counters of the caller's choice; null is the only value. */
typedef struct aclprofAicoreEvents aclprofAicoreEvents;

/** A step of a training loop. */
typedef struct aclprofStepInfo aclprofStepInfo;

/** Begins the use of the profiler; the results' folder is not used. */
PORTACL_API aclError aclprofInit(const char* profilerResultPath, size_t length);

/** Ends the use of the profiler. */
PORTACL_API aclError aclprofFinalize(void);

/** Begins to collect. */
PORTACL_API aclError aclprofStart(const aclprofConfig* profilerConfig);

/** Ends to collect. */
PORTACL_API aclError aclprofStop(const aclprofConfig* profilerConfig);

/** A configuration, to be freed with aclprofDestroyConfig(); null for an unknown device. */
PORTACL_API aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                               aclprofAicoreMetrics aicoreMetrics,
                                               const aclprofAicoreEvents* aicoreEvents,
                                               uint64_t dataTypeConfig);

/** Frees a configuration. */
PORTACL_API aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig);

/** A further setting: accepted, without effect. */
PORTACL_API aclError aclprofSetConfig(aclprofConfigType configType, const char* config,
                                      size_t configLength);

/** A step, to be freed with aclprofDestroyStepInfo(). */
PORTACL_API aclprofStepInfo* aclprofCreateStepInfo(void);

/** Frees a step. */
PORTACL_API void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo);

/** Marks a step's begin or end in the stream's order. */
PORTACL_API aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag,
                                             aclrtStream stream);

/** A stamp: a text for marks and ranges, to be freed with aclprofDestroyStamp(). */
PORTACL_API void* aclprofCreateStamp(void);

/** Frees a stamp. */
PORTACL_API void aclprofDestroyStamp(void* stamp);

/** Sets a stamp's text. */
PORTACL_API aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen);

/** A moment on this thread, with the stamp's text. */
PORTACL_API aclError aclprofMark(void* stamp);

/** A moment in the stream's order. */
PORTACL_API aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream);

/** Begins a range on this thread, inside its open ranges. */
PORTACL_API aclError aclprofPush(void* stamp);

/** Ends this thread's newest range. */
PORTACL_API aclError aclprofPop(void);

/** Begins a range that any thread may end. @param[out] rangeId names it. */
PORTACL_API aclError aclprofRangeStart(void* stamp, uint32_t* rangeId);

/** Ends a range. */
PORTACL_API aclError aclprofRangeStop(uint32_t rangeId);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_PROF_H_
