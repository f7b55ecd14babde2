// The two-phase functions of the operators, made of ops/operator_list.inc. One that no header of
// aclnnop/ declares, or declares otherwise, does not compile.
#include "aclnnop/aclnn_affine_grid.h"
#include "aclnnop/aclnn_grid_sampler2d.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_grid_sampler3d.h"
#include "aclnnop/aclnn_grid_sampler3d_backward.h"
#include "aclnnop/aclnn_resize.h"
#include "aclnnop/aclnn_upsample_bicubic2d_aa.h"
#include "aclnnop/aclnn_upsample_bicubic2d_aa_grad.h"
#include "aclnnop/aclnn_upsample_bicubic_2d.h"
#include "aclnnop/aclnn_upsample_bicubic_2d_backward.h"
#include "aclnnop/aclnn_upsample_bilinear2d_aa.h"
#include "aclnnop/aclnn_upsample_bilinear2d_aa_backward.h"
#include "aclnnop/aclnn_upsample_bilinear_2d.h"
#include "aclnnop/aclnn_upsample_bilinear_2d_backward.h"
#include "aclnnop/aclnn_upsample_bilinear_2d_backward_v2.h"
#include "aclnnop/aclnn_upsample_linear_1d.h"
#include "aclnnop/aclnn_upsample_linear_1d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_1d.h"
#include "aclnnop/aclnn_upsample_nearest_1d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_1d_v2.h"
#include "aclnnop/aclnn_upsample_nearest_2d.h"
#include "aclnnop/aclnn_upsample_nearest_2d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_2d_v2.h"
#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d_backward.h"
#include "aclnnop/aclnn_upsample_trilinear_3d.h"
#include "aclnnop/aclnn_upsample_trilinear_3d_backward.h"
#include "api/aclnn_call.h"
#include "ops/operator_list.h"

namespace {

// A parameter's type by its kind.
using Input = const aclTensor*;
using Grid = const aclTensor*;
using Output = aclTensor*;
using Ints = const aclIntArray*;
using Floats = const aclFloatArray*;
using Bools = const aclBoolArray*;
using Double = double;
using Float = float;
using Mode = int64_t;
using Flag = bool;
using Word = const char*;

}  // namespace

extern "C" {

#define PORTACL_DECLARE(Kind, name, ...) Kind name,
#define PORTACL_READ(Kind, name, ...) reader.Add(name);

#define PORTACL_ACLNN(function, Name, case_name, traits, ...)                                  \
  static_assert(sizeof(&function##GetWorkspaceSize) == sizeof(&function));                     \
  aclnnStatus function##GetWorkspaceSize(PORTACL_FOR_EACH(PORTACL_DECLARE, __VA_ARGS__)        \
                                             uint64_t* workspaceSize,                          \
                                         aclOpExecutor** executor) {                           \
    return portacl::api::PhaseOne(portacl::ops::signatures::function, workspaceSize, executor, \
                                  [&](portacl::api::ArgumentReader& reader) {                  \
                                    PORTACL_FOR_EACH(PORTACL_READ, __VA_ARGS__)                \
                                  });                                                          \
  }                                                                                            \
  aclnnStatus function(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,       \
                       aclrtStream stream) {                                                   \
    return portacl::api::PhaseTwo(#function, workspace, workspaceSize, executor, stream);      \
  }
#include "ops/operator_list.inc"

}  // extern "C"
