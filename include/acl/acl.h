/**
 * @file
 * The whole ACL interface in one header: base types, runtime, operators by name, and the functions
 * that begin and end a program's use of the library.
 *
 * Thread-safety: all functions may be called from any thread; aclInit() and aclFinalize() act on
 * the whole process.
 */
#ifndef PORTACL_ACL_ACL_H_
#define PORTACL_ACL_ACL_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"
#include "portacl/export.h"

/* Not here: offline models (aclmdlLoadFromFile, aclmdlExecute, data sets, AIPP), tensor channels
 * (acl/acl_tdt.h), the media functions of acl/ops/acl_dvpp.h and the matrix products of
 * acl/ops/acl_cblas.h. A program that calls one of these functions does not compile. */

#ifdef __cplusplus
extern "C" {
#endif

/** Properties for aclGetCannAttribute(). */
typedef enum aclCannAttr {
  ACL_CANN_ATTR_UNDEFINED = -1,
  ACL_CANN_ATTR_INF_NAN = 0, /**< arithmetic has infinities and NaN */
  ACL_CANN_ATTR_BF16 = 1,
  ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

/** Properties that aclGetDeviceCapability() can return. */
typedef enum aclDeviceInfo {
  ACL_DEVICE_INFO_UNDEFINED = -1,
  ACL_DEVICE_INFO_AI_CORE_NUM = 0,
  ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
  ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;

/** Packages that aclsysGetCANNVersion() knows. */
typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

/** Version of a package of the vendor's toolkit, as text and in parts. */
typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE];
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/**
 * Initialises the library, once per process and before other calls. portacl: the other functions
 * also work without it.
 * @param configPath path of a JSON file with settings, or null for the defaults.
 * @return ACL_SUCCESS; 100002 when called a second time; 100003 if the file cannot be read;
 *         100006 if it is not JSON.
 */
PORTACL_API aclError aclInit(const char* configPath);

/**
 * Ends the use of the library. Destroy or reset streams, events, memory and devices first.
 * @return ACL_SUCCESS; 100037 when called a second time.
 */
PORTACL_API aclError aclFinalize(void);

/**
 * Version of the interface that the library offers.
 * @param[out] majorVersion, minorVersion, patchVersion the three numbers.
 * @return ACL_SUCCESS; 107000 for a null pointer.
 */
PORTACL_API aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                     int32_t* patchVersion);

/**
 * Returns the message of this thread's newest failed call: operator, parameter, its value, the
 * expected value. If no error waits, returns the message of a call accepted with a warning. Reading
 * clears the message; a call that succeeds does not.
 * @return the text, owned by the library and valid until this thread's next call of the library;
 *         null if there is no message.
 */
PORTACL_API const char* aclGetRecentErrMsg(void);

/** aclFinalize() of newer interfaces, which count aclInit() calls; *count is set to 0. */
PORTACL_API aclError aclFinalizeReference(uint64_t* count);

/** Sets *value to 1 if the device has the property, else to 0. */
PORTACL_API aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value);

/**
 * Lists the properties that the device has.
 * @param[out] cannAttrList an array that the library owns; do not free it.
 * @param[out] num number of values in the array.
 */
PORTACL_API aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num);

/** Returns a device's number of cores (threads that kernels use) or bytes of cache. */
PORTACL_API aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo,
                                            int64_t* value);

/**
 * Version of one of the toolkit's packages.
 * @return 100003: no such package is installed. portacl's own version: aclrtGetVersion().
 */
PORTACL_API aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_H_
