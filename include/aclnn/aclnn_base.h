/**
 * @file
 * Status codes, initialisation and the contract that all aclnn operators share.
 *
 * Two phases. Phase 1, `aclnn<Op>GetWorkspaceSize`, checks everything, plans the execution, and
 * returns the workspace size in bytes and an executor. Phase 2, `aclnn<Op>`, enqueues the planned
 * work on a stream and returns; synchronise the stream before reading results. Tensors and arrays
 * may be destroyed between the phases, device memory must stay until the work is done. Executors:
 * see aclSetAclOpExecutorRepeatable() in acl_meta.h.
 *
 * Phase 1 refuses null pointers (161001), then a tensor or array that was never created or is
 * already destroyed (161002). Next it makes the operator's own checks, in the order of its table.
 * Then it makes these checks for every tensor that is read or written:
 *   161001  the data address is null although the tensor has elements
 *   161002  the view leaves its storage
 *   161002  the address is not a multiple of the element's size
 *   161002  the address lies in a known device allocation that is too small for the storage
 *   161002  two elements of an output share an address
 *   161002  an output overlaps an input or the other output (outputs that interleave without
 *           touching are fine)
 * Phase 2:
 *   161001  the executor is null, or the workspace is null although its size is more than 0
 *   161002  the workspace is smaller than planned, or the executor is not live: it was used
 *           (unless repeatable) or destroyed, or never created
 *   361001  the runtime refuses the work, for example for lack of a current context
 *
 * A refused call writes to no tensor and leaves a message for aclGetRecentErrMsg() (acl/acl.h) on
 * its thread. It sets *workspaceSize = 0 and *executor = null if those pointers are given.
 * Nothing outside an output's view is ever written.
 *
 * Strides may be any numbers, also negative, and in inputs also 0; a null stride array means
 * contiguous. Strides never change a result.
 *
 * Results do not depend on thread count, vector width, kernel or device: each output element is
 * summed in one fixed order, which the operators' headers give. This does not include the sign and
 * payload of a NaN.
 *
 * Profiles. The environment variable PORTACL_PROFILE, read once, and portaclSetProfile()
 * (portacl/portacl.h) choose the accepted calls, for the whole process:
 *   atlas-a2        the default: what the documents accept for Atlas A2
 *   atlas-a3        the same
 *   atlas-training  no nearest-exact operators; the 2D grid sampler with FLOAT and FLOAT16 only
 *   open            every extension that the operators' headers name
 * Phase 1 of an operator that the profile does not have returns 161002.
 *
 * Some calls of existing programs contradict the documents, but the documents name no error code.
 * They are accepted with a warning (in the log and for aclGetRecentErrMsg()). PORTACL_STRICT=1
 * turns each such warning into 161002.
 *
 * Thread-safety: both phases may run on any number of threads at once, with different executors.
 *
 * "The page" in these headers is the vendor's published description with the function's name,
 * in the edition that docs/compatibility.md lists. (Pages have no version numbers: the
 * products that they name distinguish editions.) "portacl:" marks what this library adds or
 * decides.
 */
#ifndef PORTACL_ACLNN_ACLNN_BASE_H_
#define PORTACL_ACLNN_ACLNN_BASE_H_

#include "aclnn/acl_meta.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Status codes of the aclnn functions
 * @{
 */
PORTACL_CONSTANT(aclnnStatus, ACLNN_SUCCESS, 0);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_PARAM_NULLPTR, 161001); /**< a pointer is null */
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_PARAM_INVALID, 161002); /**< an argument is not accepted */
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_RUNTIME_ERROR, 361001); /**< an aclrt... call failed */
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER, 561000);         /**< a fault of the library */
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_INFERSHAPE_ERROR, 561001);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_TILING_ERROR, 561002);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR, 561102);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_NULLPTR, 561103);
PORTACL_CONSTANT(aclnnStatus, ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE, 561104);
/** @} */

/**
 * Initialises the operator library. portacl: not needed, with or without aclInit().
 * @param configPath path of a JSON file, or null, as for aclInit().
 * @return 0, or 161002 if the file cannot be read or is not JSON.
 */
PORTACL_API aclnnStatus aclnnInit(const char* configPath);

/** Ends the use of the operator library. */
PORTACL_API aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNN_ACLNN_BASE_H_
