/**
 * @file
 * The whole ACL interface in one header: base types, runtime and operators by name, and the
 * functions that begin and end a program's use of the library.
 *
 * Thread-safety: all functions may be called from any thread; aclInit() and aclFinalize() act on
 * the whole process.
 */
#ifndef PORTACL_ACL_ACL_H_
#define PORTACL_ACL_ACL_H_

#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * The message of the newest failed call of this thread, or of a call that was accepted with a
 * warning where no error's message waits: operator, parameter, what it got, what was wanted.
 * Reading clears it; a call that succeeds does not.
 * @return the text, owned by the library and valid until this thread's next call of the library;
 *         null if there is no message.
 */
PORTACL_API const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_H_
