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

// What the points of a group need, one array per quantity so that vectors fill them.
template <class F>
struct BilinearGroup {
  HWY_ALIGN F nw[kGroup];
  HWY_ALIGN F ne[kGroup];
  HWY_ALIGN F sw[kGroup];
  HWY_ALIGN F se[kGroup];
  HWY_ALIGN F tx[kGroup];
  HWY_ALIGN F ux[kGroup];
  HWY_ALIGN F ty[kGroup];
  HWY_ALIGN F uy[kGroup];
  HWY_ALIGN int32_t cell[kGroup];    // of the upper left tap
  HWY_ALIGN int32_t target[kGroup];  // where the group's gridGrad sums go
};

// Cell (row, column) of the slab's pixel (y, x), all in floating point: rows and columns outside
// the image or the strip must be `nowhere`. Row y - s + 2, column x + 1.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE hn::Vec<IndexTag<D>> CellOf(D d, V x, V y, M inside, int64_t pitch, int64_t first_row) {
  using F = hn::TFromD<D>;
  const IndexTag<D> di;
  const auto above = hn::Set(d, static_cast<F>(first_row - 2));
  const auto row = ToIndex(d, hn::IfThenElseZero(inside, hn::Sub(y, above)));
  const auto column = ToIndex(d, hn::IfThenElseZero(inside, hn::Add(x, hn::Set(d, F{1}))));
  return hn::Add(hn::Mul(row, hn::Set(di, static_cast<int32_t>(pitch))), column);
}

// Not inlined: the compiler would keep the weights in vector registers and extract them lane by
// lane, at twice the cost of loading them.
template <class F>
HWY_NOINLINE void PrepareBilinear(const StripJob<F>& job, int64_t first, BilinearGroup<F>* group) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const auto one = hn::Set(d, F{1});
  const auto minus_one = hn::Set(d, F{-1});
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, job.x + first + static_cast<int64_t>(i));
    const auto y = hn::LoadU(d, job.y + first + static_cast<int64_t>(i));
    const auto x0 = hn::Floor(x);
    const auto y0 = hn::Floor(y);
    const auto tx = hn::Sub(x, x0);
    const auto ty = hn::Sub(y, y0);
    const auto ux = hn::Sub(hn::Add(x0, one), x);
    const auto uy = hn::Sub(hn::Add(y0, one), y);
    hn::Store(hn::Mul(ux, uy), d, group->nw + i);
    hn::Store(hn::Mul(tx, uy), d, group->ne + i);
    hn::Store(hn::Mul(ux, ty), d, group->sw + i);
    hn::Store(hn::Mul(tx, ty), d, group->se + i);
    hn::Store(tx, d, group->tx + i);
    hn::Store(ty, d, group->ty + i);
    hn::Store(ux, d, group->ux + i);
    hn::Store(uy, d, group->uy + i);
    const auto inside_x =
        hn::And(hn::Ge(x0, minus_one), hn::Le(x0, hn::Set(d, job.geometry.x.last)));
    const auto inside_y =
        hn::And(hn::Ge(y0, minus_one), hn::Le(y0, hn::Set(d, job.geometry.y.last)));
    const auto inside = hn::And(inside_x, inside_y);
    hn::Store(CellOf(d, x0, y0, inside, job.pitch, job.first_row), di, group->cell + i);
    // Row s - 1 belongs to the strip above, row -1 of the first strip to nobody else.
    const auto second =
        job.first_row == 0 ? hn::MaskFromVec(hn::Zero(d)) : hn::And(inside, hn::Lt(y0, first_row));
    StoreTargets(job, first, i, second, group->target);
  }
}

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

template <class F>
HWY_NOINLINE void PrepareNearest(const StripJob<F>& job, int64_t first,
                                 int32_t* HWY_RESTRICT cells) {
  const PointTag<F> d;
  const auto zero = hn::Zero(d);
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::Round(hn::LoadU(d, job.x + first + static_cast<int64_t>(i)));
    const auto y = hn::Round(hn::LoadU(d, job.y + first + static_cast<int64_t>(i)));
    const auto inside_x = hn::And(hn::Ge(x, zero), hn::Le(x, hn::Set(d, job.geometry.x.last)));
    const auto inside_y = hn::And(hn::Ge(y, zero), hn::Le(y, hn::Set(d, job.geometry.y.last)));
    hn::Store(CellOf(d, x, y, hn::And(inside_x, inside_y), job.pitch, job.first_row),
              IndexTag<PointTag<F>>(), cells + i);
  }
}

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
