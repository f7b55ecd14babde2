// The passes of the gradients over the points of a strip: bilinear, nearest and bicubic.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_strip.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>

#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/vector/channel_tree-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Runs part(r, x, y) for every vector of a block; stores totals of x and y if gridGrad is wanted.
template <class Cell, class Part>
HWY_INLINE void ForBlock(const Part& part, typename Cell::F* HWY_RESTRICT totals) {
  const typename Cell::Tag d;
  auto x = hn::Zero(d);
  auto y = hn::Zero(d);
  if constexpr (Cell::kGridGrad) {
    SumTree<Cell::kVectors, Cell::kVectors, 0, 1>(part, x, y);
    StoreTreeSums(d, x, y, totals);
  } else {
    for (int r = 0; r < Cell::kVectors; ++r) part(r, x, y);
  }
}

// Goes through the job's points in groups. prepare(first) computes places and weights of a group;
// point(k, g) adds point k of the group. g: its gradOutput, a lane per channel.
template <class Cell, class Prepare, class Point>
HWY_INLINE void ForGroups(const StripJob<typename Cell::F>& job, const Prepare& prepare,
                          const Point& point) {
  HWY_ALIGN typename Cell::F g[kGroup * Cell::L];
  constexpr int64_t kSize = int64_t{kGroup};
  const bool listed = job.groups != nullptr;
  const int64_t groups = listed ? job.count : (job.count + kSize - 1) / kSize;
  const int64_t end = listed ? job.points : job.count;
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t first = (listed ? int64_t{job.groups[i]} : i) * kSize;
    const int64_t count = std::min(kSize, end - first);
    prepare(first);
    job.fetch(job.fetch_source, job.first + first,
              job.index == nullptr ? nullptr : job.index + first, count, g);
    for (int64_t k = 0; k < count; ++k) point(k, g + k * Cell::L);
  }
}

// ---- bilinear -----------------------------------------------------------------------------------

template <class Cell>
struct Bilinear {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // Multiplies g by the slope along x (or y) at point k of a group.
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

  // Adds one vector of channels of one point.
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

  // Whether one 512-bit vector holds all sums of a cell.
  static constexpr bool kFitsRegisters = kBlockBytes == 64 && Cell::L * sizeof(F) == kBlockBytes &&
                                         Cell::kInputGrad && Cell::kGridGrad;

  // The values and sums of the four cells around a point, kept in registers.
  struct Window {
    static constexpr int64_t kNext = Cell::kSize;
    static constexpr int64_t kSums = Cell::kSums;
    using Block = BlockTag<F, Cell::L>;
    using BlockV = hn::Vec<Block>;

    F* slab;
    int64_t row;
    int32_t cell = 0;  // cell 0, in slab row 0, lies outside the image
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

  // Adds the points with a window in registers. The window stays while points stay in its cells, or
  // moves to the next column. If a point lies elsewhere, the window is stored, and a new window is
  // loaded.
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

// ---- bicubic ------------------------------------------------------------------------------------

template <class Cell>
struct Bicubic {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // Places of a point's taps: the tap in row j and column i is at row[j] + column[i].
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

  // Returns vector kIndex of four. SVE's vectors cannot be elements of an array.
  template <size_t kIndex>
  static HWY_INLINE V Choose(V v0, V v1, V v2, V v3) {
    if constexpr (kIndex == 0) return v0;
    if constexpr (kIndex == 1) return v1;
    if constexpr (kIndex == 2) return v2;
    if constexpr (kIndex == 3) return v3;
  }

  // Adds a * b to `sum`, or starts `sum` with the product if kFirst.
  template <bool kFirst>
  static HWY_INLINE void MulAddTo(V a, V b, V& sum) {
    sum = kFirst ? hn::Mul(a, b) : hn::MulAdd(a, b, sum);
  }

  // Adds vector `lane` of one point and, if kTwo, vector lane + kLanes: both share each load of a
  // broadcast weight. Sums of inputGrad are in memory, because several taps may have one cell.
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
      V row1 = g1;  // sums of a row: with weights, with slopes
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

  // Sums the vectors r, r + kStep, ... of one point by the tree.
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

// ---- choice -------------------------------------------------------------------------------------

template <template <class> class Pass, class F, bool kInput, bool kGrid>
StripPass<F> PassOfLanes(int lanes) {
  switch (lanes) {
    case 4:
      return Pass<Cell<F, 4, kInput, kGrid>>::Run;
    case 8:
      return Pass<Cell<F, 8, kInput, kGrid>>::Run;
    default:
      return Pass<Cell<F, kBlockChannels, kInput, kGrid>>::Run;
  }
}

template <template <class> class Pass, class F>
StripPass<F> PassOfMask(int lanes, bool input_grad, bool grid_grad) {
  if (!grid_grad) return PassOfLanes<Pass, F, true, false>(lanes);
  return input_grad ? PassOfLanes<Pass, F, true, true>(lanes)
                    : PassOfLanes<Pass, F, false, true>(lanes);
}

}  // namespace

template <class F>
StripPass<F> PassOf(ops::Interpolation interpolation, int lanes, bool input_grad, bool grid_grad) {
  switch (interpolation) {
    case ops::Interpolation::kNearest:
      return PassOfLanes<Nearest, F, true, false>(lanes);
    case ops::Interpolation::kBilinear:
      return PassOfMask<Bilinear, F>(lanes, input_grad, grid_grad);
    default:
      return PassOfMask<Bicubic, F>(lanes, input_grad, grid_grad);
  }
}
template StripPass<float> PassOf<float>(ops::Interpolation, int, bool, bool);
template StripPass<double> PassOf<double>(ops::Interpolation, int, bool, bool);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
