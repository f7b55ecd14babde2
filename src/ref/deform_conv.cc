// Samples the image into columns: each sample adds four taps. An output sums its column, kernel
// taps first, then the channels of its group. The gradients do these steps backwards. The gradients
// of a point come from four dot products, one per pixel tap, in 16 lanes joined by a fixed tree.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/kernel.h"
#include "ops/deform_conv_params.h"
#include "ops/listed_kernels.h"
#include "ref/bilinear_taps.h"
#include "ref/for_each_index.h"
#include "ref/lane_tree.h"

namespace portacl::ref {
namespace {

using Params = ops::DeformConvParams;

// One sampling point of an image: its offset group, its kernel tap and its position.
struct Point {
  int64_t group, tap, position;
};

template <class T>
class DeformConv {
  using F = base::ComputeType<T>;

 public:
  DeformConv(const Params& p, void* workspace)
      : p_(p),
        columns_(static_cast<F*>(workspace)),
        column_grads_(columns_ + SizeOfColumns(p)),
        image_(column_grads_ + (p.backward ? SizeOfColumns(p) : 0)),
        weights_(image_ + (p.input_grad.has ? p.channels * p.height * p.width : 0)) {}

  void Run() const {
    if (p_.weight_grad.has) std::fill_n(weights_, SizeOfWeights(), F{0});
    for (int64_t n = 0; n < p_.images; ++n) {
      if (p_.backward) {
        Gradients(n);
      } else {
        Forward(n);
      }
    }
    if (p_.weight_grad.has) StoreWeightGrad();
    if (p_.bias_grad.has) BiasGrad();
  }

 private:
  static int64_t SizeOfColumns(const Params& p) { return p.positions() * p.taps() * p.channels; }
  int64_t SizeOfWeights() const { return p_.out_channels * p_.group_channels() * p_.taps(); }

  F Load(const Params::Read& tensor, int64_t a, int64_t b = 0, int64_t c = 0, int64_t d = 0) const {
    return base::Widen(*tensor.At<T>(a, b, c, d));
  }

  // Where a point lies: its plane of offsets and masks, its row and column in the output.
  int64_t Plane(const Point& at) const { return at.group * p_.taps() + at.tap; }
  int64_t Row(int64_t position) const { return position / p_.out_width; }
  int64_t Column(int64_t position) const { return position % p_.out_width; }
  // The index of a sample in the workspace's columns, and in a tensor of columns.
  int64_t Sample(int64_t position, int64_t tap, int64_t c) const {
    return (position * p_.taps() + tap) * p_.channels + c;
  }
  template <class Tensor>
  auto* SampleIn(const Tensor& tensor, int64_t n, int64_t position, int64_t tap, int64_t c) const {
    return tensor.template At<T>(n, c, Row(position) * p_.kernel[0] + tap / p_.kernel[1],
                                 Column(position) * p_.kernel[1] + tap % p_.kernel[1]);
  }

  F Coordinate(const Point& at, size_t axis, int64_t step) const {
    const int64_t position = axis == 0 ? Row(at.position) : Column(at.position);
    const int64_t tap = axis == 0 ? at.tap / p_.kernel[1] : at.tap % p_.kernel[1];
    return static_cast<F>(position * p_.stride[axis] - p_.padding[axis] + tap * step);
  }
  BilinearTaps<F> TapsOf(int64_t n, const Point& at) const {
    const int64_t row = Row(at.position), column = Column(at.position);
    const int64_t plane = p_.planes.step * Plane(at);
    const F y =
        Coordinate(at, 0, p_.dilation[0]) + Load(p_.offset, n, p_.planes.y + plane, row, column);
    const F x =
        Coordinate(at, 1, p_.dilation[1]) + Load(p_.offset, n, p_.planes.x + plane, row, column);
    return TapsAt(x, y, p_.height, p_.width);
  }
  // The mask of a tap; 1 if there are no masks.
  F MaskOf(int64_t n, const Point& at) const {
    if (!p_.mask.has) return 1;
    return Load(p_.mask, n, Plane(at), Row(at.position), Column(at.position));
  }
  F Pixel(int64_t n, int64_t c, int64_t pixel) const {
    return Load(p_.input, n, c, pixel / p_.width, pixel % p_.width);
  }

  // Calls visit(point) for the points of an image, on several threads.
  template <class Visit>
  void ForPoints(const Visit& visit) const {
    const int64_t planes = p_.offset_groups * p_.taps();
    ForEachIndex(p_.positions() * planes, 16, [&](int64_t i) {
      visit(Point{i % planes / p_.taps(), i % p_.taps(), i / planes});
    });
  }
  // Calls visit(channel) for the channels of a point's group.
  template <class Visit>
  void ForChannels(const Point& at, const Visit& visit) const {
    const int64_t count = p_.offset_channels();
    for (int64_t c = at.group * count; c < (at.group + 1) * count; ++c) visit(c);
  }

  // ---- the function -----------------------------------------------------------------------------

  void MakeColumns(int64_t n) const {
    ForPoints([&](const Point& at) {
      const BilinearTaps<F> taps = TapsOf(n, at);
      const F mask = MaskOf(n, at);
      ForChannels(at, [&](int64_t c) {
        F sum = taps.is_nan ? std::numeric_limits<F>::quiet_NaN() : F{0};
        for (size_t tap = 0; tap < 4; ++tap) {
          if (taps.pixel[tap] < 0) continue;
          sum = std::fma(mask * taps.weight[tap], Pixel(n, c, taps.pixel[tap]), sum);
        }
        columns_[Sample(at.position, at.tap, c)] = sum;
        if (!p_.out_columns.has) return;
        *SampleIn(p_.out_columns, n, at.position, at.tap, c) = base::Narrow<T>(sum);
      });
    });
  }

  void Forward(int64_t n) const {
    MakeColumns(n);
    if (!p_.output.has) return;
    ForEachIndex(p_.out_channels * p_.positions(), 16, [&](int64_t i) {
      const int64_t o = i / p_.positions(), position = i % p_.positions();
      const F sum = OutputAt(o, position) + BiasOf(o);
      *p_.output.At<T>(n, o, Row(position), Column(position)) = base::Narrow<T>(sum);
    });
  }

  F BiasOf(int64_t o) const {
    if (!p_.bias.has) return 0;
    if (p_.bias_is_float) return static_cast<const float*>(p_.bias.data)[o * p_.bias.stride[0]];
    return Load(p_.bias, o);
  }

  F OutputAt(int64_t o, int64_t position) const {
    const int64_t first = o / p_.group_outputs() * p_.group_channels();
    F sum = 0;
    for (int64_t tap = 0; tap < p_.taps(); ++tap) {
      for (int64_t c = 0; c < p_.group_channels(); ++c) {
        sum = std::fma(Load(p_.weight, o, c, tap / p_.kernel[1], tap % p_.kernel[1]),
                       columns_[Sample(position, tap, first + c)], sum);
      }
    }
    return sum;
  }

  // ---- the gradients ----------------------------------------------------------------------------

  void Gradients(int64_t n) const {
    if (p_.input_grad.has || p_.wants_point_grads()) MakeColumnGrads(n);
    if (p_.input_grad.has) InputGrad(n);
    if (p_.wants_point_grads()) {
      ForPoints([&](const Point& at) { StorePointGrad(n, at); });
    }
    if (!p_.weight_grad.has) return;
    if (!p_.columns.has) MakeColumns(n);
    AddToWeights(n);
  }

  void MakeColumnGrads(int64_t n) const {
    ForEachIndex(SizeOfColumns(p_), 64, [&](int64_t i) {
      const int64_t c = i % p_.channels, tap = i / p_.channels % p_.taps();
      const int64_t position = i / p_.channels / p_.taps();
      column_grads_[i] = p_.grad_columns.has
                             ? base::Widen(*SampleIn(p_.grad_columns, n, position, tap, c))
                             : ColumnGradAt(n, position, tap, c);
    });
  }
  F ColumnGradAt(int64_t n, int64_t position, int64_t tap, int64_t c) const {
    const int64_t group = c / p_.group_channels();
    F sum = 0;
    for (int64_t i = 0; i < p_.group_outputs(); ++i) {
      const int64_t o = group * p_.group_outputs() + i;
      sum = std::fma(
          Load(p_.weight, o, c % p_.group_channels(), tap / p_.kernel[1], tap % p_.kernel[1]),
          Load(p_.grad_output, n, o, Row(position), Column(position)), sum);
    }
    return sum;
  }

  // Adds in this order: positions ascending, then a position's kernel taps, then its pixel taps.
  void InputGrad(int64_t n) const {
    const int64_t size = p_.height * p_.width;
    ForEachIndex(p_.channels, 1, [&](int64_t c) {
      F* const sums = image_ + c * size;
      std::fill_n(sums, size, F{0});
      for (int64_t i = 0; i < p_.positions() * p_.taps(); ++i) {
        const Point at{c / p_.offset_channels(), i % p_.taps(), i / p_.taps()};
        const BilinearTaps<F> taps = TapsOf(n, at);
        const F mask = MaskOf(n, at);
        const F grad = column_grads_[Sample(at.position, at.tap, c)];
        for (size_t tap = 0; tap < 4; ++tap) {
          if (taps.pixel[tap] < 0) continue;
          F& sum = sums[taps.pixel[tap]];
          sum = std::fma(mask * taps.weight[tap], grad, sum);
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        *p_.input_grad.At<T>(n, c, i / p_.width, i % p_.width) = base::Narrow<T>(sums[i]);
      }
    });
  }

  F Dot(int64_t n, const Point& at, int64_t pixel) const {
    Lanes<F> lanes{};
    ForChannels(at, [&](int64_t c) {
      F& lane = lanes[static_cast<size_t>(c % p_.offset_channels() % 16)];
      lane = std::fma(column_grads_[Sample(at.position, at.tap, c)], Pixel(n, c, pixel), lane);
    });
    return SumLanes(lanes);
  }

  void StorePointGrad(int64_t n, const Point& at) const {
    const F mask = MaskOf(n, at);
    const auto dot = [&](int64_t pixel) { return Dot(n, at, pixel); };
    const PointGrad<F> grad = PointGradOf(TapsOf(n, at), mask, mask, dot);
    const auto store = [&](const Params::Written& tensor, int64_t plane, F value) {
      if (!tensor.has) return;
      *tensor.At<T>(n, plane, Row(at.position), Column(at.position)) = base::Narrow<T>(value);
    };
    const int64_t plane = p_.planes.step * Plane(at);
    store(p_.offset_grad, p_.planes.x + plane, grad.x);
    store(p_.offset_grad, p_.planes.y + plane, grad.y);
    store(p_.mask_grad, Plane(at), grad.weight);
  }

  // Sums each block of 256 positions from 0, then adds the block's sum to the weight's gradient.
  void AddToWeights(int64_t n) const {
    ForEachIndex(SizeOfWeights(), 1, [&](int64_t i) {
      const int64_t tap = i % p_.taps(), c = i / p_.taps() % p_.group_channels();
      const int64_t o = i / p_.taps() / p_.group_channels();
      const int64_t channel = o / p_.group_outputs() * p_.group_channels() + c;
      constexpr int64_t kBlock = 256;
      for (int64_t begin = 0; begin < p_.positions(); begin += kBlock) {
        F sum = 0;
        for (int64_t at = begin; at < std::min(begin + kBlock, p_.positions()); ++at) {
          const F sample = p_.columns.has ? base::Widen(*SampleIn(p_.columns, n, at, tap, channel))
                                          : columns_[Sample(at, tap, channel)];
          sum = std::fma(Load(p_.grad_output, n, o, Row(at), Column(at)), sample, sum);
        }
        weights_[i] += sum;
      }
    });
  }
  void StoreWeightGrad() const {
    for (int64_t i = 0; i < SizeOfWeights(); ++i) {
      const int64_t tap = i % p_.taps(), c = i / p_.taps() % p_.group_channels();
      *p_.weight_grad.At<T>(i / p_.taps() / p_.group_channels(), c, tap / p_.kernel[1],
                            tap % p_.kernel[1]) = base::Narrow<T>(weights_[i]);
    }
  }

  void BiasGrad() const {
    for (int64_t o = 0; o < p_.out_channels; ++o) {
      F sum = 0;
      for (int64_t n = 0; n < p_.images; ++n) {
        Lanes<F> lanes{};
        for (int64_t at = 0; at < p_.positions(); ++at) {
          lanes[static_cast<size_t>(at % 16)] += Load(p_.grad_output, n, o, Row(at), Column(at));
        }
        sum += SumLanes(lanes);
      }
      *p_.bias_grad.At<T>(o) = base::Narrow<T>(sum);
    }
  }

  const Params& p_;
  F* const columns_;       // samples of one image, (positions, taps, channels)
  F* const column_grads_;  // their gradients, in the same layout
  F* const image_;         // gradient of one image's input, (channels, height, width)
  F* const weights_;       // gradient of the weight, in the weight's layout
};

int64_t Bytes(const Params& p) {
  const int64_t size = p.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t columns = base::SaturatedProduct(
      {2 * size, p.out_height, p.out_width, p.kernel[0], p.kernel[1], p.channels});
  const int64_t image = base::SaturatedProduct({size, p.height, p.width, p.channels});
  const int64_t weights =
      base::SaturatedProduct({size, p.out_channels, p.channels, p.kernel[0], p.kernel[1]});
  int64_t all = 0;
  const bool fits = base::CheckedAdd(columns, image, &all) && base::CheckedAdd(all, weights, &all);
  return fits ? all : INT64_MAX;
}

void Run(const Params& p, void* workspace) {
  base::DispatchFloating(
      p.dtype, [&](auto tag) { DeformConv<typename decltype(tag)::type>(p, workspace).Run(); });
}

}  // namespace

const base::Kernel<Params> kDeformConv = base::ReferenceIn<Params, Run, Bytes>::Make();

}  // namespace portacl::ref
