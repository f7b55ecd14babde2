// Graph names with attributes that choose the resizing operator: ResizeD, Resize and their
// gradients. Also affine grids with all points along one axis.
#ifndef PORTACL_API_ACL_OP_RESIZE_H_
#define PORTACL_API_ACL_OP_RESIZE_H_

#include <memory>

#include "api/acl_op_registry.h"
#include "base/status.h"

namespace portacl::api {

inline constexpr const char* kResizeD = "ResizeD";
inline constexpr const char* kResizeGradD = "ResizeGradD";
inline constexpr const char* kResize = "Resize";
inline constexpr const char* kResizeGrad = "ResizeGrad";

// ResizeD and ResizeGradD: linear on vectors, described as (N, C, 1, L); cubic on images. An
// image's memory may lie in the order H, W, N, C.
base::Status ReadResizeD(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                         std::unique_ptr<GraphCall>* call);
void ViewResizeD(const GraphOperator& op, const HostLists& lists, Tensors* tensors);

// Resize and ResizeGrad: nearest.
base::Status ReadResize(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                        std::unique_ptr<GraphCall>* call);

// Gives y of AffineGrid, (N, H * W, 2) or (N, D * H * W, 3), the axes that the list `size` says.
void SplitGridAxes(const GraphOperator& op, const HostLists& lists, Tensors* tensors);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_RESIZE_H_
