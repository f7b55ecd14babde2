// Graph names that call different resizing operators, depending on attributes: ResizeD, Resize and
// their gradients. Also affine grids with all points along one axis.
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

// Reads ResizeD and ResizeGradD: linear for vectors, described as (N, C, 1, L), and cubic for
// images. An image's memory may have the order H, W, N, C.
base::Status ReadResizeD(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                         std::unique_ptr<GraphCall>* call);
void ViewResizeD(const GraphOperator& op, const HostLists& lists, Tensors* tensors);

// Reads Resize and ResizeGrad: nearest.
base::Status ReadResize(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                        std::unique_ptr<GraphCall>* call);

// Splits the axis of points of AffineGrid's y, (N, H * W, 2) or (N, D * H * W, 3), by `size`.
void SplitGridAxes(const GraphOperator& op, const HostLists& lists, Tensors* tensors);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_RESIZE_H_
