// Tiles of sampling points: locates points a vector at a time, and computes samples, dot products
// with a gradient, and sums of gradients. Per target.
#if defined(PORTACL_CPU_DETECTION_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_DETECTION_POINTS_INL_H_
#undef PORTACL_CPU_DETECTION_POINTS_INL_H_
#else
#define PORTACL_CPU_DETECTION_POINTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "cpu/detection/booking.h"
#include "cpu/vector/channel_tree-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// ---- tensors (images, channels, rows, columns) --------------------------------------------------

// Returns some pixels of a row, with some channels, as planar memory.
template <class T, class Tensor>
auto PlanarAt(const Tensor& tensor, int64_t n, int64_t channel, int64_t y, int64_t x,
              int64_t channels, int64_t pixels) {
  using Element = typename Tensor::template Element<T>;
  return Planar<Element>{tensor.template At<T>(n, channel, y, x), tensor.stride[1],
                         tensor.stride[3], channels, pixels};
}

// Copies elements of at most L channels. A const tensor is copied to pixels, `step` elements apart,
// widened. Another tensor is written from such pixels, each element rounded once.
template <int L, class E, class F>
void TurnPixels(const Planar<E>& planar, F* pixels, int64_t step) {
  if constexpr (std::is_const_v<E>) {
    ReadPixels<std::remove_const_t<E>, L>(planar, pixels, step);
  } else {
    WritePixels<E, L>(pixels, step, planar);
  }
}

// Calls use(pixels before, row, column, count) for the parts of rows that make up pixels [first,
// first + count), in row-major order.
template <class Use>
void ForRows(int64_t first, int64_t count, int64_t width, const Use& use) {
  for (int64_t j = 0, part = 0; j < count; j += part) {
    const int64_t column = (first + j) % width;
    part = std::min(count - j, width - column);
    use(j, (first + j) / width, column, part);
  }
}
// Calls use(pixels before, planar memory) for such pixels of some channels, in as few parts as the
// strides allow.
template <class T, class Tensor, class Use>
void ForPixels(const Tensor& tensor, int64_t n, int64_t channel, int64_t channels, int64_t first,
               int64_t count, int64_t width, const Use& use) {
  const auto part = [&](int64_t j, int64_t row, int64_t column, int64_t pixels) {
    use(j, PlanarAt<T>(tensor, n, channel, row, column, channels, pixels));
  };
  if (tensor.stride[2] == width * tensor.stride[3]) return part(0, 0, first, count);
  ForRows(first, count, width, part);
}

// Calls use(first channel, channels) for blocks of the channels [first, last).
inline constexpr int64_t kBlockChannels = 16;  // transposed together
template <class Use>
void ForBlocks(int64_t first, int64_t last, const Use& use) {
  for (int64_t c = first; c < last; c += kBlockChannels) {
    use(c, std::min(kBlockChannels, last - c));
  }
}

// ---- points -------------------------------------------------------------------------------------

template <class F>
using PointVector = hn::CappedTag<F, kPointLanes>;
template <class F>
using PointIndex = hn::TFromD<hn::RebindToSigned<PointVector<F>>>;

// The arrays of a tile of points. The functions below say which of them they write.
template <class F>
struct PointTile {
  using Index = PointIndex<F>;

  PointTile(int64_t points, void* memory) : room(points), xy(static_cast<F*>(memory)) {
    attention = xy + 2 * room;
    for (F** const array : {&tx, &ty, &ux, &uy}) *array = Next();
    for (F*& array : weight) array = Next();
    dot = Next();
    taken_ += 3;  // a dot has four values
    for (Index*& array : key) array = reinterpret_cast<Index*>(Next());
    state = reinterpret_cast<Index*>(Next());
  }

  int64_t room;
  F* xy;         // locations, then their gradients
  F* attention;  // weights of points, then their gradients
  F *tx, *ty, *ux, *uy;
  F* weight[4];   // attention times a tap's weight; outside -0, which adds nothing to a sum
  F* dot;         // dot products of a gradient with the four taps of each point
  Index* key[4];  // number of a tap's key; -1 outside
  Index* state;   // 0: contributes nothing, 1: located, 2: NaN

 private:
  F* Next() { return xy + room * taken_++; }
  int64_t taken_ = 3;
};

// Keys (pixels, for example) with adjacent channels.
template <class T>
struct Taps {
  T* first;       // channel 0 of key 0
  int64_t pitch;  // elements from key to key
  T* outside;     // read or written for a tap outside
};

// Locates a vector of points at pixel coordinates (x, y) of images with height x width pixels.
// Writes it from point i of the tile on. Pixel 0 is key `start`. NaN as width: no pixels.
template <class F, class V = hn::Vec<PointVector<F>>>
HWY_INLINE void LocateAt(const PointTile<F>& tile, int64_t i, V x, V y, V height, V width,
                         V start) {
  const PointVector<F> d;
  const hn::RebindToSigned<PointVector<F>> di;
  const V one = hn::Set(d, F{1});
  const auto is_number = hn::And(hn::Eq(x, x), hn::Eq(y, y));
  const auto is_nan = hn::AndNot(is_number, hn::Eq(width, width));
  const auto usable = hn::And(hn::And(hn::Ge(x, hn::Neg(one)), hn::Lt(x, width)),
                              hn::And(hn::Ge(y, hn::Neg(one)), hn::Lt(y, height)));
  x = hn::IfThenElseZero(usable, x);
  y = hn::IfThenElseZero(usable, y);
  const V left = hn::Floor(x), top = hn::Floor(y);
  const V right = hn::Add(left, one), bottom = hn::Add(top, one);
  const V tx = hn::Sub(x, left), ty = hn::Sub(y, top);
  const V ux = hn::Sub(right, x), uy = hn::Sub(bottom, y);
  hn::StoreU(tx, d, tile.tx + i);
  hn::StoreU(ty, d, tile.ty + i);
  hn::StoreU(ux, d, tile.ux + i);
  hn::StoreU(uy, d, tile.uy + i);

  const V attention = hn::LoadU(d, tile.attention + i);
  const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
  const V first = hn::Add(start, hn::Add(hn::Mul(top, width), left));
  const auto store = [&](size_t tap, auto inside, V key, V weight) PORTACL_INLINE_LAMBDA {
    const V outside = hn::IfThenElse(is_nan, nan, hn::Set(d, F{-0.0}));
    hn::StoreU(hn::IfThenElse(inside, hn::Mul(attention, weight), outside), d,
               tile.weight[tap] + i);
    hn::StoreU(hn::ConvertTo(di, hn::IfThenElse(inside, key, hn::Neg(one))), di, tile.key[tap] + i);
  };
  const V zero = hn::Zero(d);
  const auto in_left = hn::And(usable, hn::Ge(left, zero));
  const auto in_right = hn::And(usable, hn::Lt(right, width));
  const auto in_top = hn::Ge(top, zero);
  const auto in_bottom = hn::Lt(bottom, height);
  const V below = hn::Add(first, width);
  store(0, hn::And(in_left, in_top), first, hn::Mul(ux, uy));
  store(1, hn::And(in_right, in_top), hn::Add(first, one), hn::Mul(tx, uy));
  store(2, hn::And(in_left, in_bottom), below, hn::Mul(ux, ty));
  store(3, hn::And(in_right, in_bottom), hn::Add(below, one), hn::Mul(tx, ty));
  const V state = hn::IfThenElse(is_nan, hn::Set(d, F{2}), hn::IfThenElseZero(usable, one));
  hn::StoreU(hn::ConvertTo(di, state), di, tile.state + i);
}

// For sums in memory that each point reads and writes: 512 bits take 1.5 times as long on Zen 4.
template <class F>
using SumTag = hn::CappedTag<F, 32 / sizeof(F)>;

// Calls use(vectors, first channel, channels of the last vector) for blocks of 4, 2 and 1 vectors
// that make up the channels. `vectors` is an integral_constant.
template <class D, class Use>
HWY_INLINE void ForVectors(D d, int64_t channels, const Use& use) {
  const int64_t lanes = Length(d);
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    use(std::integral_constant<int, 4>(), c, lanes);
  }
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {
    use(std::integral_constant<int, 2>(), c, lanes);
  }
  for (; c < channels; c += lanes) {
    use(std::integral_constant<int, 1>(), c, std::min(lanes, channels - c));
  }
}

// ---- samples ------------------------------------------------------------------------------------

// Sums points for kVectors vectors of channels from `channel` on; the last vector has `last` lanes.
// kOnto: adds to the output.
template <int kVectors, bool kOnto = false, class D, class S, class T, class F = hn::TFromD<D>>
HWY_INLINE void SumBlock(D d, const PointTile<F>& tile, int64_t first, int64_t count,
                         const Taps<const S>& taps, int64_t channel, int64_t last,
                         T* HWY_RESTRICT output) {
  using V = hn::Vec<D>;
  const S* HWY_RESTRICT const values = taps.first + channel;
  const int64_t lanes = Length(d);
  const bool whole = last == lanes;
  const auto start = [&](int v) PORTACL_INLINE_LAMBDA {
    if constexpr (kOnto) {
      const auto some = static_cast<size_t>(v + 1 < kVectors ? lanes : last);
      if (v < kVectors) return LoadWideFirst(d, output + v * lanes, some);
    }
    return hn::Zero(d);
  };
  V sum0 = start(0), sum1 = start(1), sum2 = start(2), sum3 = start(3);
  for (int64_t i = first; i < first + count; ++i) {
    if (tile.state[i] == 0) continue;
    for (size_t tap = 0; tap < 4; ++tap) {
      const int64_t key = tile.key[tap][i];
      const S* const from = key < 0 ? taps.outside : values + key * taps.pitch;
      const V weight = hn::Set(d, tile.weight[tap][i]);
      if constexpr (kVectors == 1) {
        const V value =
            whole ? LoadWide(d, from) : LoadWideFirst(d, from, static_cast<size_t>(last));
        sum0 = hn::MulAdd(weight, value, sum0);
      } else {
        sum0 = hn::MulAdd(weight, LoadWide(d, from), sum0);
        sum1 = hn::MulAdd(weight, LoadWide(d, from + lanes), sum1);
      }
      if constexpr (kVectors == 4) {
        sum2 = hn::MulAdd(weight, LoadWide(d, from + 2 * lanes), sum2);
        sum3 = hn::MulAdd(weight, LoadWide(d, from + 3 * lanes), sum3);
      }
    }
  }
  if (!whole) return StoreNarrowFirst(sum0, d, output, static_cast<size_t>(last));
  StoreNarrow(sum0, d, output);
  if constexpr (kVectors > 1) StoreNarrow(sum1, d, output + lanes);
  if constexpr (kVectors == 4) {
    StoreNarrow(sum2, d, output + 2 * lanes);
    StoreNarrow(sum3, d, output + 3 * lanes);
  }
}

// Sums points [first, first + count) for some channels. kOnto: adds to the output.
template <bool kOnto = false, class F, class S, class T>
void SumPoints(const PointTile<F>& tile, int64_t first, int64_t count, const Taps<const S>& taps,
               int64_t channels, T* output) {
  const hn::ScalableTag<F> d;
  const auto sum = [&](auto vectors, int64_t c, int64_t last) PORTACL_INLINE_LAMBDA {
    SumBlock<decltype(vectors)::value, kOnto>(d, tile, first, count, taps, c, last, output + c);
  };
  ForVectors(d, channels, sum);
}

// Sums each point by itself; outputs are `pitch` elements apart. Few channels use short
// vectors, because masked parts of long vectors take twice as long.
template <class F, class S, class T>
HWY_NOINLINE void SumEach(const PointTile<F>& tile, int64_t first, int64_t count,
                          const Taps<const S>& taps, int64_t channels, T* output, int64_t pitch) {
  const auto each = [&](auto d) PORTACL_INLINE_LAMBDA {
    const auto sum = [&](auto vectors, int64_t c, int64_t last) PORTACL_INLINE_LAMBDA {
      for (int64_t i = 0; i < count; ++i) {
        SumBlock<decltype(vectors)::value>(d, tile, first + i, 1, taps, c, last,
                                           output + i * pitch + c);
      }
    };
    ForVectors(d, channels, sum);
  };
  if constexpr (!std::is_same_v<SumTag<F>, hn::ScalableTag<F>>) {
    if (channels <= Length(SumTag<F>())) return each(SumTag<F>());
  }
  each(hn::ScalableTag<F>());
}

// ---- gradients of points ------------------------------------------------------------------------

// Computes the dot products of a gradient with four taps over the channels. kBlock: 16, or 8 for up
// to 8 channels.
template <int kBlock, class T, class F>
HWY_INLINE void DotTaps(const T* HWY_RESTRICT grad, const T* nw_taps, const T* ne_taps,
                        const T* sw_taps, const T* se_taps, int64_t channels, F* HWY_RESTRICT dot) {
  using Block = BlockTag<F, kBlock>;
  using VB = hn::Vec<Block>;
  constexpr int64_t kLanes = kBlockLanes<F, kBlock>;
  constexpr int kBlockVectors = kBlock / kLanes;
  const Block d;
  const auto sum = [&](int r, VB& nw, VB& ne, VB& sw, VB& se) PORTACL_INLINE_LAMBDA {
    nw = ne = sw = se = hn::Zero(d);
    int64_t c = r * kLanes;
    for (; c + kLanes <= channels; c += kBlock) {
      const VB g = LoadWide(d, grad + c);
      nw = hn::MulAdd(g, LoadWide(d, nw_taps + c), nw);
      ne = hn::MulAdd(g, LoadWide(d, ne_taps + c), ne);
      sw = hn::MulAdd(g, LoadWide(d, sw_taps + c), sw);
      se = hn::MulAdd(g, LoadWide(d, se_taps + c), se);
    }
    if (c >= channels) return;
    const auto left = static_cast<size_t>(channels - c);
    const auto some = hn::FirstN(d, left);  // other lanes stay, even -0
    const VB g = LoadWideFirst(d, grad + c, left);
    const auto add = [&](const T* taps, VB lanes) PORTACL_INLINE_LAMBDA {
      return hn::IfThenElse(some, hn::MulAdd(g, LoadWideFirst(d, taps + c, left), lanes), lanes);
    };
    nw = add(nw_taps, nw);
    ne = add(ne_taps, ne);
    sw = add(sw_taps, sw);
    se = add(se_taps, se);
  };
  VB nw = hn::Zero(d), ne = nw, sw = nw, se = nw;
  SumTree<kBlockVectors, kBlockVectors, 0, 1>(sum, nw, ne, sw, se);
  if constexpr (kBlock < 16) {  // as if lanes of +0 were added: -0 becomes +0
    const VB other = hn::Zero(d);
    nw = hn::Add(nw, other);
    ne = hn::Add(ne, other);
    sw = hn::Add(sw, other);
    se = hn::Add(se, other);
  }
  StoreTreeSums(d, nw, ne, dot);
  StoreTreeSums(d, sw, se, dot + 2);
}

// Computes `dot` of points [first, first + count). Gradients of points are `pitch` elements apart;
// 0: all points share one gradient.
template <class F, class T>
HWY_NOINLINE void DotPoints(const PointTile<F>& tile, int64_t first, int64_t count, const T* grad,
                            int64_t pitch, const Taps<const T>& taps, int64_t channels) {
  const auto each = [&](auto block) PORTACL_INLINE_LAMBDA {
    for (int64_t i = first; i < first + count; ++i, grad += pitch) {
      if (tile.state[i] != 1) continue;
      const auto at = [&](size_t tap) PORTACL_INLINE_LAMBDA {
        const int64_t key = tile.key[tap][i];
        return key < 0 ? taps.outside : taps.first + key * taps.pitch;
      };
      DotTaps<decltype(block)::value>(grad, at(0), at(1), at(2), at(3), channels, tile.dot + 4 * i);
    }
  };
  if (channels <= 8) return each(std::integral_constant<int, 8>());
  each(std::integral_constant<int, 16>());
}

// Turns dot products of a vector of points, from point i on, into gradients. `attention` gets the
// gradients of the points' weights, which are samples of gradOutput. Calls store(of_x times slopes
// of the samples along x, of_y times slopes along y). Gradients are 0 for points that contribute
// nothing, and NaN for NaN points.
template <class F, class Store, class VP = hn::Vec<PointVector<F>>>
HWY_INLINE void FinishPoints(const PointTile<F>& tile, int64_t i, VP of_x, VP of_y,
                             const Store& store) {
  const PointVector<F> d;
  const hn::RebindToSigned<PointVector<F>> di;
  VP nw, ne, sw, se;
  LoadDeinterleaved4(d, tile.dot + 4 * i, nw, ne, sw, se);
  const auto inside = [&](size_t tap, VP dot) PORTACL_INLINE_LAMBDA {
    const auto key = hn::LoadU(di, tile.key[tap] + i);
    return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(key, hn::Set(di, -1))), dot);
  };
  nw = inside(0, nw);
  ne = inside(1, ne);
  sw = inside(2, sw);
  se = inside(3, se);
  const VP tx = hn::LoadU(d, tile.tx + i), ty = hn::LoadU(d, tile.ty + i);
  const VP ux = hn::LoadU(d, tile.ux + i), uy = hn::LoadU(d, tile.uy + i);
  VP weight = hn::Mul(hn::Mul(ux, uy), nw);
  weight = hn::MulAdd(hn::Mul(tx, uy), ne, weight);
  weight = hn::MulAdd(hn::Mul(ux, ty), sw, weight);
  weight = hn::MulAdd(hn::Mul(tx, ty), se, weight);
  const VP x = hn::MulAdd(hn::Sub(se, sw), ty, hn::Mul(hn::Sub(ne, nw), uy));
  const VP y = hn::MulAdd(hn::Sub(se, ne), tx, hn::Mul(hn::Sub(sw, nw), ux));
  const auto state = hn::LoadU(di, tile.state + i);
  const auto usable = hn::RebindMask(d, hn::Eq(state, hn::Set(di, 1)));
  const auto is_nan = hn::RebindMask(d, hn::Gt(state, hn::Set(di, 1)));
  const VP other = hn::IfThenElseZero(is_nan, hn::Set(d, std::numeric_limits<F>::quiet_NaN()));
  hn::StoreU(hn::IfThenElse(usable, weight, other), d, tile.attention + i);
  store(hn::IfThenElse(usable, hn::Mul(of_x, x), other),
        hn::IfThenElse(usable, hn::Mul(of_y, y), other));
}

// ---- gradients of keys --------------------------------------------------------------------------

// Adds points to kVectors vectors of channels from c on; the last vector has `last` lanes.
template <int kVectors, class F, class T>
HWY_INLINE void AddBlock(const PointTile<F>& tile, int64_t first, int64_t count,
                         const T* HWY_RESTRICT grad, int64_t last, const Taps<F>& taps, int64_t c) {
  const SumTag<F> d;
  using V = hn::Vec<SumTag<F>>;
  const int64_t lanes = Length(d);
  const auto some = static_cast<size_t>(last);
  const bool whole = last == lanes;
  const V g0 = whole ? LoadWide(d, grad) : LoadWideFirst(d, grad, some);
  const auto rest = [&](int v) PORTACL_INLINE_LAMBDA {
    return v < kVectors ? LoadWide(d, grad + v * lanes) : hn::Zero(d);
  };
  const V g1 = rest(1), g2 = rest(2), g3 = rest(3);
  for (int64_t i = first; i < first + count; ++i) {
    if (tile.state[i] != 1) continue;
    for (size_t tap = 0; tap < 4; ++tap) {
      const int64_t key = tile.key[tap][i];
      F* const sums = (key < 0 ? taps.outside : taps.first + key * taps.pitch) + c;
      const V weight = hn::Set(d, tile.weight[tap][i]);
      if (kVectors == 1 && !whole) {
        StoreFirst(hn::MulAdd(weight, g0, LoadFirst(d, sums, some)), d, sums, some);
        continue;
      }
      const auto add = [&](int v, V g) PORTACL_INLINE_LAMBDA {
        if (v >= kVectors) return;
        F* const to = sums + v * lanes;
        hn::StoreU(hn::MulAdd(weight, g, hn::LoadU(d, to)), d, to);
      };
      add(0, g0);
      add(1, g1);
      add(2, g2);
      add(3, g3);
    }
  }
}

// Adds points [first, first + count), which share one gradient, to some channels of their keys.
template <class F, class T>
void AddPoints(const PointTile<F>& tile, int64_t first, int64_t count, const T* grad,
               const Taps<F>& taps, int64_t channels) {
  const auto add = [&](auto vectors, int64_t c, int64_t last) PORTACL_INLINE_LAMBDA {
    AddBlock<decltype(vectors)::value>(tile, first, count, grad + c, last, taps, c);
  };
  ForVectors(SumTag<F>(), channels, add);
}

// `rows` rows of `count` points with a gradient each. row_step and step: distances of rows and
// points in the tile. grad_row and grad_step: distances of their gradients.
struct PointGrid {
  int64_t first, rows, count;
  int64_t row_step, step;
  int64_t grad_row, grad_step;
};
template <class F, class T>
HWY_NOINLINE void AddEach(const PointTile<F>& tile, const PointGrid& grid, const T* grads,
                          const Taps<F>& taps, int64_t channels) {
  const auto add = [&](auto vectors, int64_t c, int64_t last) PORTACL_INLINE_LAMBDA {
    for (int64_t row = 0; row < grid.rows; ++row) {
      int64_t at = grid.first + row * grid.row_step;
      const T* grad = grads + row * grid.grad_row + c;
      for (int64_t i = 0; i < grid.count; ++i, at += grid.step, grad += grid.grad_step) {
        AddBlock<decltype(vectors)::value>(tile, at, 1, grad, last, taps, c);
      }
    }
  };
  ForVectors(SumTag<F>(), channels, add);
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
