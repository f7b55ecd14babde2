// Bilinear and nearest passes of the grid sampler's gradients over a row strip.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler_2d_backward_bilinear.cc"
#include "cpu/highway.h"
// Highway first.
#include "cpu/grid_sampler_2d_backward_strip-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Cell>
struct Bilinear {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // One vector of channels of one point.
  static HWY_INLINE void Add(const BilinearGroup<F>& group, int64_t k, F* HWY_RESTRICT upper,
                             F* HWY_RESTRICT lower, V g, V& x, V& y) {
    const D d;
    if constexpr (Cell::kInputGrad) {
      AddTo(d, upper + Cell::kSums, hn::Set(d, group.nw[k]), g);
      AddTo(d, upper + Cell::kSums + Cell::kSize, hn::Set(d, group.ne[k]), g);
      AddTo(d, lower + Cell::kSums, hn::Set(d, group.sw[k]), g);
      AddTo(d, lower + Cell::kSums + Cell::kSize, hn::Set(d, group.se[k]), g);
    }
    if constexpr (Cell::kGridGrad) {
      const V nw = hn::Load(d, upper);
      const V ne = hn::Load(d, upper + Cell::kSize);
      const V sw = hn::Load(d, lower);
      const V se = hn::Load(d, lower + Cell::kSize);
      x = hn::Mul(g, hn::MulAdd(hn::Sub(se, sw), hn::Set(d, group.ty[k]),
                                hn::Mul(hn::Sub(ne, nw), hn::Set(d, group.uy[k]))));
      y = hn::Mul(g, hn::MulAdd(hn::Sub(se, ne), hn::Set(d, group.tx[k]),
                                hn::Mul(hn::Sub(sw, nw), hn::Set(d, group.ux[k]))));
    }
  }

  static void Run(const StripJob<F>& job) {
    BilinearGroup<F> group;
    const int64_t row = job.pitch * Cell::kSize;
    ForGroups<Cell>(
        job, [&](int64_t first) HWY_ATTR { PrepareBilinear(job, first, &group); },
        [&](int64_t k, const F* HWY_RESTRICT g) HWY_ATTR {
          F* upper = job.slab + group.cell[k] * Cell::kSize;
          ForBlock<Cell>(
              [&](int r, V& x, V& y) HWY_ATTR {
                const int64_t lane = int64_t{r} * Cell::kLanes;
                Add(group, k, upper + lane, upper + row + lane, hn::Load(D(), g + lane), x, y);
              },
              job.partial + 2 * int64_t{group.target[k]});
        });
  }
};

// ---- nearest: one tap of weight 1, no gradient of the grid --------------------------------------

template <class Cell>
struct Nearest {
  using F = typename Cell::F;
  using D = typename Cell::Tag;

  static void Run(const StripJob<F>& job) {
    HWY_ALIGN int32_t cells[kGroup];
    const D d;
    ForGroups<Cell>(
        job, [&](int64_t first) HWY_ATTR { PrepareNearest(job, first, cells); },
        [&](int64_t k, const F* HWY_RESTRICT g) HWY_ATTR {
          F* cell = job.slab + cells[k] * Cell::kSize;
          for (int lane = 0; lane < Cell::L; lane += Cell::kLanes) {
            hn::Store(hn::Add(hn::Load(d, cell + lane), hn::Load(d, g + lane)), d, cell + lane);
          }
        });
  }
};

}  // namespace

template <class F>
StripPass<F> BilinearPass(int lanes, bool input_grad, bool grid_grad) {
  return PassOf<Bilinear, F>(lanes, input_grad, grid_grad);
}
template StripPass<float> BilinearPass<float>(int, bool, bool);
template StripPass<double> BilinearPass<double>(int, bool, bool);

template <class F>
StripPass<F> NearestPass(int lanes) {
  return PassOfLanes<Nearest, F, true, false>(lanes);
}
template StripPass<float> NearestPass<float>(int);
template StripPass<double> NearestPass<double>(int);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
