// The four pixels around a point, their weights and the point's gradients, for deformable attention
// and convolution. Pixels outside the image count as zeros.
#ifndef PORTACL_REF_BILINEAR_TAPS_H_
#define PORTACL_REF_BILINEAR_TAPS_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace portacl::ref {

// Tap 0 is the upper left one (nw), then ne, sw, se. F is float, or double for DOUBLE tensors.
template <class F>
struct BilinearTaps {
  bool is_nan = false;  // a coordinate is NaN: so is the sample; no pixel gets a gradient
  bool usable = false;  // the point is at most a pixel outside the image; false if is_nan
  F tx = 0, ty = 0, ux = 0, uy = 0;              // distances from the pixels before and behind
  std::array<int64_t, 4> pixel{-1, -1, -1, -1};  // y * width + x; -1 outside
  std::array<F, 4> weight{};
};

template <class F>
BilinearTaps<F> TapsAt(F x, F y, int64_t height, int64_t width) {
  BilinearTaps<F> taps;
  taps.is_nan = std::isnan(x) || std::isnan(y);
  taps.usable = x >= F{-1} && x < static_cast<F>(width) && y >= F{-1} && y < static_cast<F>(height);
  if (!taps.usable) return taps;
  const F left = std::floor(x);
  const F top = std::floor(y);
  taps.tx = x - left;
  taps.ty = y - top;
  taps.ux = (left + F{1}) - x;
  taps.uy = (top + F{1}) - y;
  taps.weight = {taps.ux * taps.uy, taps.tx * taps.uy, taps.ux * taps.ty, taps.tx * taps.ty};
  for (int tap = 0; tap < 4; ++tap) {
    const int64_t column = static_cast<int64_t>(left) + tap % 2;
    const int64_t row = static_cast<int64_t>(top) + tap / 2;
    const bool inside = column >= 0 && column < width && row >= 0 && row < height;
    if (inside) taps.pixel[static_cast<size_t>(tap)] = row * width + column;
  }
  return taps;
}

template <class F>
struct PointGrad {
  F weight = 0, x = 0, y = 0;
};

// Gradients of one point: of its weight, and of x and y (the slopes times `of_x` and `of_y`).
// dot(pixel) returns the dot product of gradOutput and the pixel's channels.
template <class F, class Dot>
PointGrad<F> PointGradOf(const BilinearTaps<F>& taps, F of_x, F of_y, const Dot& dot) {
  constexpr F kNaN = std::numeric_limits<F>::quiet_NaN();
  if (taps.is_nan) return {kNaN, kNaN, kNaN};
  if (!taps.usable) return {};
  std::array<F, 4> dots{};
  for (size_t tap = 0; tap < 4; ++tap) {
    if (taps.pixel[tap] >= 0) dots[tap] = dot(taps.pixel[tap]);
  }
  const auto [nw, ne, sw, se] = dots;
  F sum = taps.weight[0] * nw;
  for (size_t tap = 1; tap < 4; ++tap) sum = std::fma(taps.weight[tap], dots[tap], sum);
  return {sum, of_x * std::fma(se - sw, taps.ty, (ne - nw) * taps.uy),
          of_y * std::fma(se - ne, taps.tx, (sw - nw) * taps.ux)};
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_BILINEAR_TAPS_H_
