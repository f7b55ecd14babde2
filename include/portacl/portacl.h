/* portacl's own API: image-resampling operators and gradients on plain memory, without devices,
 * streams or descriptors. The first half is C11 (extern "C", the library's ABI). The second half is
 * a header-only C++17 layer: no std:: type crosses the library's border, and nothing throws.
 *
 * Mathematics, refusals and bits are equal to the aclnn operators' (docs/ops). The limits are
 * wider: double everywhere, bicubic and reflection, any scale, empty tensors. */
#ifndef PORTACL_PORTACL_H_
#define PORTACL_PORTACL_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

#include "portacl/export.h"
#include "portacl/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------- */

/** Result of every portacl... function that can fail. The values are the aclnn API's. */
enum {
  PORTACL_OK = 0,
  PORTACL_ERROR_NULL = 161001,     /**< A required pointer is null. */
  PORTACL_ERROR_INVALID = 161002,  /**< A parameter is wrong; the message names it. */
  PORTACL_ERROR_RUNTIME = 361001,  /**< Out of memory, or threads could not be made. */
  PORTACL_ERROR_INTERNAL = 561000, /**< A fault of the library; please report it. */
  PORTACL_ERROR_NO_KERNEL = 561003 /**< The parameters are right, but no kernel serves them. */
};

/** Returns this thread's newest error or warning message, "" if there is none. Valid until the
 *  thread's next failing call. Reading does not clear it. */
PORTACL_API const char* portaclGetErrorMessage(void);

/* ---- library ------------------------------------------------------------------------------ */

/** Returns the library's version, "MAJOR.MINOR.PATCH". PORTACL_VERSION_STRING is the header's. */
PORTACL_API const char* portaclGetVersion(void);

/** Returns a JSON object that describes the library in this process: version, CPU, instruction
 * sets, each operator's kernels (best first, with "available"), the functions and graph names of
 * each operator, threads, GPUs ("cuda": "devices", "why_none"; asking starts CUDA), profile, forced
 *  implementation. "adapt_threads" says whether the policy on threads is on. Calls are counted:
 *  on several threads ("calls_shared"), with more waiting than saving ("calls_lost"), and kept on
 *  their callers by the policy ("calls_alone"). The library owns the text; it is valid until the
 *  thread's next call of portaclGetInfo. */
PORTACL_API const char* portaclGetInfo(void);

/** Sets the number of threads that kernels use: 1 to 1024. 0 restores the default:
 * PORTACL_NUM_THREADS; else the lent pool's number; else the number of CPUs that this process may
 * use (by affinity mask, control groups' quota, and OMP_NUM_THREADS if that is less). Results never
 * depend on the number. If waiting for threads costs more than they save, calls run on their
 * callers for a while (PORTACL_ADAPT_THREADS=0: never). Waits for running work. */
PORTACL_API int32_t portaclSetNumThreads(int32_t threads);
/** Returns the number of threads for calls of this thread. */
PORTACL_API int32_t portaclGetNumThreads(void);

/** Threads of a host program, lent to the library: an OpenMP team, a server's pool. Without it, two
 * pools in one process take the CPUs from each other, most of all if the host's threads spin.
 *
 *  The pool may run tasks at the same time or one after the other, in any order, even all on one
 *  thread: the library distributes its work, and results have the same bits for every pool. */
typedef struct portaclThreadPool {
  void* host; /**< Passed to both functions. */

  /** Returns how many threads loops of the calling thread should use. Called when a plan is made
   * and when it runs. Null, or a result below 1: the library's own number. A number that the
   * process has requested (portaclSetNumThreads, PORTACL_NUM_THREADS) comes first. */
  int32_t (*numThreads)(void* host);

  /** Calls task(context, i) once for each i in [0, count), on any threads in any order. Returns
   * when all calls have returned. The tasks see what the caller wrote before; the caller then sees
   * what the tasks wrote. Several threads may call this at a time, but never from inside a task.
   * Null: the library's own threads, as many as numThreads returns. */
  void (*run)(void* host, int32_t count, void (*task)(void* context, int32_t index), void* context);

  /** The pool's name in portaclGetInfo; copied (up to 159 bytes). Null: "the host's". */
  const char* name;
} portaclThreadPool;

/** Lends the library a pool, for the whole process; null takes it back. The library uses it for
 * work on threads that call the library: plans of this API, and work of streams that such a thread
 * does while it synchronises. Streams' own threads and forked children never use it. The pool's
 *  functions must not call the library's setters. Waits for running work; the library does not use
 *  the previous pool after this call. */
PORTACL_API int32_t portaclSetThreadPool(const portaclThreadPool* pool);

/** Sets which calls the aclnn API accepts: "atlas-a2" (default), "atlas-a3", "atlas-training",
 *  "ascend-950" or "open".
 *  Process-wide; the environment variable PORTACL_PROFILE gives the first value. */
PORTACL_API int32_t portaclSetProfile(const char* name);
PORTACL_API const char* portaclGetProfile(void);

/** Sets which of the vendor's pages the profiles follow: "8.x" (default), the pages of the first
 * operators, or "9.x", the newest pages (differences: docs/compatibility.md). ascend-950 always
 * follows the newest pages. Process-wide; the environment variable PORTACL_EDITION gives the first
 * value.
 */
PORTACL_API int32_t portaclSetEdition(const char* name);
PORTACL_API const char* portaclGetEdition(void);

/** 1 turns each warning of the aclnn API into PORTACL_ERROR_INVALID (environment:
 *  PORTACL_STRICT). */
PORTACL_API int32_t portaclSetStrict(int32_t strict);
PORTACL_API int32_t portaclGetStrict(void);

/** Forces the kernels of a name that portaclGetInfo lists ("ref", "avx2", "avx512", ...);
 *  null or "" chooses the best again (environment: PORTACL_IMPL). If the name is unknown or this
 *  CPU cannot run it, the next plan is refused.
 *
 *  A path may follow the name ("avx2:slab", as in portaclPlanGetKernel), to measure or test that
 *  path alone. Each plan is then made by this path or refused: with PORTACL_ERROR_INVALID and the
 *  list of paths if the operator has no such path, with PORTACL_ERROR_NO_KERNEL if the path does
 *  not serve the call. "avx2:-slab-packed" leaves paths out: each plan takes the best of the other
 *  paths, or is refused with PORTACL_ERROR_NO_KERNEL if there is none. Unknown names of paths are
 *  refused with PORTACL_ERROR_INVALID. */
PORTACL_API int32_t portaclSetImpl(const char* name);
PORTACL_API const char* portaclGetImpl(void);

/** Sets where plans compute that this thread makes from now on: "cpu" (the default), "cuda" (the
 *  first GPU) or "cuda:N". Tensors of a plan for a GPU lie in the GPU's memory; results have the
 *  CPU's bits. If there is no such GPU: PORTACL_ERROR_NO_KERNEL with the reason. If CUDA fails, a
 *  plan's functions also return PORTACL_ERROR_INTERNAL. Only plans of this API use GPUs: devices of
 *  the ACL headers compute on the CPU. */
PORTACL_API int32_t portaclSetDevice(const char* name);
/** Returns "cpu" or "cuda:N", valid until the thread's next call of portaclGetDevice. */
PORTACL_API const char* portaclGetDevice(void);

/* ---- tensors ------------------------------------------------------------------------------ */

/** Element types. Their values are the values of aclDataType. */
enum {
  PORTACL_FLOAT32 = 0,
  PORTACL_FLOAT16 = 1,
  PORTACL_INT32 = 3,
  PORTACL_UINT8 = 4,
  PORTACL_INT64 = 9,
  PORTACL_FLOAT64 = 11,
  PORTACL_BFLOAT16 = 27
};

enum { PORTACL_MAX_RANK = 5 };

/** A view of the caller's memory. Inputs may have any strides (0 repeats, negative flips). Outputs
 *  must not overlap themselves, inputs or other outputs. */
typedef struct portaclTensor {
  void* data;                        /**< Address of element (0, 0, ...). Not written for inputs. */
  int32_t dtype;                     /**< PORTACL_FLOAT32, ... */
  int32_t rank;                      /**< 1 to PORTACL_MAX_RANK. */
  int64_t shape[PORTACL_MAX_RANK];   /**< Extents, outermost first. */
  int64_t strides[PORTACL_MAX_RANK]; /**< In elements. */
} portaclTensor;

enum { PORTACL_BILINEAR = 0, PORTACL_NEAREST = 1, PORTACL_BICUBIC = 2 };
enum {
  PORTACL_ZEROS = 0,
  PORTACL_BORDER = 1,
  PORTACL_REFLECTION = 2,
  PORTACL_CIRCULAR = 3, /* of portaclPlanGridSampler2DPadded and its kin alone */
  PORTACL_CONSTANT = 4
};
enum { PORTACL_AVERAGE = 0, PORTACL_MAX = 1, PORTACL_MAX_CORNERS = 2 };
/** Values of `antialias` for images in PORTACL_UINT8: antialiased with the bits of Pillow, before
 *  release 13 or from release 13 on. */
enum { PORTACL_PILLOW_12 = 12, PORTACL_PILLOW_13 = 13 };

/* ---- plans: check once, run often --------------------------------------------------------- */

/** A checked call with its index tables, kernel and workspace layout. It never changes: many
 * threads may run one plan at a time, each with its own tensors and workspace. A null plan is an
 * error, except for portaclPlanDestroy. Unlike bad handles of the ACL headers, a pointer that is no
 * plan is not detected. */
typedef struct portaclPlan portaclPlan;

/** Plans gradInput[n, c, src(o)] += gradOutput[n, c, o]. Elements without a source become 0.
 *  @param gradOutput (N, C, L), (N, C, H, W) or (N, C, D, H, W).
 *  @param gradInput  same rank and dtype, same N and C, the other spatial extents.
 *  @param scales null, or one value per spatial axis: gradOutput extent / gradInput extent, as
 *  given to the forward function; 0 means "use the sizes".
 *  @param plan receives the plan, null on failure. */
PORTACL_API int32_t portaclPlanUpsampleNearestExactBackward(const portaclTensor* gradOutput,
                                                            const portaclTensor* gradInput,
                                                            const double* scales,
                                                            portaclPlan** plan);

/** Plans output[n, c, o] = input[n, c, src(o)] with the index rule of the backward function, so
 * that each is the other's exact adjoint. Shapes: input like gradInput, output like gradOutput.
 */
PORTACL_API int32_t portaclPlanUpsampleNearestExact(const portaclTensor* input,
                                                    const portaclTensor* output,
                                                    const double* scales, portaclPlan** plan);

/** Plans the gradients of grid sampling.
 *  @param gradOutput (N, C, OH, OW)
 *  @param input      (N, C, H, W), H and W at least 1
 *  @param grid       (N, OH, OW, 2), x first, -1..1 across the image
 *  @param inputGrad  (N, C, H, W), or null if it is not wanted (costs nothing then)
 *  @param gridGrad   (N, OH, OW, 2), or null if it is not wanted
 *  All tensors have one dtype. */
PORTACL_API int32_t portaclPlanGridSampler2DBackward(
    const portaclTensor* gradOutput, const portaclTensor* input, const portaclTensor* grid,
    const portaclTensor* inputGrad, const portaclTensor* gridGrad, int32_t interpolation,
    int32_t padding, int32_t alignCorners, portaclPlan** plan);

/** Plans grid sampling itself: output (N, C, OH, OW) from input (N, C, H, W) at grid
 *  (N, OH, OW, 2). */
PORTACL_API int32_t portaclPlanGridSampler2D(const portaclTensor* input, const portaclTensor* grid,
                                             const portaclTensor* output, int32_t interpolation,
                                             int32_t padding, int32_t alignCorners,
                                             portaclPlan** plan);

/** Plans the gradients of sampling volumes: portaclPlanGridSampler2DBackward with one more axis.
 * gradOutput (N, C, OD, OH, OW), input (N, C, D, H, W), grid (N, OD, OH, OW, 3) with x, y, z along
 * W, H, D; PORTACL_BILINEAR is trilinear, PORTACL_BICUBIC tricubic. */
PORTACL_API int32_t portaclPlanGridSampler3DBackward(
    const portaclTensor* gradOutput, const portaclTensor* input, const portaclTensor* grid,
    const portaclTensor* inputGrad, const portaclTensor* gridGrad, int32_t interpolation,
    int32_t padding, int32_t alignCorners, portaclPlan** plan);

/** Plans grid sampling of volumes: output (N, C, OD, OH, OW) from input (N, C, D, H, W) at grid
 *  (N, OD, OH, OW, 3). */
PORTACL_API int32_t portaclPlanGridSampler3D(const portaclTensor* input, const portaclTensor* grid,
                                             const portaclTensor* output, int32_t interpolation,
                                             int32_t padding, int32_t alignCorners,
                                             portaclPlan** plan);

/** Plans grid sampling like portaclPlanGridSampler2D, but with every padding. Only on the CPU.
 *  @param padding also PORTACL_CIRCULAR: the image repeats itself; PORTACL_CONSTANT: pixels outside
 *  are fillValue, and so are points without pixels inside.
 *  @param fillValue read only with PORTACL_CONSTANT; any value, rounded to float if the tensors are
 *  not PORTACL_DOUBLE.
 *  @param replaceOutside 0, or 1: if a point is outside the image in x or y, before padding, its
 *  value is outsideValue and its gradients are 0. Outside is less than -0.5 or more than
 *  extent - 0.5 pixels; with alignCorners less than 0 or more than extent - 1. */
PORTACL_API int32_t portaclPlanGridSampler2DPadded(
    const portaclTensor* input, const portaclTensor* grid, const portaclTensor* output,
    int32_t interpolation, int32_t padding, int32_t alignCorners, double fillValue,
    int32_t replaceOutside, double outsideValue, portaclPlan** plan);

/** Plans the gradients of portaclPlanGridSampler2DPadded; tensors as for
 *  portaclPlanGridSampler2DBackward. */
PORTACL_API int32_t portaclPlanGridSampler2DPaddedBackward(
    const portaclTensor* gradOutput, const portaclTensor* input, const portaclTensor* grid,
    const portaclTensor* inputGrad, const portaclTensor* gridGrad, int32_t interpolation,
    int32_t padding, int32_t alignCorners, double fillValue, int32_t replaceOutside,
    double outsideValue, portaclPlan** plan);

/** Plans grid sampling of volumes with every padding: portaclPlanGridSampler2DPadded with one more
 * axis; tensors as for portaclPlanGridSampler3D. */
PORTACL_API int32_t portaclPlanGridSampler3DPadded(
    const portaclTensor* input, const portaclTensor* grid, const portaclTensor* output,
    int32_t interpolation, int32_t padding, int32_t alignCorners, double fillValue,
    int32_t replaceOutside, double outsideValue, portaclPlan** plan);

/** Plans the gradients of portaclPlanGridSampler3DPadded; tensors as for
 *  portaclPlanGridSampler3DBackward. */
PORTACL_API int32_t portaclPlanGridSampler3DPaddedBackward(
    const portaclTensor* gradOutput, const portaclTensor* input, const portaclTensor* grid,
    const portaclTensor* inputGrad, const portaclTensor* gridGrad, int32_t interpolation,
    int32_t padding, int32_t alignCorners, double fillValue, int32_t replaceOutside,
    double outsideValue, portaclPlan** plan);

/** Plans resizing by linear interpolation along every spatial axis: linear, bilinear, trilinear.
 *  @param input  (N, C, L), (N, C, H, W) or (N, C, D, H, W).
 *  @param output same rank and dtype, same N and C, the other spatial extents.
 *  @param alignCorners 0: aligns the outer edges (-0.5 and extent - 0.5); else the middles of the
 *  first and last elements.
 *  @param antialias not 0: an axis that shrinks averages over as many elements as one output
 * covers. PORTACL_PILLOW_12 and PORTACL_PILLOW_13 are for images in PORTACL_UINT8, without
 * alignCorners. Otherwise PORTACL_UINT8 gets the bits of PyTorch's CPU kernels.
 *  @param scales null, or one ratio of coordinates (output extent / input extent) per spatial axis;
 *  0 means "use the sizes". Not used with alignCorners.
 *  @param plan receives the plan, null on failure. */
PORTACL_API int32_t portaclPlanUpsampleLinear(const portaclTensor* input,
                                              const portaclTensor* output, int32_t alignCorners,
                                              int32_t antialias, const double* scales,
                                              portaclPlan** plan);

/** Plans the gradient of portaclPlanUpsampleLinear: its exact transpose. gradInput has input's
 * shape, gradOutput output's shape. */
PORTACL_API int32_t portaclPlanUpsampleLinearBackward(const portaclTensor* gradOutput,
                                                      const portaclTensor* gradInput,
                                                      int32_t alignCorners, int32_t antialias,
                                                      const double* scales, portaclPlan** plan);

/** Plans resizing by cubic convolution (A = -0.75; antialiased: -0.5); parameters as for
 *  portaclPlanUpsampleLinear. */
PORTACL_API int32_t portaclPlanUpsampleCubic(const portaclTensor* input,
                                             const portaclTensor* output, int32_t alignCorners,
                                             int32_t antialias, const double* scales,
                                             portaclPlan** plan);

/** Plans the gradient of portaclPlanUpsampleCubic: its exact transpose. */
PORTACL_API int32_t portaclPlanUpsampleCubicBackward(const portaclTensor* gradOutput,
                                                     const portaclTensor* gradInput,
                                                     int32_t alignCorners, int32_t antialias,
                                                     const double* scales, portaclPlan** plan);

/** Plans resizing by Lanczos's filter of three lobes, always antialiased. Parameters as for
 * portaclPlanUpsampleLinear, but alignCorners must be 0, and antialias only decides if images in
 * PORTACL_UINT8 get Pillow's bits. */
PORTACL_API int32_t portaclPlanUpsampleLanczos(const portaclTensor* input,
                                               const portaclTensor* output, int32_t alignCorners,
                                               int32_t antialias, const double* scales,
                                               portaclPlan** plan);

/** Plans the gradient of portaclPlanUpsampleLanczos: its exact transpose. */
PORTACL_API int32_t portaclPlanUpsampleLanczosBackward(const portaclTensor* gradOutput,
                                                       const portaclTensor* gradInput,
                                                       int32_t alignCorners, int32_t antialias,
                                                       const double* scales, portaclPlan** plan);

/** Plans resizing by nearest as in PyTorch: an output takes the element that holds its beginning.
 * Both directions use one index rule. Shapes and scales as for portaclPlanUpsampleNearestExact. */
PORTACL_API int32_t portaclPlanUpsampleNearest(const portaclTensor* input,
                                               const portaclTensor* output, const double* scales,
                                               portaclPlan** plan);

/** Plans the gradient of portaclPlanUpsampleNearest. */
PORTACL_API int32_t portaclPlanUpsampleNearestBackward(const portaclTensor* gradOutput,
                                                       const portaclTensor* gradInput,
                                                       const double* scales, portaclPlan** plan);

/** Plans adaptive average pooling, PyTorch's mode "area": each output is the average of the window
 *  [floor(o * I / O), ceil((o + 1) * I / O)) of each axis, summed in row-major order. In
 *  PORTACL_UINT8 averages are exact, halves rounded up.
 *  @param input  (N, C, L), (N, C, H, W) or (N, C, D, H, W).
 *  @param output same rank and dtype, same N and C, the other spatial extents. */
PORTACL_API int32_t portaclPlanAdaptiveAvgPool(const portaclTensor* input,
                                               const portaclTensor* output, portaclPlan** plan);

/** Plans the gradient of portaclPlanAdaptiveAvgPool: its transpose. gradInput has input's shape,
 * gradOutput output's. */
PORTACL_API int32_t portaclPlanAdaptiveAvgPoolBackward(const portaclTensor* gradOutput,
                                                       const portaclTensor* gradInput,
                                                       portaclPlan** plan);

/** Plans the points of affine maps, as a grid for grid sampling.
 *  @param theta (N, 2, 3), or (N, 3, 4) for volumes.
 *  @param grid  (N, H, W, 2) or (N, D, H, W, 3), x first: theta times (x, y (, z), 1).
 *  @param alignCorners not 0: -1 and 1 are the middles of the border elements, not their outer
 * edges.
 */
PORTACL_API int32_t portaclPlanAffineGrid(const portaclTensor* theta, const portaclTensor* grid,
                                          int32_t alignCorners, portaclPlan** plan);

/** Plans the gradient of portaclPlanAffineGrid with respect to theta. */
PORTACL_API int32_t portaclPlanAffineGridBackward(const portaclTensor* gridGrad,
                                                  const portaclTensor* thetaGrad,
                                                  int32_t alignCorners, portaclPlan** plan);

/** Plans multi-scale deformable attention; formulas and order of sums: docs/ops/ms_deform_attn.md.
 *  @param value           (B, K, M, C): the keys of all levels, M heads of C channels.
 *  @param spatialShapes (L, 2), INT32 or INT64: height and width of each level. Read when the plan
 *  runs; the run refuses a level that does not fit among the keys.
 *  @param levelStartIndex (L), INT32 or INT64: the key of each level's first pixel.
 *  @param locations (B, Q, M, L * P, 2), x first; 0 and 1 are the edges of a level. All P points of
 *  a level come before the next level's points.
 *  @param weights         (B, Q, M, L * P).
 *  @param output          (B, Q, M, C) or (B, Q, M * C).
 *  Locations and weights have value's dtype; beside FLOAT16 and BF16 they may be FLOAT.
 */
PORTACL_API int32_t portaclPlanMsDeformAttn(const portaclTensor* value,
                                            const portaclTensor* spatialShapes,
                                            const portaclTensor* levelStartIndex,
                                            const portaclTensor* locations,
                                            const portaclTensor* weights,
                                            const portaclTensor* output, portaclPlan** plan);

/** Plans the gradients of portaclPlanMsDeformAttn. A gradient that is not wanted may be null.
 *  @param valueGrad, locationsGrad, weightsGrad like value, locations and weights.
 */
PORTACL_API int32_t portaclPlanMsDeformAttnBackward(
    const portaclTensor* value, const portaclTensor* spatialShapes,
    const portaclTensor* levelStartIndex, const portaclTensor* locations,
    const portaclTensor* weights, const portaclTensor* gradOutput, const portaclTensor* valueGrad,
    const portaclTensor* locationsGrad, const portaclTensor* weightsGrad, portaclPlan** plan);

/** Plans RoiAlign: cuts regions of images into bins; each bin becomes one element.
 *  @param input (N, C, H, W).
 *  @param boxes (K, 5): image, x1, y1, x2, y2. A roi with a coordinate that is not finite gives 0.
 * If an image is outside [0, N), the run is refused before anything is written.
 *  @param pooledHeight rows of bins, at least 1.
 *  @param pooledWidth columns of bins, at least 1.
 *  @param spatialScale elements of the image per unit of a roi, above 0.
 *  @param samplingRatio samples of a bin along each axis; 0: the bin's length, rounded up.
 *  @param aligned not 0: half an element is subtracted from scaled coordinates, and rois may be
 *  smaller than an element.
 *  @param mode PORTACL_AVERAGE; PORTACL_MAX: the maximum of the samples; PORTACL_MAX_CORNERS: the
 *  maximum of their weighted corners, as in ONNX's reference.
 *  @param output (K, C, pooledHeight, pooledWidth).
 */
PORTACL_API int32_t portaclPlanRoiAlign(const portaclTensor* input, const portaclTensor* boxes,
                                        int64_t pooledHeight, int64_t pooledWidth,
                                        double spatialScale, int64_t samplingRatio, int32_t aligned,
                                        int32_t mode, const portaclTensor* output,
                                        portaclPlan** plan);

/** Plans the gradient of portaclPlanRoiAlign with respect to input: gradOutput (K, C, pooledHeight,
 *  pooledWidth), boxes (K, 5), gradInput (N, C, H, W).
 *  @param input the function's input; may be null for PORTACL_AVERAGE. */
PORTACL_API int32_t portaclPlanRoiAlignBackward(
    const portaclTensor* gradOutput, const portaclTensor* boxes, const portaclTensor* input,
    int64_t pooledHeight, int64_t pooledWidth, double spatialScale, int64_t samplingRatio,
    int32_t aligned, int32_t mode, const portaclTensor* gradInput, portaclPlan** plan);

/** Plans RoiAlign of rotated rois. Each bin becomes the average of its samples.
 *  @param boxes (K, 6): image, centre x, centre y, width, height, angle in radians. Rois with an
 * angle of 2^20 or more give 0.
 *  @param clockwise not 0: positive angles turn the other way. Other parameters: as for
 *  portaclPlanRoiAlign.
 */
PORTACL_API int32_t portaclPlanRoiAlignRotated(const portaclTensor* input,
                                               const portaclTensor* boxes, int64_t pooledHeight,
                                               int64_t pooledWidth, double spatialScale,
                                               int64_t samplingRatio, int32_t aligned,
                                               int32_t clockwise, const portaclTensor* output,
                                               portaclPlan** plan);

/** Plans the gradient of portaclPlanRoiAlignRotated with respect to input. */
PORTACL_API int32_t portaclPlanRoiAlignRotatedBackward(
    const portaclTensor* gradOutput, const portaclTensor* boxes, int64_t pooledHeight,
    int64_t pooledWidth, double spatialScale, int64_t samplingRatio, int32_t aligned,
    int32_t clockwise, const portaclTensor* gradInput, portaclPlan** plan);

/** The order of planes in a tensor of offsets. PORTACL_PLANES: all of x, all of y, then all masks
 * (if they have no tensor of their own). PORTACL_PAIRS: y and x in turn, as in torchvision. */
#define PORTACL_PLANES 0
#define PORTACL_PAIRS 1

/** Plans a deformable convolution. If a coordinate of a sample is NaN, its output position is NaN.
 * A sample outside the image gives 0, however far outside it is.
 *  @param input (N, C, H, W).
 *  @param weight (O, C / groups, KH, KW).
 *  @param offset (N, 2 * offsetGroups * KH * KW, OH, OW), or with 3 instead of 2 if masks follow.
 *  @param bias (O), or null; may be FLOAT32 beside 16 bits.
 *  @param mask (N, offsetGroups * KH * KW, OH, OW), or null: the factors of the samples.
 *  @param kernelSize KH, KW.
 *  @param stride two numbers, along H and W; dilation likewise.
 *  @param padding four numbers: top, bottom, left, right.
 *  @param groups parts of the channels that are convolved separately.
 *  @param offsetGroups parts of the channels; each has its own offsets and masks.
 *  @param layout of offset: PORTACL_PLANES or PORTACL_PAIRS.
 *  @param output (N, O, OH, OW).
 *  @param columns (N, C, OH * KH, OW * KW), or null: the samples times their masks.
 */
PORTACL_API int32_t portaclPlanDeformConv2d(const portaclTensor* input, const portaclTensor* weight,
                                            const portaclTensor* offset, const portaclTensor* bias,
                                            const portaclTensor* mask, const int64_t* kernelSize,
                                            const int64_t* stride, const int64_t* padding,
                                            const int64_t* dilation, int64_t groups,
                                            int64_t offsetGroups, int32_t layout,
                                            const portaclTensor* output,
                                            const portaclTensor* columns, portaclPlan** plan);

/** Plans the gradients of portaclPlanDeformConv2d. A gradient that is not wanted may be null.
 *  @param columns the function's columns, for weightGrad; null: the run computes them again.
 *  @param inputGrad, weightGrad, offsetGrad, biasGrad, maskGrad like the tensors of these names.
 *  If masks follow the offsets, offsetGrad holds their gradients.
 */
PORTACL_API int32_t portaclPlanDeformConv2dBackward(
    const portaclTensor* input, const portaclTensor* gradOutput, const portaclTensor* columns,
    const portaclTensor* weight, const portaclTensor* offset, const portaclTensor* mask,
    const int64_t* kernelSize, const int64_t* stride, const int64_t* padding,
    const int64_t* dilation, int64_t groups, int64_t offsetGroups, int32_t layout,
    const portaclTensor* inputGrad, const portaclTensor* weightGrad,
    const portaclTensor* offsetGrad, const portaclTensor* biasGrad, const portaclTensor* maskGrad,
    portaclPlan** plan);

/** Plans only the samples of portaclPlanDeformConv2d; offset has the layout PORTACL_PLANES. */
PORTACL_API int32_t portaclPlanDeformableOffsets(const portaclTensor* input,
                                                 const portaclTensor* offset,
                                                 const int64_t* kernelSize, const int64_t* stride,
                                                 const int64_t* padding, const int64_t* dilation,
                                                 int64_t offsetGroups, const portaclTensor* columns,
                                                 portaclPlan** plan);

/** Plans the gradients of portaclPlanDeformableOffsets; gradOutput is like columns. A gradient that
 *  is not wanted may be null. */
PORTACL_API int32_t portaclPlanDeformableOffsetsBackward(
    const portaclTensor* gradOutput, const portaclTensor* input, const portaclTensor* offset,
    const int64_t* kernelSize, const int64_t* stride, const int64_t* padding,
    const int64_t* dilation, int64_t offsetGroups, const portaclTensor* inputGrad,
    const portaclTensor* offsetGrad, portaclPlan** plan);

/** Returns the bytes of scratch memory for one run, often 0. Returns 0 for a null plan. */
PORTACL_API uint64_t portaclPlanGetWorkspaceSize(const portaclPlan* plan);

/** Returns the kernel that the plan chose, "kernel:path" or "kernel", e.g. "avx512:x2" or "ref". */
PORTACL_API const char* portaclPlanGetKernel(const portaclPlan* plan);

/** Runs a plan on the calling thread and the library's threads; returns when the results are
 * complete. A plan for a GPU runs on CUDA's default stream.
 *  @param tensors null for the planned addresses; or the addresses of all tensors, in the order of
 *         the planning function's parameters, with the planned dtypes, shapes and strides. Null
 *         entries keep the planned address.
 *  @param workspace at least the plan's workspace size, aligned to 64 bytes; if null, the library
 *         takes memory from its own pool.
 *  @param workspaceSize size of workspace in bytes, 0 with null. */
PORTACL_API int32_t portaclPlanRun(const portaclPlan* plan, void* const* tensors, void* workspace,
                                   uint64_t workspaceSize);

/** Enqueues a plan for a GPU on a CUDA stream and returns without waiting. Parameters as for
 *  portaclPlanRun. The workspace and the tensors must stay in the GPU's memory until the stream has
 *  passed the call. Without a workspace, memory is allocated and freed in the stream's order
 *  (cudaMallocAsync). A CUDA graph may capture the call; the plan must outlive the graph.
 *  @param stream a cudaStream_t of the plan's GPU; null is CUDA's default stream. */
PORTACL_API int32_t portaclPlanEnqueue(const portaclPlan* plan, void* const* tensors,
                                       void* workspace, uint64_t workspaceSize, void* stream);

/** Frees a plan; null is allowed. May wait for runs on a GPU. The plan must not be running, and no
 * CUDA graph may need it. */
PORTACL_API void portaclPlanDestroy(portaclPlan* plan);

/* ---- arguments of an aclnn function ------------------------------------------------------- */

/* Handles of aclnn/acl_meta.h. Phase 1 of a program's own operator reads its arguments with these
 * functions, and tensors with aclGetViewShape and similar ones (docs/tutorials/own_kernel.md). */
struct aclScalar;
struct aclIntArray;
struct aclFloatArray;
struct aclBoolArray;
struct aclTensor;
struct aclTensorList;

/** Copies the values of an array.
 *  @param values room for `size` values; null is allowed with 0.
 *  @param size number of values. PORTACL_ERROR_INVALID if the array has another number (see
 *  aclGetIntArraySize). */
PORTACL_API int32_t portaclGetIntArrayValues(const struct aclIntArray* array, int64_t* values,
                                             uint64_t size);
PORTACL_API int32_t portaclGetFloatArrayValues(const struct aclFloatArray* array, float* values,
                                               uint64_t size);
PORTACL_API int32_t portaclGetBoolArrayValues(const struct aclBoolArray* array, bool* values,
                                              uint64_t size);

/** Copies the value of a scalar, in its own type.
 *  @param dataType receives the type, an aclDataType.
 *  @param value room for `size` bytes; null: only the type is wanted.
 *  @param size bytes; 16 are enough for each type. PORTACL_ERROR_INVALID if the type needs more. */
PORTACL_API int32_t portaclGetScalarValue(const struct aclScalar* scalar, int32_t* dataType,
                                          void* value, uint64_t size);

/** Copies the handles of a list's tensors. The list still owns them.
 *  @param tensors room for `size` handles; null is allowed with 0.
 *  @param size number of tensors, as aclGetTensorListSize tells; else PORTACL_ERROR_INVALID. */
PORTACL_API int32_t portaclGetTensorListMembers(const struct aclTensorList* list,
                                                const struct aclTensor** tensors, uint64_t size);

#ifdef __cplusplus
} /* extern "C" */

#if __cplusplus < 201703L
#error "the C++ part of portacl/portacl.h needs C++17"
#endif

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace portacl {

/// Element types of tensors.
enum class DataType : int32_t {
  kFloat32 = PORTACL_FLOAT32,
  kFloat16 = PORTACL_FLOAT16,
  kInt32 = PORTACL_INT32,  // for indices
  kUInt8 = PORTACL_UINT8,
  kInt64 = PORTACL_INT64,
  kFloat64 = PORTACL_FLOAT64,
  kBFloat16 = PORTACL_BFLOAT16
};

enum class Interpolation : int32_t {
  kBilinear = PORTACL_BILINEAR,
  kNearest = PORTACL_NEAREST,
  kBicubic = PORTACL_BICUBIC
};

enum class Padding : int32_t {
  kZeros = PORTACL_ZEROS,
  kBorder = PORTACL_BORDER,
  kReflection = PORTACL_REFLECTION,
  kCircular = PORTACL_CIRCULAR,  // these two only for grid_sampler_2d_padded and similar functions
  kConstant = PORTACL_CONSTANT
};

/// How a grid is sampled; see portaclPlanGridSampler2DPadded.
struct GridSampling {
  Interpolation interpolation = Interpolation::kBilinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  double fill_value = 0;                               // of taps outside; only Padding::kConstant
  std::optional<double> outside_value = std::nullopt;  // of points outside; none: padding decides
};
enum class RoiMode : int32_t {
  kAverage = PORTACL_AVERAGE,
  kMax = PORTACL_MAX,
  kMaxCorners = PORTACL_MAX_CORNERS
};

/// How RoiAlign samples; see portaclPlanRoiAlign. `mode` is for upright rois, `clockwise` for
/// rotated ones.
struct RoiAlign {
  double spatial_scale = 1;
  int64_t sampling_ratio = 0;
  bool aligned = false;
  RoiMode mode = RoiMode::kAverage;
  bool clockwise = false;
};

enum class OffsetLayout : int32_t { kPlanes = PORTACL_PLANES, kPairs = PORTACL_PAIRS };

/// How a deformable convolution moves over the image; see portaclPlanDeformConv2d. Only the
/// convolution uses `layout`, the layout of offsets.
struct DeformConv {
  int64_t stride[2] = {1, 1};
  int64_t padding[4] = {0, 0, 0, 0};
  int64_t dilation[2] = {1, 1};
  int64_t groups = 1;
  int64_t offset_groups = 1;
  OffsetLayout layout = OffsetLayout::kPairs;
};

/// Outcome of a call: a code, PORTACL_OK or an error. An error has a message with the parameter,
/// its value and the expected value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(int32_t code) : code_(code) {
    if (code != PORTACL_OK) message_ = portaclGetErrorMessage();
  }
  bool ok() const { return code_ == PORTACL_OK; }
  explicit operator bool() const { return ok(); }
  int32_t code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int32_t code_ = PORTACL_OK;
  std::string message_;
};

/// Sets where this thread's next plans compute: "cpu", "cuda" or "cuda:N"; see portaclSetDevice.
inline Status set_device(const char* name) { return Status(portaclSetDevice(name)); }

/// Lends the library a pool of threads (see portaclThreadPool): any object with
/// `int num_threads()` and `void run(int count, Task task)`, which calls task(i) once for each i in
/// [0, count). It must live until another pool, or none, is set; neither function may throw.
template <class Pool>
Status set_thread_pool(Pool& pool, const char* name = nullptr) {
  static_assert(!std::is_const_v<Pool>, "the pool is run, so it cannot be const");
  portaclThreadPool lent = {};
  lent.host = &pool;
  lent.name = name;
  lent.numThreads = [](void* host) -> int32_t { return static_cast<Pool*>(host)->num_threads(); };
  lent.run = [](void* host, int32_t count, void (*task)(void*, int32_t), void* context) {
    static_cast<Pool*>(host)->run(count, [task, context](int32_t i) { task(context, i); });
  };
  return Status(portaclSetThreadPool(&lent));
}

/// Takes the pool back: work runs on the library's own threads again.
inline Status reset_thread_pool() { return Status(portaclSetThreadPool(nullptr)); }

/// A view of the caller's memory (see portaclTensor). Without strides: contiguous, last axis
/// fastest. An empty view ("Tensor()") stands for an output that is not wanted.
class Tensor {
 public:
  Tensor() : c_{} {}
  Tensor(const void* data, DataType dtype, std::initializer_list<int64_t> shape) : c_{} {
    Set(data, dtype, shape.begin(), shape.size(), nullptr);
  }
  Tensor(const void* data, DataType dtype, std::initializer_list<int64_t> shape,
         std::initializer_list<int64_t> strides)
      : c_{} {
    // A wrong number of strides makes a tensor of rank -1, which every function refuses.
    Set(data, dtype, shape.begin(), strides.size() == shape.size() ? shape.size() : SIZE_MAX,
        strides.begin());
  }
  Tensor(const void* data, DataType dtype, size_t rank, const int64_t* shape,
         const int64_t* strides = nullptr)
      : c_{} {
    Set(data, dtype, shape, rank, strides);
  }
  Tensor(const float* data, std::initializer_list<int64_t> shape)
      : Tensor(data, DataType::kFloat32, shape) {}
  Tensor(const double* data, std::initializer_list<int64_t> shape)
      : Tensor(data, DataType::kFloat64, shape) {}

  explicit operator bool() const { return c_.rank != 0; }
  const portaclTensor* c_tensor() const { return c_.rank != 0 ? &c_ : nullptr; }
  void* data() const { return c_.data; }
  DataType dtype() const { return static_cast<DataType>(c_.dtype); }
  int32_t rank() const { return c_.rank; }
  int64_t shape(int32_t axis) const { return c_.shape[axis]; }
  int64_t stride(int32_t axis) const { return c_.strides[axis]; }

 private:
  void Set(const void* data, DataType dtype, const int64_t* shape, size_t rank,
           const int64_t* strides) {
    c_.data = const_cast<void*>(data);
    c_.dtype = static_cast<int32_t>(dtype);
    if (rank > static_cast<size_t>(PORTACL_MAX_RANK)) {
      c_.rank = -1;
      return;
    }
    c_.rank = static_cast<int32_t>(rank);
    uint64_t next = 1;  // unsigned: a huge shape wraps here, and the library refuses it
    for (size_t i = rank; i-- > 0;) {
      c_.shape[i] = shape[i];
      c_.strides[i] = strides != nullptr ? strides[i] : static_cast<int64_t>(next);
      next *= static_cast<uint64_t>(shape[i]);
    }
  }

  portaclTensor c_;
};

/// A plan for repeated use: `Plan plan; plan.upsample_nearest_exact_backward(...); plan.run();`
/// Move-only; running it is const and thread-safe (each run with its own tensors).
class Plan {
 public:
  Plan() = default;
  Plan(Plan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { portaclPlanDestroy(plan_); }

  Status upsample_nearest_exact_backward(const Tensor& grad_output, const Tensor& grad_input,
                                         const double* scales = nullptr) {
    return Status(portaclPlanUpsampleNearestExactBackward(grad_output.c_tensor(),
                                                          grad_input.c_tensor(), scales, Reset()));
  }
  Status upsample_nearest_exact(const Tensor& input, const Tensor& output,
                                const double* scales = nullptr) {
    return Status(
        portaclPlanUpsampleNearestExact(input.c_tensor(), output.c_tensor(), scales, Reset()));
  }
  Status grid_sampler_2d_padded_backward(const Tensor& grad_output, const Tensor& input,
                                         const Tensor& grid, const Tensor& input_grad,
                                         const Tensor& grid_grad, const GridSampling& how) {
    return Status(portaclPlanGridSampler2DPaddedBackward(
        grad_output.c_tensor(), input.c_tensor(), grid.c_tensor(), input_grad.c_tensor(),
        grid_grad.c_tensor(), static_cast<int32_t>(how.interpolation),
        static_cast<int32_t>(how.padding), how.align_corners ? 1 : 0, how.fill_value,
        how.outside_value ? 1 : 0, how.outside_value.value_or(0), Reset()));
  }
  Status grid_sampler_2d_padded(const Tensor& input, const Tensor& grid, const Tensor& output,
                                const GridSampling& how) {
    return Status(portaclPlanGridSampler2DPadded(
        input.c_tensor(), grid.c_tensor(), output.c_tensor(),
        static_cast<int32_t>(how.interpolation), static_cast<int32_t>(how.padding),
        how.align_corners ? 1 : 0, how.fill_value, how.outside_value ? 1 : 0,
        how.outside_value.value_or(0), Reset()));
  }
  Status grid_sampler_2d_backward(const Tensor& grad_output, const Tensor& input,
                                  const Tensor& grid, const Tensor& input_grad,
                                  const Tensor& grid_grad,
                                  Interpolation interpolation = Interpolation::kBilinear,
                                  Padding padding = Padding::kZeros, bool align_corners = false) {
    return Status(portaclPlanGridSampler2DBackward(
        grad_output.c_tensor(), input.c_tensor(), grid.c_tensor(), input_grad.c_tensor(),
        grid_grad.c_tensor(), static_cast<int32_t>(interpolation), static_cast<int32_t>(padding),
        align_corners ? 1 : 0, Reset()));
  }
  Status grid_sampler_2d(const Tensor& input, const Tensor& grid, const Tensor& output,
                         Interpolation interpolation = Interpolation::kBilinear,
                         Padding padding = Padding::kZeros, bool align_corners = false) {
    return Status(portaclPlanGridSampler2D(
        input.c_tensor(), grid.c_tensor(), output.c_tensor(), static_cast<int32_t>(interpolation),
        static_cast<int32_t>(padding), align_corners ? 1 : 0, Reset()));
  }
  Status grid_sampler_3d_padded_backward(const Tensor& grad_output, const Tensor& input,
                                         const Tensor& grid, const Tensor& input_grad,
                                         const Tensor& grid_grad, const GridSampling& how) {
    return Status(portaclPlanGridSampler3DPaddedBackward(
        grad_output.c_tensor(), input.c_tensor(), grid.c_tensor(), input_grad.c_tensor(),
        grid_grad.c_tensor(), static_cast<int32_t>(how.interpolation),
        static_cast<int32_t>(how.padding), how.align_corners ? 1 : 0, how.fill_value,
        how.outside_value ? 1 : 0, how.outside_value.value_or(0), Reset()));
  }
  Status grid_sampler_3d_padded(const Tensor& input, const Tensor& grid, const Tensor& output,
                                const GridSampling& how) {
    return Status(portaclPlanGridSampler3DPadded(
        input.c_tensor(), grid.c_tensor(), output.c_tensor(),
        static_cast<int32_t>(how.interpolation), static_cast<int32_t>(how.padding),
        how.align_corners ? 1 : 0, how.fill_value, how.outside_value ? 1 : 0,
        how.outside_value.value_or(0), Reset()));
  }
  Status grid_sampler_3d_backward(const Tensor& grad_output, const Tensor& input,
                                  const Tensor& grid, const Tensor& input_grad,
                                  const Tensor& grid_grad,
                                  Interpolation interpolation = Interpolation::kBilinear,
                                  Padding padding = Padding::kZeros, bool align_corners = false) {
    return Status(portaclPlanGridSampler3DBackward(
        grad_output.c_tensor(), input.c_tensor(), grid.c_tensor(), input_grad.c_tensor(),
        grid_grad.c_tensor(), static_cast<int32_t>(interpolation), static_cast<int32_t>(padding),
        align_corners ? 1 : 0, Reset()));
  }
  Status grid_sampler_3d(const Tensor& input, const Tensor& grid, const Tensor& output,
                         Interpolation interpolation = Interpolation::kBilinear,
                         Padding padding = Padding::kZeros, bool align_corners = false) {
    return Status(portaclPlanGridSampler3D(
        input.c_tensor(), grid.c_tensor(), output.c_tensor(), static_cast<int32_t>(interpolation),
        static_cast<int32_t>(padding), align_corners ? 1 : 0, Reset()));
  }

  Status upsample_linear(const Tensor& input, const Tensor& output, bool align_corners = false,
                         bool antialias = false, const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleLinear, input, output, align_corners, antialias, scales);
  }
  Status upsample_linear_backward(const Tensor& grad_output, const Tensor& grad_input,
                                  bool align_corners = false, bool antialias = false,
                                  const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleLinearBackward, grad_output, grad_input, align_corners,
                  antialias, scales);
  }
  Status upsample_cubic(const Tensor& input, const Tensor& output, bool align_corners = false,
                        bool antialias = false, const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleCubic, input, output, align_corners, antialias, scales);
  }
  Status upsample_cubic_backward(const Tensor& grad_output, const Tensor& grad_input,
                                 bool align_corners = false, bool antialias = false,
                                 const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleCubicBackward, grad_output, grad_input, align_corners,
                  antialias, scales);
  }
  Status upsample_lanczos(const Tensor& input, const Tensor& output,
                          const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleLanczos, input, output, false, true, scales);
  }
  Status upsample_lanczos_backward(const Tensor& grad_output, const Tensor& grad_input,
                                   const double* scales = nullptr) {
    return Resize(portaclPlanUpsampleLanczosBackward, grad_output, grad_input, false, true, scales);
  }
  Status upsample_nearest(const Tensor& input, const Tensor& output,
                          const double* scales = nullptr) {
    return Status(portaclPlanUpsampleNearest(input.c_tensor(), output.c_tensor(), scales, Reset()));
  }
  Status upsample_nearest_backward(const Tensor& grad_output, const Tensor& grad_input,
                                   const double* scales = nullptr) {
    return Status(portaclPlanUpsampleNearestBackward(grad_output.c_tensor(), grad_input.c_tensor(),
                                                     scales, Reset()));
  }
  Status adaptive_avg_pool(const Tensor& input, const Tensor& output) {
    return Status(portaclPlanAdaptiveAvgPool(input.c_tensor(), output.c_tensor(), Reset()));
  }
  Status adaptive_avg_pool_backward(const Tensor& grad_output, const Tensor& grad_input) {
    return Status(
        portaclPlanAdaptiveAvgPoolBackward(grad_output.c_tensor(), grad_input.c_tensor(), Reset()));
  }
  Status affine_grid(const Tensor& theta, const Tensor& grid, bool align_corners = false) {
    return Status(
        portaclPlanAffineGrid(theta.c_tensor(), grid.c_tensor(), align_corners ? 1 : 0, Reset()));
  }
  Status affine_grid_backward(const Tensor& grid_grad, const Tensor& theta_grad,
                              bool align_corners = false) {
    return Status(portaclPlanAffineGridBackward(grid_grad.c_tensor(), theta_grad.c_tensor(),
                                                align_corners ? 1 : 0, Reset()));
  }

  Status ms_deform_attn(const Tensor& value, const Tensor& spatial_shapes,
                        const Tensor& level_start_index, const Tensor& locations,
                        const Tensor& weights, const Tensor& output) {
    return Status(portaclPlanMsDeformAttn(value.c_tensor(), spatial_shapes.c_tensor(),
                                          level_start_index.c_tensor(), locations.c_tensor(),
                                          weights.c_tensor(), output.c_tensor(), Reset()));
  }
  Status ms_deform_attn_backward(const Tensor& value, const Tensor& spatial_shapes,
                                 const Tensor& level_start_index, const Tensor& locations,
                                 const Tensor& weights, const Tensor& grad_output,
                                 const Tensor& value_grad, const Tensor& locations_grad,
                                 const Tensor& weights_grad) {
    return Status(portaclPlanMsDeformAttnBackward(
        value.c_tensor(), spatial_shapes.c_tensor(), level_start_index.c_tensor(),
        locations.c_tensor(), weights.c_tensor(), grad_output.c_tensor(), value_grad.c_tensor(),
        locations_grad.c_tensor(), weights_grad.c_tensor(), Reset()));
  }
  Status roi_align(const Tensor& input, const Tensor& boxes, const Tensor& output,
                   const RoiAlign& how = {}) {
    return Status(portaclPlanRoiAlign(input.c_tensor(), boxes.c_tensor(), output.shape(2),
                                      output.shape(3), how.spatial_scale, how.sampling_ratio,
                                      how.aligned ? 1 : 0, static_cast<int32_t>(how.mode),
                                      output.c_tensor(), Reset()));
  }
  /// `input` is needed only for a maximum; otherwise Tensor().
  Status roi_align_backward(const Tensor& grad_output, const Tensor& boxes,
                            const Tensor& grad_input, const RoiAlign& how = {},
                            const Tensor& input = {}) {
    return Status(portaclPlanRoiAlignBackward(
        grad_output.c_tensor(), boxes.c_tensor(), input.c_tensor(), grad_output.shape(2),
        grad_output.shape(3), how.spatial_scale, how.sampling_ratio, how.aligned ? 1 : 0,
        static_cast<int32_t>(how.mode), grad_input.c_tensor(), Reset()));
  }
  Status roi_align_rotated(const Tensor& input, const Tensor& boxes, const Tensor& output,
                           const RoiAlign& how = {}) {
    return Status(portaclPlanRoiAlignRotated(input.c_tensor(), boxes.c_tensor(), output.shape(2),
                                             output.shape(3), how.spatial_scale, how.sampling_ratio,
                                             how.aligned ? 1 : 0, how.clockwise ? 1 : 0,
                                             output.c_tensor(), Reset()));
  }
  Status roi_align_rotated_backward(const Tensor& grad_output, const Tensor& boxes,
                                    const Tensor& grad_input, const RoiAlign& how = {}) {
    return Status(portaclPlanRoiAlignRotatedBackward(
        grad_output.c_tensor(), boxes.c_tensor(), grad_output.shape(2), grad_output.shape(3),
        how.spatial_scale, how.sampling_ratio, how.aligned ? 1 : 0, how.clockwise ? 1 : 0,
        grad_input.c_tensor(), Reset()));
  }

  Status deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                       const Tensor& mask, const Tensor& bias, const Tensor& output,
                       const DeformConv& how = {}, const Tensor& columns = {}) {
    const int64_t kernel[2] = {weight.shape(2), weight.shape(3)};
    return Status(portaclPlanDeformConv2d(
        input.c_tensor(), weight.c_tensor(), offset.c_tensor(), bias.c_tensor(), mask.c_tensor(),
        kernel, how.stride, how.padding, how.dilation, how.groups, how.offset_groups,
        static_cast<int32_t>(how.layout), output.c_tensor(), columns.c_tensor(), Reset()));
  }
  Status deform_conv2d_backward(const Tensor& grad_output, const Tensor& input,
                                const Tensor& weight, const Tensor& offset, const Tensor& mask,
                                const Tensor& input_grad, const Tensor& weight_grad,
                                const Tensor& offset_grad, const Tensor& mask_grad,
                                const Tensor& bias_grad, const DeformConv& how = {},
                                const Tensor& columns = {}) {
    const int64_t kernel[2] = {weight.shape(2), weight.shape(3)};
    return Status(portaclPlanDeformConv2dBackward(
        input.c_tensor(), grad_output.c_tensor(), columns.c_tensor(), weight.c_tensor(),
        offset.c_tensor(), mask.c_tensor(), kernel, how.stride, how.padding, how.dilation,
        how.groups, how.offset_groups, static_cast<int32_t>(how.layout), input_grad.c_tensor(),
        weight_grad.c_tensor(), offset_grad.c_tensor(), bias_grad.c_tensor(), mask_grad.c_tensor(),
        Reset()));
  }
  Status deformable_offsets(const Tensor& input, const Tensor& offset, const Tensor& columns,
                            const int64_t (&kernel)[2], const DeformConv& how = {}) {
    return Status(portaclPlanDeformableOffsets(input.c_tensor(), offset.c_tensor(), kernel,
                                               how.stride, how.padding, how.dilation,
                                               how.offset_groups, columns.c_tensor(), Reset()));
  }
  Status deformable_offsets_backward(const Tensor& grad_output, const Tensor& input,
                                     const Tensor& offset, const Tensor& input_grad,
                                     const Tensor& offset_grad, const int64_t (&kernel)[2],
                                     const DeformConv& how = {}) {
    return Status(portaclPlanDeformableOffsetsBackward(
        grad_output.c_tensor(), input.c_tensor(), offset.c_tensor(), kernel, how.stride,
        how.padding, how.dilation, how.offset_groups, input_grad.c_tensor(), offset_grad.c_tensor(),
        Reset()));
  }

  /// Runs on the planned addresses, with scratch memory from the library's pool.
  Status run() const { return Status(portaclPlanRun(plan_, nullptr, nullptr, 0)); }
  /// Runs on other addresses and scratch memory; see portaclPlanRun.
  Status run(void* const* tensors, void* workspace = nullptr, uint64_t workspace_size = 0) const {
    return Status(portaclPlanRun(plan_, tensors, workspace, workspace_size));
  }
  /// Enqueues a plan for a GPU on a cudaStream_t; see portaclPlanEnqueue.
  Status enqueue(void* stream, void* const* tensors = nullptr, void* workspace = nullptr,
                 uint64_t workspace_size = 0) const {
    return Status(portaclPlanEnqueue(plan_, tensors, workspace, workspace_size, stream));
  }
  uint64_t workspace_size() const { return portaclPlanGetWorkspaceSize(plan_); }
  const char* kernel() const { return portaclPlanGetKernel(plan_); }

 private:
  Status Resize(int32_t (*plan)(const portaclTensor*, const portaclTensor*, int32_t, int32_t,
                                const double*, portaclPlan**),
                const Tensor& from, const Tensor& to, bool align_corners, bool antialias,
                const double* scales) {
    return Status(plan(from.c_tensor(), to.c_tensor(), align_corners ? 1 : 0, antialias ? 1 : 0,
                       scales, Reset()));
  }
  portaclPlan** Reset() {
    portaclPlanDestroy(std::exchange(plan_, nullptr));
    return &plan_;
  }

  portaclPlan* plan_ = nullptr;
};

/// grad_input[n, c, src(o)] += grad_output[n, c, o]; see portaclPlanUpsampleNearestExactBackward.
inline Status upsample_nearest_exact_backward(const Tensor& grad_output, const Tensor& grad_input,
                                              const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_nearest_exact_backward(grad_output, grad_input, scales);
  return status.ok() ? plan.run() : status;
}

/// output[n, c, o] = input[n, c, src(o)]; see portaclPlanUpsampleNearestExact.
inline Status upsample_nearest_exact(const Tensor& input, const Tensor& output,
                                     const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_nearest_exact(input, output, scales);
  return status.ok() ? plan.run() : status;
}

/// Gradients of grid_sampler_2d; pass Tensor() for an output that is not wanted.
/// See portaclPlanGridSampler2DBackward.
inline Status grid_sampler_2d_backward(const Tensor& grad_output, const Tensor& input,
                                       const Tensor& grid, const Tensor& input_grad,
                                       const Tensor& grid_grad,
                                       Interpolation interpolation = Interpolation::kBilinear,
                                       Padding padding = Padding::kZeros,
                                       bool align_corners = false) {
  Plan plan;
  Status status = plan.grid_sampler_2d_backward(grad_output, input, grid, input_grad, grid_grad,
                                                interpolation, padding, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Samples input at the points of grid; see portaclPlanGridSampler2D.
inline Status grid_sampler_2d(const Tensor& input, const Tensor& grid, const Tensor& output,
                              Interpolation interpolation = Interpolation::kBilinear,
                              Padding padding = Padding::kZeros, bool align_corners = false) {
  Plan plan;
  Status status = plan.grid_sampler_2d(input, grid, output, interpolation, padding, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Gradients of grid_sampler_3d; pass Tensor() for an output that is not wanted.
/// See portaclPlanGridSampler3DBackward.
inline Status grid_sampler_3d_backward(const Tensor& grad_output, const Tensor& input,
                                       const Tensor& grid, const Tensor& input_grad,
                                       const Tensor& grid_grad,
                                       Interpolation interpolation = Interpolation::kBilinear,
                                       Padding padding = Padding::kZeros,
                                       bool align_corners = false) {
  Plan plan;
  Status status = plan.grid_sampler_3d_backward(grad_output, input, grid, input_grad, grid_grad,
                                                interpolation, padding, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Samples volumes at the points of grid; see portaclPlanGridSampler3D.
inline Status grid_sampler_3d(const Tensor& input, const Tensor& grid, const Tensor& output,
                              Interpolation interpolation = Interpolation::kBilinear,
                              Padding padding = Padding::kZeros, bool align_corners = false) {
  Plan plan;
  Status status = plan.grid_sampler_3d(input, grid, output, interpolation, padding, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Gradients of grid_sampler_2d_padded; pass Tensor() for an output that is not wanted.
inline Status grid_sampler_2d_padded_backward(const Tensor& grad_output, const Tensor& input,
                                              const Tensor& grid, const Tensor& input_grad,
                                              const Tensor& grid_grad, const GridSampling& how) {
  Plan plan;
  Status status =
      plan.grid_sampler_2d_padded_backward(grad_output, input, grid, input_grad, grid_grad, how);
  return status.ok() ? plan.run() : status;
}

/// Samples input at the points of grid with every padding; see portaclPlanGridSampler2DPadded.
inline Status grid_sampler_2d_padded(const Tensor& input, const Tensor& grid, const Tensor& output,
                                     const GridSampling& how) {
  Plan plan;
  Status status = plan.grid_sampler_2d_padded(input, grid, output, how);
  return status.ok() ? plan.run() : status;
}

/// Gradients of grid_sampler_3d_padded; pass Tensor() for an output that is not wanted.
inline Status grid_sampler_3d_padded_backward(const Tensor& grad_output, const Tensor& input,
                                              const Tensor& grid, const Tensor& input_grad,
                                              const Tensor& grid_grad, const GridSampling& how) {
  Plan plan;
  Status status =
      plan.grid_sampler_3d_padded_backward(grad_output, input, grid, input_grad, grid_grad, how);
  return status.ok() ? plan.run() : status;
}

/// Samples input at the points of grid with every padding; see portaclPlanGridSampler3DPadded.
inline Status grid_sampler_3d_padded(const Tensor& input, const Tensor& grid, const Tensor& output,
                                     const GridSampling& how) {
  Plan plan;
  Status status = plan.grid_sampler_3d_padded(input, grid, output, how);
  return status.ok() ? plan.run() : status;
}

/// Resizes by linear interpolation along every spatial axis; see portaclPlanUpsampleLinear.
inline Status upsample_linear(const Tensor& input, const Tensor& output, bool align_corners = false,
                              bool antialias = false, const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_linear(input, output, align_corners, antialias, scales);
  return status.ok() ? plan.run() : status;
}

/// Gradient of upsample_linear: its exact transpose.
inline Status upsample_linear_backward(const Tensor& grad_output, const Tensor& grad_input,
                                       bool align_corners = false, bool antialias = false,
                                       const double* scales = nullptr) {
  Plan plan;
  Status status =
      plan.upsample_linear_backward(grad_output, grad_input, align_corners, antialias, scales);
  return status.ok() ? plan.run() : status;
}

/// Resizes by cubic convolution; see portaclPlanUpsampleCubic.
inline Status upsample_cubic(const Tensor& input, const Tensor& output, bool align_corners = false,
                             bool antialias = false, const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_cubic(input, output, align_corners, antialias, scales);
  return status.ok() ? plan.run() : status;
}

/// Gradient of upsample_cubic: its exact transpose.
inline Status upsample_cubic_backward(const Tensor& grad_output, const Tensor& grad_input,
                                      bool align_corners = false, bool antialias = false,
                                      const double* scales = nullptr) {
  Plan plan;
  Status status =
      plan.upsample_cubic_backward(grad_output, grad_input, align_corners, antialias, scales);
  return status.ok() ? plan.run() : status;
}

/// Resizes by Lanczos's filter with three lobes; see portaclPlanUpsampleLanczos.
inline Status upsample_lanczos(const Tensor& input, const Tensor& output,
                               const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_lanczos(input, output, scales);
  return status.ok() ? plan.run() : status;
}

/// Gradient of upsample_lanczos: its exact transpose.
inline Status upsample_lanczos_backward(const Tensor& grad_output, const Tensor& grad_input,
                                        const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_lanczos_backward(grad_output, grad_input, scales);
  return status.ok() ? plan.run() : status;
}

/// Resizes by nearest as in PyTorch; see portaclPlanUpsampleNearest.
inline Status upsample_nearest(const Tensor& input, const Tensor& output,
                               const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_nearest(input, output, scales);
  return status.ok() ? plan.run() : status;
}

/// Gradient of upsample_nearest.
inline Status upsample_nearest_backward(const Tensor& grad_output, const Tensor& grad_input,
                                        const double* scales = nullptr) {
  Plan plan;
  Status status = plan.upsample_nearest_backward(grad_output, grad_input, scales);
  return status.ok() ? plan.run() : status;
}

/// Averages windows; see portaclPlanAdaptiveAvgPool.
inline Status adaptive_avg_pool(const Tensor& input, const Tensor& output) {
  Plan plan;
  Status status = plan.adaptive_avg_pool(input, output);
  return status.ok() ? plan.run() : status;
}

/// Gradient of adaptive_avg_pool.
inline Status adaptive_avg_pool_backward(const Tensor& grad_output, const Tensor& grad_input) {
  Plan plan;
  Status status = plan.adaptive_avg_pool_backward(grad_output, grad_input);
  return status.ok() ? plan.run() : status;
}

/// The points of affine maps; see portaclPlanAffineGrid.
inline Status affine_grid(const Tensor& theta, const Tensor& grid, bool align_corners = false) {
  Plan plan;
  Status status = plan.affine_grid(theta, grid, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Gradient of affine_grid with respect to theta.
inline Status affine_grid_backward(const Tensor& grid_grad, const Tensor& theta_grad,
                                   bool align_corners = false) {
  Plan plan;
  Status status = plan.affine_grid_backward(grid_grad, theta_grad, align_corners);
  return status.ok() ? plan.run() : status;
}

/// Multi-scale deformable attention; see portaclPlanMsDeformAttn.
inline Status ms_deform_attn(const Tensor& value, const Tensor& spatial_shapes,
                             const Tensor& level_start_index, const Tensor& locations,
                             const Tensor& weights, const Tensor& output) {
  Plan plan;
  Status status =
      plan.ms_deform_attn(value, spatial_shapes, level_start_index, locations, weights, output);
  return status.ok() ? plan.run() : status;
}

/// Gradients of ms_deform_attn; Tensor() for one that is not wanted.
inline Status ms_deform_attn_backward(const Tensor& value, const Tensor& spatial_shapes,
                                      const Tensor& level_start_index, const Tensor& locations,
                                      const Tensor& weights, const Tensor& grad_output,
                                      const Tensor& value_grad, const Tensor& locations_grad,
                                      const Tensor& weights_grad) {
  Plan plan;
  Status status =
      plan.ms_deform_attn_backward(value, spatial_shapes, level_start_index, locations, weights,
                                   grad_output, value_grad, locations_grad, weights_grad);
  return status.ok() ? plan.run() : status;
}

/// Pools regions of images; see portaclPlanRoiAlign. The bins are the output's.
inline Status roi_align(const Tensor& input, const Tensor& boxes, const Tensor& output,
                        const RoiAlign& how = {}) {
  Plan plan;
  Status status = plan.roi_align(input, boxes, output, how);
  return status.ok() ? plan.run() : status;
}

/// Gradient of roi_align with respect to input; `input` is needed only for a maximum.
inline Status roi_align_backward(const Tensor& grad_output, const Tensor& boxes,
                                 const Tensor& grad_input, const RoiAlign& how = {},
                                 const Tensor& input = {}) {
  Plan plan;
  Status status = plan.roi_align_backward(grad_output, boxes, grad_input, how, input);
  return status.ok() ? plan.run() : status;
}

/// Pools rotated regions of images; see portaclPlanRoiAlignRotated.
inline Status roi_align_rotated(const Tensor& input, const Tensor& boxes, const Tensor& output,
                                const RoiAlign& how = {}) {
  Plan plan;
  Status status = plan.roi_align_rotated(input, boxes, output, how);
  return status.ok() ? plan.run() : status;
}

/// Deformable convolution; see portaclPlanDeformConv2d. Pass Tensor() for a missing mask, bias or
/// columns.
inline Status deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                            const Tensor& mask, const Tensor& bias, const Tensor& output,
                            const DeformConv& how = {}, const Tensor& columns = {}) {
  Plan plan;
  Status status = plan.deform_conv2d(input, weight, offset, mask, bias, output, how, columns);
  return status.ok() ? plan.run() : status;
}

/// Gradients of deform_conv2d; Tensor() for one that is not wanted.
inline Status deform_conv2d_backward(const Tensor& grad_output, const Tensor& input,
                                     const Tensor& weight, const Tensor& offset, const Tensor& mask,
                                     const Tensor& input_grad, const Tensor& weight_grad,
                                     const Tensor& offset_grad, const Tensor& mask_grad,
                                     const Tensor& bias_grad, const DeformConv& how = {},
                                     const Tensor& columns = {}) {
  Plan plan;
  Status status =
      plan.deform_conv2d_backward(grad_output, input, weight, offset, mask, input_grad, weight_grad,
                                  offset_grad, mask_grad, bias_grad, how, columns);
  return status.ok() ? plan.run() : status;
}

/// The samples of a deformable convolution; see portaclPlanDeformableOffsets.
inline Status deformable_offsets(const Tensor& input, const Tensor& offset, const Tensor& columns,
                                 const int64_t (&kernel)[2], const DeformConv& how = {}) {
  Plan plan;
  Status status = plan.deformable_offsets(input, offset, columns, kernel, how);
  return status.ok() ? plan.run() : status;
}

/// Gradients of deformable_offsets; Tensor() for one that is not wanted.
inline Status deformable_offsets_backward(const Tensor& grad_output, const Tensor& input,
                                          const Tensor& offset, const Tensor& input_grad,
                                          const Tensor& offset_grad, const int64_t (&kernel)[2],
                                          const DeformConv& how = {}) {
  Plan plan;
  Status status = plan.deformable_offsets_backward(grad_output, input, offset, input_grad,
                                                   offset_grad, kernel, how);
  return status.ok() ? plan.run() : status;
}

/// Gradient of roi_align_rotated with respect to input.
inline Status roi_align_rotated_backward(const Tensor& grad_output, const Tensor& boxes,
                                         const Tensor& grad_input, const RoiAlign& how = {}) {
  Plan plan;
  Status status = plan.roi_align_rotated_backward(grad_output, boxes, grad_input, how);
  return status.ok() ? plan.run() : status;
}

}  // namespace portacl
#endif /* __cplusplus */

#endif /* PORTACL_PORTACL_H_ */
