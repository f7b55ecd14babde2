// Bilinear and nearest passes of the grid sampler's gradients over a row strip.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_bilinear.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Cell>
struct Bilinear {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // g times the slopes at point k of a group.
  template <class DV, class VV = hn::Vec<DV>>
  static HWY_INLINE VV SlopeX(DV d, const BilinearGroup<F>& group, int64_t k, VV g, VV nw, VV ne,
                              VV sw, VV se) {
    return hn::Mul(g,
                   TapSlope(d, nw, ne, sw, se, hn::Set(d, group.ty[k]), hn::Set(d, group.uy[k])));
  }
  template <class DV, class VV = hn::Vec<DV>>
  static HWY_INLINE VV SlopeY(DV d, const BilinearGroup<F>& group, int64_t k, VV g, VV nw, VV ne,
                              VV sw, VV se) {
    return hn::Mul(g,
                   TapSlope(d, nw, sw, ne, se, hn::Set(d, group.tx[k]), hn::Set(d, group.ux[k])));
  }

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
      x = SlopeX(d, group, k, g, nw, ne, sw, se);
      y = SlopeY(d, group, k, g, nw, ne, sw, se);
    }
  }

  static void RunInMemory(const StripJob<F>& job) {
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

  // A cell's sums are one vector of 512 bits.
  static constexpr bool kFitsRegisters = kBlockBytes == 64 && Cell::L * sizeof(F) == kBlockBytes &&
                                         Cell::kInputGrad && Cell::kGridGrad;

  // The values and sums of the four cells around a point, in registers.
  struct Window {
    static constexpr int64_t kNext = Cell::kSize;
    static constexpr int64_t kSums = Cell::kSums;
    using Block = BlockTag<F, Cell::L>;
    using BlockV = hn::Vec<Block>;

    F* slab;
    int64_t row;
    int32_t cell = 0;  // of slab row 0, which is nowhere
    F* upper = slab;
    F* lower = upper + row;
    BlockV nw, ne, sw, se;
    BlockV nw_sum, ne_sum, sw_sum, se_sum;

    HWY_INLINE explicit Window(const StripJob<F>& job)
        : slab(job.slab), row(job.pitch * Cell::kSize) {
      LoadWest();
      LoadEast();
    }

    HWY_INLINE void LoadWest() {
      const Block d;
      nw = hn::Load(d, upper);
      sw = hn::Load(d, lower);
      nw_sum = hn::Load(d, upper + kSums);
      sw_sum = hn::Load(d, lower + kSums);
    }
    HWY_INLINE void LoadEast() {
      const Block d;
      ne = hn::Load(d, upper + kNext);
      se = hn::Load(d, lower + kNext);
      ne_sum = hn::Load(d, upper + kNext + kSums);
      se_sum = hn::Load(d, lower + kNext + kSums);
    }
    HWY_INLINE void StoreWest() const {
      const Block d;
      hn::Store(nw_sum, d, upper + kSums);
      hn::Store(sw_sum, d, lower + kSums);
    }
    HWY_INLINE void StoreEast() const {
      const Block d;
      hn::Store(ne_sum, d, upper + kNext + kSums);
      hn::Store(se_sum, d, lower + kNext + kSums);
    }

    HWY_INLINE void MoveTo(int32_t next) {
      StoreWest();
      if (next == cell + 1) {
        upper += kNext;
        lower += kNext;
        nw = ne;
        sw = se;
        nw_sum = ne_sum;
        sw_sum = se_sum;
      } else {
        StoreEast();
        upper = slab + next * kNext;
        lower = upper + row;
        LoadWest();
      }
      LoadEast();
      cell = next;
    }
  };

  // The same with a window of cells in registers. The window stays while points stay in it, or
  // moves to the next column. If a point lies elsewhere, the whole window is stored and loaded
  // again.
  static void RunInRegisters(const StripJob<F>& job) {
    const typename Window::Block d;
    BilinearGroup<F> group;
    Window at(job);
    ForGroups<Cell>(
        job, [&](int64_t first) HWY_ATTR { PrepareBilinear(job, first, &group); },
        [&](int64_t k, const F* HWY_RESTRICT g) HWY_ATTR {
          if (group.cell[k] != at.cell) at.MoveTo(group.cell[k]);
          const auto grad = hn::Load(d, g);
          at.nw_sum = hn::MulAdd(hn::Set(d, group.nw[k]), grad, at.nw_sum);
          at.ne_sum = hn::MulAdd(hn::Set(d, group.ne[k]), grad, at.ne_sum);
          at.sw_sum = hn::MulAdd(hn::Set(d, group.sw[k]), grad, at.sw_sum);
          at.se_sum = hn::MulAdd(hn::Set(d, group.se[k]), grad, at.se_sum);
          const auto x = SlopeX(d, group, k, grad, at.nw, at.ne, at.sw, at.se);
          const auto y = SlopeY(d, group, k, grad, at.nw, at.ne, at.sw, at.se);
          StoreTreeSums(d, x, y, job.partial + 2 * int64_t{group.target[k]});
        });
    at.StoreWest();
    at.StoreEast();
  }

  static void Run(const StripJob<F>& job) {
    if constexpr (kFitsRegisters) {
      if (!job.random) return RunInRegisters(job);
    }
    RunInMemory(job);
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
