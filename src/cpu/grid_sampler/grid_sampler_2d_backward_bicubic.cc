// Bicubic pass of the grid sampler's gradients over a row strip.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_bicubic.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Cell>
struct Bicubic {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // Where a point's taps are: the tap in row j and column i is at row[j] + column[i].
  struct Places {
    F* row[4];
    int64_t column[4];
  };

  static HWY_INLINE Places PlacesOf(const BicubicGroup<F>& group, int64_t k, F* slab) {
    Places at;
    Unroll<4>([&](auto i) PORTACL_INLINE_LAMBDA {
      at.row[i] = slab + group.row[i][k] * Cell::kSize;
      at.column[i] = group.column[i][k] * Cell::kSize;
    });
    return at;
  }

  // One of four vectors; SVE's cannot stand in arrays.
  template <size_t kIndex>
  static HWY_INLINE V Choose(V v0, V v1, V v2, V v3) {
    if constexpr (kIndex == 0) return v0;
    if constexpr (kIndex == 1) return v1;
    if constexpr (kIndex == 2) return v2;
    if constexpr (kIndex == 3) return v3;
  }

  // sum + a * b, if there is a sum.
  template <bool kFirst>
  static HWY_INLINE void MulAddTo(V a, V b, V& sum) {
    sum = kFirst ? hn::Mul(a, b) : hn::MulAdd(a, b, sum);
  }

  // Vector `lane` of one point and, if kTwo, vector lane + kLanes: two share the load of each
  // broadcast weight. Several taps may have one cell, so inputGrad's sums go through memory.
  template <bool kTwo>
  static HWY_INLINE void Add(const BicubicGroup<F>& group, int64_t k, const Places& at,
                             int64_t lane, const F* HWY_RESTRICT g, V& x1, V& y1, V& x2, V& y2) {
    const D d;
    constexpr int64_t kNext = Cell::kLanes * (Cell::kVectors / 2);
    const V g1 = hn::Load(d, g + lane);
    const V g2 = kTwo ? hn::Load(d, g + lane + kNext) : g1;
    const V wx0 = hn::Set(d, group.wx[0][k]);
    const V wx1 = hn::Set(d, group.wx[1][k]);
    const V wx2 = hn::Set(d, group.wx[2][k]);
    const V wx3 = hn::Set(d, group.wx[3][k]);
    const V dx0 = hn::Set(d, group.dx[0][k]);
    const V dx1 = hn::Set(d, group.dx[1][k]);
    const V dx2 = hn::Set(d, group.dx[2][k]);
    const V dx3 = hn::Set(d, group.dx[3][k]);
    Unroll<4>([&](auto j) PORTACL_INLINE_LAMBDA {
      V row1 = g1;  // sums of a row: with the weights, with their slopes
      V row2 = g1;
      V slope1 = g1;
      V slope2 = g1;
      Unroll<4>([&](auto i) PORTACL_INLINE_LAMBDA {
        F* cell = at.row[j] + at.column[i] + lane;
        if constexpr (Cell::kInputGrad) {
          const V weight = hn::Set(d, group.weight[4 * j + i][k]);
          AddTo(d, cell + Cell::kSums, weight, g1);
          if constexpr (kTwo) AddTo(d, cell + Cell::kSums + kNext, weight, g2);
        }
        if constexpr (Cell::kGridGrad) {
          const V weight = Choose<i>(wx0, wx1, wx2, wx3);
          const V slope = Choose<i>(dx0, dx1, dx2, dx3);
          const V value1 = hn::Load(d, cell);
          MulAddTo<i == 0>(weight, value1, row1);
          MulAddTo<i == 0>(slope, value1, slope1);
          if constexpr (kTwo) {
            const V value2 = hn::Load(d, cell + kNext);
            MulAddTo<i == 0>(weight, value2, row2);
            MulAddTo<i == 0>(slope, value2, slope2);
          }
        }
      });
      if constexpr (Cell::kGridGrad) {
        const V weight = hn::Set(d, group.wy[j][k]);
        const V slope = hn::Set(d, group.dy[j][k]);
        MulAddTo<j == 0>(weight, slope1, x1);
        MulAddTo<j == 0>(slope, row1, y1);
        if constexpr (kTwo) {
          MulAddTo<j == 0>(weight, slope2, x2);
          MulAddTo<j == 0>(slope, row2, y2);
        }
      }
    });
    x1 = hn::Mul(g1, x1);
    y1 = hn::Mul(g1, y1);
    if constexpr (kTwo) {
      x2 = hn::Mul(g2, x2);
      y2 = hn::Mul(g2, y2);
    }
  }

  // The tree over the vectors r, r + kStep, ... of one point.
  template <int kStep>
  static HWY_INLINE void Sum(const BicubicGroup<F>& group, int64_t k, const Places& at,
                             const F* HWY_RESTRICT g, int r, V& x, V& y) {
    V x2 = hn::Zero(D());
    V y2 = x2;
    if constexpr (Cell::kVectors == 1) {
      Add<false>(group, k, at, 0, g, x, y, x2, y2);
    } else {
      if constexpr (2 * kStep == Cell::kVectors) {
        Add<true>(group, k, at, int64_t{r} * Cell::kLanes, g, x, y, x2, y2);
      } else {
        Sum<2 * kStep>(group, k, at, g, r, x, y);
        Sum<2 * kStep>(group, k, at, g, r + kStep, x2, y2);
      }
      x = hn::Add(x, x2);
      y = hn::Add(y, y2);
    }
  }

  static void Run(const StripJob<F>& job) {
    const D d;
    BicubicGroup<F> group;
    ForGroups<Cell>(
        job, [&](int64_t first) HWY_ATTR { PrepareBicubic(job, first, &group); },
        [&](int64_t k, const F* HWY_RESTRICT g) HWY_ATTR {
          V x = hn::Zero(d);
          V y = x;
          Sum<1>(group, k, PlacesOf(group, k, job.slab), g, 0, x, y);
          if constexpr (Cell::kGridGrad) {
            StoreTreeSums(d, x, y, job.partial + 2 * int64_t{group.target[k]});
          }
        });
  }
};

}  // namespace

template <class F>
StripPass<F> BicubicPass(int lanes, bool input_grad, bool grid_grad) {
  return PassOf<Bicubic, F>(lanes, input_grad, grid_grad);
}
template StripPass<float> BicubicPass<float>(int, bool, bool);
template StripPass<double> BicubicPass<double>(int, bool, bool);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
