// RoiAlign's maxima, rotated rois and their gradients, sample by sample: samples of a bin are
// listed once for all channels. They are read from a copy of the image with adjacent channels. Per
// target.
#if defined(PORTACL_CPU_DETECTION_ROI_ALIGN_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_DETECTION_ROI_ALIGN_POINTS_INL_H_
#undef PORTACL_CPU_DETECTION_ROI_ALIGN_POINTS_INL_H_
#else
#define PORTACL_CPU_DETECTION_ROI_ALIGN_POINTS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/round_up.h"
#include "cpu/detection/roi_align_plan.h"
#include "ops/roi_align_params.h"
#include "runtime/parallel.h"

#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/points-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Copies some channels of a roi's bins to pixels or back, as TurnPixels() does.
template <int L, class E, class F>
void TurnBins(const ops::RoiAlignParams& p, int64_t n, int64_t channel, int64_t channels, F* tile,
              int64_t step) {
  ForPixels<E>(p.pooled, n, channel, channels, 0, p.pooled_height * p.pooled_width, p.pooled_width,
               [&](int64_t before, const Planar<E>& bins) {
                 TurnPixels<L>(bins, tile + before * step, step);
               });
}

template <class T>
void ClearPixels(const Planar<T>& to) {
  for (int64_t c = 0; c < to.channels; ++c) {
    T* const channel = to.base + c * to.channel_stride;
    if (to.pixel_stride == 1) {
      Clear(channel, to.pixels);
      continue;
    }
    for (int64_t x = 0; x < to.pixels; ++x) channel[x * to.pixel_stride] = T{};
  }
}

// Writes a row of the image, for some channels: columns [left, right) as TurnPixels() does, and
// zeros to the other columns.
template <int L, class T, class F>
void WriteRow(const ops::RoiAlignParams& p, int64_t image, int64_t y, int64_t channel,
              int64_t channels, int64_t left, int64_t right, F* pixels, int64_t step) {
  const auto part = [&](int64_t x, int64_t end) {
    return PlanarAt<T>(p.image, image, channel, y, x, channels, end - x);
  };
  ClearPixels(part(0, left));
  if (left < right) TurnPixels<L>(part(left, right), pixels, step);
  ClearPixels(part(right, p.width));
}

template <class T>
class RoiPoints {
  using F = base::ComputeType<T>;
  using Params = ops::RoiAlignParams;
  using Roi = ops::Roi<F>;
  using Index = PointIndex<F>;
  static constexpr int64_t kBlock = kBlockChannels;
  using D = BlockTag<F, kBlock>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = kBlockLanes<F, kBlock>;

 public:
  RoiPoints(const Params& p, const RoiPointsGeometry& g, void* workspace)
      : p_(p), g_(g), workspace_(workspace) {}

  void Run() const {
    Clear(At(g_.zeros), g_.pixel);
    for (int slot = 0; slot < g_.slots; ++slot) {
      std::fill_n(Points(slot).state, kRoiPointRoom, Index{1});
    }
    for (int64_t image = 0; image < std::max<int64_t>(p_.images, 1); ++image) {
      const RoiBox box = BoxOfImage(image);
      if (p_.backward) {
        SumImage(image, box);
      } else {
        PoolImage(image, box);
      }
    }
  }

 private:
  F* At(const Part& part, int slot = 0) const { return part.In<F>(workspace_, slot); }
  PointTile<F> Points(int slot) const { return {kRoiPointRoom, At(g_.points, slot)}; }

  // Calls use(row, column, first channel in the tile) for all bins of a roi.
  template <class Use>
  void ForBinsOf(F* tile, const Use& use) const {
    for (int64_t ph = 0; ph < p_.pooled_height; ++ph) {
      for (int64_t pw = 0; pw < p_.pooled_width; ++pw, tile += g_.pixel) use(ph, pw, tile);
    }
  }

  RoiBox BoxOfImage(int64_t image) const {
    RoiBox box{p_.height, 0, p_.width, 0};
    for (int64_t n = 0; n < p_.rois; ++n) {
      if (ops::RoiImage<T>(p_, n) != image) continue;
      const RoiBox of_roi = BoxOf(p_, ops::RoiAt<T>(p_, n));
      if (of_roi.empty()) continue;
      box.top = std::min(box.top, of_roi.top);
      box.bottom = std::max(box.bottom, of_roi.bottom);
      box.left = std::min(box.left, of_roi.left);
      box.right = std::max(box.right, of_roi.right);
    }
    return box;
  }
  template <class Tensor>
  void CopyBox(const Tensor& images, int64_t image, const RoiBox& box) const {
    if (box.empty()) return;
    runtime::ParallelForSlots(box.bottom - box.top, g_.slots, [&](int /*slot*/, int64_t i) {
      const int64_t y = box.top + i;
      F* const to = At(g_.image) + (y * p_.width + box.left) * g_.pixel;
      ForBlocks(0, p_.channels, [&](int64_t c, int64_t channels) {
        TurnPixels<kBlock>(
            PlanarAt<const T>(images, image, c, y, box.left, channels, box.right - box.left),
            to + c, g_.pixel);
      });
    });
  }

  // ---- the function -----------------------------------------------------------------------------

  void PoolImage(int64_t image, const RoiBox& box) const {
    if (!g_.copies) {
      return PoolFrom(image, Taps<const T>{p_.image.At<T>(image), p_.image.stride[3],
                                           g_.zeros.In<T>(workspace_)});
    }
    CopyBox(p_.image, image, box);
    PoolFrom(image, Taps<const F>{At(g_.image), g_.pixel, At(g_.zeros)});
  }

  // Computes the rois of an image. Rois without an image are computed with image 0.
  template <class S>
  void PoolFrom(int64_t image, const Taps<const S>& taps) const {
    runtime::ParallelForSlots(p_.rois, g_.slots, [&](int slot, int64_t n) {
      const int64_t named = ops::RoiImage<T>(p_, n);
      if (named != image && (named >= 0 || image > 0)) return;
      const Roi roi = ops::RoiAt<T>(p_, n);
      const PointTile<F> points = Points(slot);
      ForBinsOf(At(g_.tile, slot), [&](int64_t ph, int64_t pw, F* to) {
        Clear(to, g_.pixel);
        if (roi.image < 0) return;
        ForRoiPoints(p_, roi, ph, pw, points, [&](int64_t count, bool first) {
          if (p_.rotated) return SumPoints<true>(points, 0, count, taps, p_.channels, to);
          FindMaxima(points, count, first, taps, p_.channels, to, nullptr);
        });
        if (p_.rotated) DivideBy(roi.count, p_.channels, to);
      });
      ForBlocks(0, p_.channels, [&](int64_t c, int64_t channels) {
        TurnBins<kBlock, T>(p_, n, c, channels, At(g_.tile, slot) + c, g_.pixel);
      });
    });
  }

  static void DivideBy(F count, int64_t channels, F* to) {
    const D d;
    for (int64_t c = 0; c < channels; c += kLanes) {
      hn::StoreU(hn::Div(hn::LoadU(d, to + c), hn::Set(d, count)), d, to + c);
    }
  }

  // Finds the maxima of listed points and, unless `first`, of the values in `most`. `winner` (may
  // be null) gets the numbers of the points with the maxima; -1 where `most` stays.
  template <class S>
  void FindMaxima(const PointTile<F>& points, int64_t count, bool first, const Taps<const S>& taps,
                  int64_t channels, F* most, Index* winner) const {
    const auto find = [&](auto corners) PORTACL_INLINE_LAMBDA {
      for (int64_t c = 0; c < channels; c += kLanes) {
        MaximumOf<decltype(corners)::value>(points, count, first, taps, c,
                                            std::min(kLanes, channels - c), most, winner);
      }
    };
    if (p_.mode == ops::RoiAlignMode::kMaxCorners) return find(std::true_type());
    find(std::false_type());
  }
  template <bool kCorners, class S>
  static HWY_NOINLINE void MaximumOf(const PointTile<F>& points, int64_t count, bool first,
                                     const Taps<const S>& taps, int64_t c, int64_t channels,
                                     F* HWY_RESTRICT to, Index* HWY_RESTRICT winner) {
    const D d;
    const hn::RebindToSigned<D> di;
    const bool whole = channels == kLanes;
    const auto sample = [&](int64_t i) PORTACL_INLINE_LAMBDA {
      V value = hn::Zero(d);
      for (size_t tap = 0; tap < 4; ++tap) {
        const int64_t key = points.key[tap][i];
        const S* const from = key < 0 ? taps.outside : taps.first + key * taps.pitch + c;
        const V v =
            whole ? LoadWide(d, from) : LoadWideFirst(d, from, static_cast<size_t>(channels));
        const V weight = hn::Set(d, points.weight[tap][i]);
        if (!kCorners && tap > 0) {
          value = hn::MulAdd(weight, v, value);
          continue;
        }
        const V product = hn::Mul(weight, v);
        value = tap == 0 ? product : Larger(value, product);
      }
      return value;
    };
    V most = first ? sample(0) : hn::LoadU(d, to + c);
    auto number = hn::Set(di, first ? 0 : -1);
    for (int64_t i = first ? 1 : 0; i < count; ++i) {
      const V value = sample(i);
      const auto wins = hn::Or(hn::Gt(value, most), hn::AndNot(hn::IsNaN(most), hn::IsNaN(value)));
      most = hn::IfThenElse(wins, value, most);
      number = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, static_cast<Index>(i)), number);
    }
    hn::StoreU(most, d, to + c);
    if (winner != nullptr) hn::StoreU(number, di, winner + c);
  }
  // Returns the larger value. NaN is the largest; of equal values, the first one wins.
  static HWY_INLINE V Larger(V first, V second) {
    return hn::IfThenElse(hn::Or(hn::Gt(second, first), hn::IsNaN(second)), second, first);
  }

  // ---- the gradient -----------------------------------------------------------------------------

  // Owner of some channels in some rows. All rois are added to these in order.
  struct Owner {
    int64_t first, last;  // channels
    int64_t top, bottom;

    bool HasRowsOf(const RoiBox& box) const { return box.top < bottom && box.bottom > top; }
  };

  void SumImage(int64_t image, const RoiBox& box) const {
    if (!p_.rotated) CopyBox(p_.values, image, box);
    const int64_t width = std::max<int64_t>(0, box.right - box.left);
    const int64_t height = std::max<int64_t>(0, box.bottom - box.top);
    runtime::ParallelForSlots(height, g_.slots, [&](int /*slot*/, int64_t i) {
      Clear(At(g_.sums) + ((box.top + i) * p_.width + box.left) * g_.pixel, width * g_.pixel);
    });
    const int64_t rows = base::DivideUp(height, g_.strips);
    const int64_t parts = base::DivideUp(p_.channels, g_.part);
    runtime::ParallelForSlots(parts * g_.strips, g_.slots, [&](int slot, int64_t i) {
      const int64_t first = i / g_.strips * g_.part, top = box.top + i % g_.strips * rows;
      const Owner owner{first, std::min(p_.channels, first + g_.part), top,
                        std::min(box.bottom, top + rows)};
      for (int64_t n = 0; n < p_.rois; ++n) {
        if (ops::RoiImage<T>(p_, n) != image) continue;
        const Roi roi = ops::RoiAt<T>(p_, n);
        if (roi.image == image && owner.HasRowsOf(BoxOf(p_, roi))) AddRoi(roi, n, slot, owner);
      }
    });
    runtime::ParallelForSlots(p_.height, g_.slots, [&](int /*slot*/, int64_t y) {
      const bool named = y >= box.top && y < box.bottom && !box.empty();
      const int64_t left = named ? box.left : p_.width, right = named ? box.right : p_.width;
      ForBlocks(0, p_.channels, [&](int64_t c, int64_t channels) {
        WriteRow<kBlock, T>(p_, image, y, c, channels, left, right,
                            At(g_.sums) + (y * p_.width + left) * g_.pixel + c, g_.pixel);
      });
    });
  }

  void AddRoi(const Roi& roi, int64_t n, int slot, const Owner& owner) const {
    F* const tile = At(g_.tile, slot);
    ForBlocks(owner.first, owner.last, [&](int64_t c, int64_t channels) {
      TurnBins<kBlock, const T>(p_, n, c, channels, tile + c, g_.pixel);
    });
    ForBinsOf(tile + owner.first, [&](int64_t ph, int64_t pw, F* grad) {
      if (g_.strips > 1 && !owner.HasRowsOf(BoxOf(p_, roi, {ph, ph, pw, pw}))) return;
      if (p_.rotated) return AddRotated(roi, ph, pw, slot, owner, grad);
      AddMaxima(roi, ph, pw, slot, owner, grad);
    });
  }

  void AddRotated(const Roi& roi, int64_t ph, int64_t pw, int slot, const Owner& owner,
                  F* grad) const {
    const PointTile<F> points = Points(slot);
    const int64_t channels = owner.last - owner.first;
    DivideBy(roi.count, channels, grad);
    const Taps<F> sums{At(g_.sums) + owner.first, g_.pixel, At(g_.outside, slot)};
    ForRoiPoints(p_, roi, ph, pw, points, [&](int64_t count, bool /*first*/) {
      for (size_t tap = 0; g_.strips > 1 && tap < 4; ++tap) {
        std::replace_if(
            points.key[tap], points.key[tap] + count, [&](Index key) { return !Owns(owner, key); },
            Index{-1});
      }
      AddPoints(points, 0, count, grad, sums, channels);
    });
  }
  bool Owns(const Owner& owner, Index key) const {
    return key >= owner.top * p_.width && key < owner.bottom * p_.width;
  }

  // Adds a bin's gradient to the corners of its largest sample, for each channel by itself.
  void AddMaxima(const Roi& roi, int64_t ph, int64_t pw, int slot, const Owner& owner,
                 const F* grad) const {
    const PointTile<F> points = Points(slot);
    const int64_t channels = owner.last - owner.first;
    F* const most = At(g_.winners, slot);
    Index* const winner = reinterpret_cast<Index*>(most + g_.pixel);
    const auto key = [&](size_t tap) { return winner + static_cast<int64_t>(tap + 1) * g_.pixel; };
    const auto weight = [&](size_t tap) { return most + static_cast<int64_t>(tap + 6) * g_.pixel; };
    std::fill_n(key(0), channels, Index{-1});
    const Taps<const F> values{At(g_.image) + owner.first, g_.pixel, At(g_.zeros)};
    ForRoiPoints(p_, roi, ph, pw, points, [&](int64_t count, bool first) {
      FindMaxima(points, count, first, values, channels, most, winner);
      for (int64_t c = 0; c < channels; ++c) {
        for (size_t tap = 0; winner[c] >= 0 && tap < 4; ++tap) {
          key(tap)[c] = points.key[tap][winner[c]];
          weight(tap)[c] = points.weight[tap][winner[c]];
        }
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      if (key(0)[c] < 0) continue;  // a sample that does not count
      for (size_t tap = 0; tap < 4; ++tap) {
        if (g_.strips > 1 && !Owns(owner, key(tap)[c])) continue;
        F& sum = At(g_.sums)[key(tap)[c] * g_.pixel + owner.first + c];
        sum = std::fma(weight(tap)[c], grad[c], sum);
      }
    }
  }

  const Params& p_;
  const RoiPointsGeometry& g_;
  void* const workspace_;
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
