// The four pixels around a point and their weights, for deformable attention and its gradients.
// Pixels outside the image count as zeros.
#ifndef PORTACL_REF_BILINEAR_TAPS_H_
#define PORTACL_REF_BILINEAR_TAPS_H_

#include <array>
#include <cmath>
#include <cstdint>

namespace portacl::ref {

// Tap 0 is the upper left one (nw), then ne, sw, se. F is float, or double for DOUBLE tensors.
template <class F>
struct BilinearTaps {
  bool is_nan = false;  // a coordinate is: the sample is NaN and nothing gets a gradient
  bool usable = false;  // within a pixel of the image; never if is_nan
  F tx = 0, ty = 0, ux = 0, uy = 0;              // the distances from the pixels before and behind
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

}  // namespace portacl::ref

#endif  // PORTACL_REF_BILINEAR_TAPS_H_
