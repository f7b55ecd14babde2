// Runs kernels of linear, cubic and antialiased resizing on test tensors.
#ifndef PORTACL_TESTS_SUPPORT_RESAMPLE_KERNELS_H_
#define PORTACL_TESTS_SUPPORT_RESAMPLE_KERNELS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

#include "ops/resample_axis.h"
#include "ops/resample_params.h"
#include "support/run_kernel.h"

namespace portacl_test {

struct ResampleCase {
  portacl::ops::ResampleMode mode = portacl::ops::ResampleMode::kLinear;
  bool align_corners = false;
  std::vector<double> scales{};  // none, or one for each axis that there is
};
inline std::ostream& operator<<(std::ostream& out, const ResampleCase& c) {
  return out << "mode " << static_cast<int>(c.mode) << (c.align_corners ? " aligned" : "")
             << (c.scales.empty() ? "" : " scaled");
}
inline constexpr std::array kResampleModes = {
    portacl::ops::ResampleMode::kLinear, portacl::ops::ResampleMode::kCubic,
    portacl::ops::ResampleMode::kAntialiasedLinear, portacl::ops::ResampleMode::kAntialiasedCubic,
    portacl::ops::ResampleMode::kLanczos};

// The tables of D, H and W between two shapes (N, C, ...) of the forward function.
class ResampleTables {
 public:
  ResampleTables(Element element, const Shape& in, const Shape& out, const ResampleCase& c,
                 bool backward) {
    const size_t axes = in.size() - 2;
    for (size_t axis = 0; axis < 3; ++axis) {
      portacl::ops::ResampleRule rule;
      rule.in_double = element == Element::kDouble;
      if (axis + axes >= 3) {
        const size_t given = axis + axes - 3;
        rule.mode = c.mode;
        rule.in = in[given + 2];
        rule.out = out[given + 2];
        rule.align_corners = c.align_corners;
        rule.scale = c.scales.empty() ? 0.0 : c.scales[given];
      }
      tables_[axis] = std::make_unique<portacl::ops::ResampleTable>(rule, backward);
    }
  }
  const portacl::ops::ResampleAxis& operator[](size_t axis) const { return tables_[axis]->axis(); }

 private:
  std::array<std::unique_ptr<portacl::ops::ResampleTable>, 3> tables_;
};

// Forward from input to output; backward from gradOutput to gradInput.
[[nodiscard]] inline bool RunResample(
    const portacl::base::Kernel<portacl::ops::ResampleParams>& kernel, const ResampleCase& c,
    bool backward, const Tensor& from, Tensor* to) {
  const ResampleTables tables(from.element(), backward ? to->shape() : from.shape(),
                              backward ? from.shape() : to->shape(), c, backward);
  const auto strides = [](const Tensor& tensor) {
    const auto [n, channel, h, w] = As4D(tensor.strides(), 0);
    return std::array<int64_t, 5>{n, channel, DepthOf(tensor.strides(), 0), h, w};
  };
  portacl::ops::ResampleParams params;
  params.dtype = ToDType(from.element());
  params.backward = backward;
  params.n = from.shape()[0];
  params.c = from.shape()[1];
  params.d = tables[0];
  params.h = tables[1];
  params.w = tables[2];
  params.input = from.first();
  params.output = to->first();
  params.input_stride = strides(from);
  params.output_stride = strides(*to);
  return RunKernel(kernel, params);
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_RESAMPLE_KERNELS_H_
