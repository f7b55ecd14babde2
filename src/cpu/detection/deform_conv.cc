// Deformable convolution, its samples alone, and their gradients, for every instruction set.
// Samples a tile of positions on a copy of the image with adjacent channels, then multiplies by the
// weight. The gradients take these steps backwards, tile by tile in the order of positions.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dispatch.h"
#include "base/round_up.h"
#include "cpu/detection/deform_conv_plan.h"
#include "ops/deform_conv_params.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/deform_conv.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/panel_product-inl.h"
#include "cpu/detection/points-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::DeformConvParams;

template <class T>
class DeformConv {
  using F = base::ComputeType<T>;
  static constexpr int64_t kBlock = kBlockChannels;
  static constexpr int64_t kMostWidth = 128;  // of a panel, for SVE's longest vectors

 public:
  DeformConv(const Params& p, const DeformConvGeometry& g, void* workspace)
      : p_(p), g_(g), workspace_(workspace) {}

  void Run() const {
    Clear(At(g_.image) + Pixels() * g_.pixel, g_.pixel);
    if (p_.weight.has && !p_.backward) PackWeights();
    if (p_.weight.has && p_.backward) PackBack();
    if (p_.weight_grad.has && p_.images == 0) {
      Clear(At(g_.totals), PanelAt(g_.totals, p_.groups, 0, 0) - At(g_.totals));
    }
    if (p_.bias_grad.has) Clear(At(g_.lanes), p_.out_channels * (kBlock + 1));
    for (int64_t n = 0; n < p_.images; ++n) {
      TurnImage(p_.input, n, At(g_.image));
      if (p_.backward) {
        BackwardOf(n);
      } else {
        ForwardOf(n);
      }
    }
    if (p_.weight_grad.has) WriteWeightGrad();
    for (int64_t o = 0; p_.bias_grad.has && o < p_.out_channels; ++o) {
      *p_.bias_grad.At<T>(o) = base::Narrow<T>(At(g_.lanes)[o * (kBlock + 1) + kBlock]);
    }
  }

 private:
  // A tile: positions [first, first + count) of an image.
  struct Tile {
    int64_t image, first, count;
  };

  F* At(const Part& part, int slot = 0) const { return part.In<F>(workspace_, slot); }
  int64_t Pixels() const { return p_.height * p_.width; }
  int64_t RowsOf(int64_t count) const { return base::RoundUp(count, g_.shape.rows); }
  PointTile<F> Points(int slot) const { return {g_.tile_points, At(g_.points, slot)}; }
  // Returns the first point of a kernel tap and offset group in the tile's arrays.
  int64_t PointsOf(int64_t tap, int64_t group) const {
    return (tap * p_.offset_groups + group) * g_.points_pitch;
  }
  // Returns the offset of a run of a group's elements in a column.
  int64_t RunAt(int64_t run, int64_t group) const {
    return run * p_.channels + group * p_.group_channels();
  }
  Taps<const F> PixelTaps(int64_t channel) const {
    const F* const image = At(g_.image);
    return {image + channel, g_.pixel, image + Pixels() * g_.pixel};
  }

  // Calls use(position in the tile, row, column, count) for each row of positions, as far as it
  // belongs to the tile.
  template <class Use>
  void ForPositionRows(const Tile& tile, const Use& use) const {
    ForRows(tile.first, tile.count, p_.out_width, use);
  }
  // Calls use(position in the tile, planar memory) for some channels of a tensor with positions as
  // pixels.
  template <class Tensor, class Use>
  void ForPositions(const Tensor& tensor, const Tile& tile, int64_t channel, int64_t channels,
                    const Use& use) const {
    ForPixels<T>(tensor, tile.image, channel, channels, tile.first, tile.count, p_.out_width, use);
  }

  // ---- copies -----------------------------------------------------------------------------------

  // Copies an image to pixels with adjacent channels; a Written tensor is copied from such pixels.
  template <class Tensor>
  void TurnImage(const Tensor& tensor, int64_t n, F* image) const {
    runtime::ParallelForSlots(p_.height, g_.slots, [&](int /*slot*/, int64_t y) {
      ForBlocks(0, p_.channels, [&](int64_t c, int64_t channels) {
        TurnPixels<kBlock>(PlanarAt<T>(tensor, n, c, y, 0, channels, p_.width),
                           image + y * p_.width * g_.pixel + c, g_.pixel);
      });
    });
  }
  // Copies a tile of a tensor with the shape of the columns. A block may write behind its
  // channels; the next block overwrites this.
  template <class Tensor>
  void TurnColumns(const Tensor& tensor, const Tile& tile, F* columns) const {
    ForPositionRows(tile, [&](int64_t j, int64_t row, int64_t column, int64_t count) {
      for (int64_t tap = 0; tap < p_.taps(); ++tap) {
        const int64_t y = row * p_.kernel[0] + tap / p_.kernel[1];
        const int64_t x = column * p_.kernel[1] + tap % p_.kernel[1];
        ForBlocks(0, p_.channels, [&](int64_t c, int64_t channels) {
          auto samples = PlanarAt<T>(tensor, tile.image, c, y, x, channels, count);
          samples.pixel_stride *= p_.kernel[1];
          TurnPixels<kBlock>(samples, columns + j * g_.column + tap * p_.channels + c, g_.column);
        });
      }
    });
  }

  // ---- the weight -------------------------------------------------------------------------------

  // Packs the weight by panels of outputs: the weights of these for each element of a column.
  void PackWeights() const {
    const int64_t width = g_.shape.width, outputs = p_.group_outputs();
    const int64_t panels = base::DivideUp(outputs, width), depth = g_.runs * g_.run;
    runtime::ParallelForSlots(p_.groups * panels, g_.slots, [&](int /*slot*/, int64_t i) {
      F* const panel = At(g_.weights) + i * depth * width;
      const int64_t first = i % panels * width;
      const int64_t count = std::min(width, outputs - first);
      if (count < width) Clear(panel, depth * width);
      for (int64_t lane = 0; lane < count; lane += kBlock) {
        PackOutputs(i / panels * outputs + first + lane, std::min(kBlock, count - lane),
                    panel + lane);
      }
    });
  }
  // Packs some outputs. A dense weight has adjacent elements, channels before taps.
  void PackOutputs(int64_t output, int64_t count, F* panel) const {
    constexpr int64_t kChunk = 256;
    F chunk[kChunk * kBlock];
    const auto& s = p_.weight.stride;
    const bool dense = s[3] == 1 && s[2] == p_.kernel[1] && s[1] == p_.taps();
    const int64_t depth = g_.runs * g_.run, step = dense ? kChunk : 1;
    for (int64_t first = 0; first < depth; first += step) {
      const int64_t elements = std::min(step, depth - first), tap = first % p_.taps();
      const T* const from =
          p_.weight.At<T>(output, first / p_.taps(), tap / p_.kernel[1], tap % p_.kernel[1]);
      ReadPixels<T, kBlock>({from, s[0], 1, count, elements}, chunk, kBlock);
      for (int64_t i = 0; i < elements; ++i) {
        const int64_t row = (first + i) % p_.taps() * p_.group_channels() + (first + i) / p_.taps();
        std::copy_n(chunk + i * kBlock, count, panel + row * g_.shape.width);
      }
    }
  }

  // Returns a panel of a run's elements: their weights for each output of the group.
  F* PanelAt(const Part& panels, int64_t group, int64_t run, int64_t panel) const {
    const int64_t at = (group * g_.runs + run) * base::DivideUp(g_.run, g_.shape.width) + panel;
    return At(panels) + at * p_.group_outputs() * g_.shape.width;
  }
  // Calls use(row of a panel, an output's weights, offsets of the row's elements in them, their
  // number). It takes some outputs at a time: their weights stay in L2 while all panels pass.
  template <class Tensor, class Use>
  void ForPanelRows(const Part& panels, const Tensor& weight, const Use& use) const {
    constexpr int64_t kOutputs = 8;
    const int64_t width = g_.shape.width, outputs = p_.group_outputs();
    const int64_t channels = p_.group_channels(), of_run = base::DivideUp(g_.run, width);
    const auto& s = weight.stride;
    const int64_t parts = base::DivideUp(p_.out_channels, kOutputs);
    runtime::ParallelForSlots(parts, g_.slots, [&](int /*slot*/, int64_t part) {
      const int64_t end = std::min(p_.out_channels, (part + 1) * kOutputs);
      for (int64_t i = 0; i < g_.runs * of_run; ++i) {
        const int64_t first = i % of_run * width, run = i / of_run;
        const int64_t count = std::min(width, g_.run - first);
        int64_t tap = (run * g_.run + first) / channels, c = (run * g_.run + first) % channels;
        int64_t offsets[kMostWidth];
        for (int64_t lane = 0; lane < count; ++lane) {
          offsets[lane] = c * s[1] + tap / p_.kernel[1] * s[2] + tap % p_.kernel[1] * s[3];
          if (++c == channels) ++tap, c = 0;
        }
        for (int64_t o = part * kOutputs; o < end; ++o) {
          use(PanelAt(panels, o / outputs, run, i % of_run) + o % outputs * width,
              weight.template At<T>(o), offsets, count);
        }
      }
    });
  }
  void PackBack() const {
    const auto pack = [&](F* row, const T* weights, const int64_t* offsets, int64_t count) {
      for (int64_t lane = 0; lane < count; ++lane) row[lane] = base::Widen(weights[offsets[lane]]);
      std::fill(row + count, row + g_.shape.width, F{0});
    };
    ForPanelRows(g_.back, p_.weight, pack);
  }
  void WriteWeightGrad() const {
    const auto write = [](const F* row, T* grads, const int64_t* offsets, int64_t count) {
      for (int64_t lane = 0; lane < count; ++lane) {
        grads[offsets[lane]] = base::Narrow<T>(row[lane]);
      }
    };
    ForPanelRows(g_.totals, p_.weight_grad, write);
  }

  // ---- samples ----------------------------------------------------------------------------------

  // Locates a tile's points of one tap and offset group; writes them from point `at` on.
  void Locate(const Tile& tile, int64_t tap, int64_t group, const PointTile<F>& points,
              int64_t at) const {
    const int64_t plane = group * p_.taps() + tap;
    const int64_t x_plane = p_.planes.x + plane * p_.planes.step;
    const int64_t y_plane = p_.planes.y + plane * p_.planes.step;
    const int64_t kernel_y = tap / p_.kernel[1] * p_.dilation[0] - p_.padding[0];
    const int64_t kernel_x = tap % p_.kernel[1] * p_.dilation[1] - p_.padding[1];
    ForPositionRows(tile, [&](int64_t j, int64_t row, int64_t column, int64_t count) {
      const auto offset = [&](int64_t of) { return p_.offset.At<T>(tile.image, of, row, column); };
      ReadCoordinates(static_cast<F>(column * p_.stride[1] + kernel_x),
                      static_cast<F>(p_.stride[1]), offset(x_plane), count, points.tx + at + j);
      ReadCoordinates(static_cast<F>(row * p_.stride[0] + kernel_y), F{0}, offset(y_plane), count,
                      points.ty + at + j);
      F* const masks = points.attention + at + j;
      if (!p_.mask.has) return void(std::fill_n(masks, count, F{1}));
      ReadRun(p_.mask.At<T>(tile.image, plane, row, column), p_.mask.stride[3], count, masks);
    });
    const PointVector<F> d;
    const auto height = hn::Set(d, static_cast<F>(p_.height));
    const auto width = hn::Set(d, static_cast<F>(p_.width));
    const int64_t lanes = Length(d), end = base::RoundUp(tile.count, lanes);
    for (F* const array : {points.tx, points.ty, points.attention}) {
      std::fill(array + at + tile.count, array + at + end, F{0});
    }
    for (int64_t i = at; i < at + end; i += lanes) {
      LocateAt(points, i, hn::LoadU(d, points.tx + i), hn::LoadU(d, points.ty + i), height, width,
               hn::Zero(d));
    }
  }
  // Reads coordinates on an axis for adjacent positions: first, first + stride, ..., plus the
  // offsets. It may overwrite up to a vector behind the result.
  void ReadCoordinates(F first, F stride, const T* offset, int64_t count, F* to) const {
    ReadRun(offset, p_.offset.stride[3], count, to);
    const PointVector<F> d;
    for (int64_t i = 0; i < count; i += Length(d)) {
      const auto number = hn::Add(hn::Iota(d, 0), hn::Set(d, static_cast<F>(i)));
      const auto place = hn::MulAdd(number, hn::Set(d, stride), hn::Set(d, first));
      hn::StoreU(hn::Add(place, hn::LoadU(d, to + i)), d, to + i);
    }
  }

  // Samples positions [first, last) of a tile. `at`: first point of the tap and group.
  void Sample(const PointTile<F>& points, int64_t at, int64_t tap, int64_t group, int64_t first,
              int64_t last, F* columns) const {
    const int64_t channels = p_.offset_channels(), c = group * channels;
    SumEach(points, at + first, last - first, PixelTaps(c), channels,
            columns + first * g_.column + tap * p_.channels + c, g_.column);
  }

  // ---- the function -----------------------------------------------------------------------------

  void ForwardOf(int64_t n) const {
    const int64_t tiles = base::DivideUp(p_.positions(), g_.tile);
    runtime::ParallelForSlots(tiles, g_.slots, [&](int slot, int64_t i) {
      const Tile tile{n, i * g_.tile, std::min(g_.tile, p_.positions() - i * g_.tile)};
      F* const columns = At(g_.columns, slot);
      const PointTile<F> points = Points(slot);
      ForPlanes([&](int64_t tap, int64_t group) {
        Locate(tile, tap, group, points, 0);
        Sample(points, 0, tap, group, 0, tile.count, columns);
      });
      if (p_.out_columns.has) TurnColumns(p_.out_columns, tile, columns);
      if (!p_.output.has) return;
      Multiply(tile, columns, At(g_.output, slot));
      WriteOutput(tile, At(g_.output, slot));
    });
  }

  // A panel may write behind its group's outputs; the next group overwrites this.
  void Multiply(const Tile& tile, const F* columns, F* outputs) const {
    const int64_t width = g_.shape.width, rows = RowsOf(tile.count);
    const int64_t panels = base::DivideUp(p_.group_outputs(), width), depth = g_.runs * g_.run;
    for (int64_t i = 0; i < p_.groups * panels; ++i) {
      const int64_t group = i / panels, o = group * p_.group_outputs() + i % panels * width;
      const F* const panel = At(g_.weights) + i * depth * width;
      for (int64_t run = 0; run < g_.runs; ++run) {
        MultiplyRows(columns + RunAt(run, group), g_.column, rows, panel + run * g_.run * width,
                     g_.run, outputs + o, g_.outputs, run > 0);
      }
    }
  }

  void WriteOutput(const Tile& tile, F* outputs) const {
    ForBlocks(0, p_.out_channels, [&](int64_t o, int64_t count) {
      F bias[kBlock] = {};
      for (int64_t i = 0; p_.bias.has && i < count; ++i) {
        bias[i] = p_.bias_is_float ? *p_.bias.At<float>(o + i) : base::Widen(*p_.bias.At<T>(o + i));
      }
      for (int64_t j = 0; j < tile.count; ++j) {
        F* const row = outputs + j * g_.outputs + o;
        for (int64_t i = 0; i < kBlock; ++i) row[i] += bias[i];
      }
      ForPositions(p_.output, tile, o, count, [&](int64_t j, const Planar<T>& to) {
        WritePixels<T, kBlock>(outputs + j * g_.outputs + o, g_.outputs, to);
      });
    });
  }

  // ---- the gradients ----------------------------------------------------------------------------

  void BackwardOf(int64_t n) const {
    if (p_.input_grad.has) ClearSums();
    for (int64_t first = 0; first < p_.positions(); first += g_.tile) {
      const Tile tile{n, first, std::min(g_.tile, p_.positions() - first)};
      ReadTile(tile);
      MakeColumns(tile);
      AddTile(tile);
      if (p_.wants_point_grads()) FinishTile(tile);
    }
    if (p_.bias_grad.has) CloseLanes();
    if (p_.input_grad.has) TurnImage(p_.input_grad, n, At(g_.sums));
  }
  bool AddsToWeights() const { return p_.weight_grad.has && p_.out_channels > 0; }
  bool NeedsColumnGrads() const { return p_.input_grad.has || p_.wants_point_grads(); }
  bool NeedsSamples() const { return AddsToWeights() && !p_.columns.has; }

  // Returns the positions of a part of a tile: whole rows of products.
  int64_t PartOf(const Tile& tile) const {
    return g_.slots == 1 ? RowsOf(tile.count) : 2 * g_.shape.rows;
  }

  void ClearSums() const {
    F* const sums = At(g_.sums);
    runtime::ParallelForSlots(p_.height, g_.slots, [&](int /*slot*/, int64_t y) {
      Clear(sums + y * p_.width * g_.pixel, p_.width * g_.pixel);
    });
    Clear(sums + Pixels() * g_.pixel, g_.pixel);
  }

  // Reads the gradients of a tile's outputs, and locates its points.
  void ReadTile(const Tile& tile) const {
    const int64_t blocks = p_.grad_output.has ? base::DivideUp(p_.out_channels, kBlock) : 0;
    const int64_t planes = NeedsColumnGrads() || NeedsSamples() ? p_.taps() * p_.offset_groups : 0;
    runtime::ParallelForSlots(blocks + planes, g_.slots, [&](int /*slot*/, int64_t i) {
      if (i < blocks) return ReadGradOutput(tile, i * kBlock);
      const int64_t tap = (i - blocks) / p_.offset_groups, group = (i - blocks) % p_.offset_groups;
      Locate(tile, tap, group, Points(0), PointsOf(tap, group));
    });
  }

  // Reads gradients of outputs from o on to `output` and `turned`; adds them to the bias' sums.
  void ReadGradOutput(const Tile& tile, int64_t o) const {
    const int64_t count = std::min(kBlock, p_.out_channels - o);
    ForPositions(p_.grad_output, tile, o, count, [&](int64_t j, const Planar<const T>& from) {
      ReadPixels<T, kBlock>(from, At(g_.output) + j * g_.outputs + o, g_.outputs);
      for (int64_t i = 0; (p_.weight_grad.has || p_.bias_grad.has) && i < count; ++i) {
        ReadRun(from.base + i * from.channel_stride, from.pixel_stride, from.pixels,
                Turned(o + i) + j);
      }
    });
    for (int64_t i = o; p_.bias_grad.has && i < o + count; ++i) {
      F* const lanes = At(g_.lanes) + i * (kBlock + 1);
      for (int64_t j = 0; j < tile.count; ++j) lanes[j % kBlock] += Turned(i)[j];
    }
  }
  F* Turned(int64_t o) const {
    const int64_t outputs = p_.group_outputs();
    return At(g_.turned) + (o / outputs * RowsOf(outputs) + o % outputs) * g_.tile;
  }
  // Adds the lanes of an image's bias sums to the totals.
  void CloseLanes() const {
    for (int64_t o = 0; o < p_.out_channels; ++o) {
      F* const lanes = At(g_.lanes) + o * (kBlock + 1);
      for (int64_t half = kBlock / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      }
      lanes[kBlock] += lanes[0];
      Clear(lanes, kBlock);
    }
  }

  // Makes the columns of a tile: their gradients, and samples.
  void MakeColumns(const Tile& tile) const {
    const bool multiplies = NeedsColumnGrads() && !p_.grad_columns.has;
    if (NeedsColumnGrads() && p_.grad_columns.has) TurnColumns(p_.grad_columns, tile, At(g_.grads));
    if (AddsToWeights() && p_.columns.has) TurnColumns(p_.columns, tile, At(g_.columns));
    if (!multiplies && !NeedsSamples()) return;
    const int64_t step = PartOf(tile);
    runtime::ParallelForSlots(
        base::DivideUp(tile.count, step), g_.slots, [&](int /*slot*/, int64_t i) {
          const int64_t first = i * step, last = std::min(tile.count, first + step);
          if (multiplies) MultiplyBack(first, last);
          if (!NeedsSamples()) return;
          ForPlanes([&](int64_t tap, int64_t group) {
            Sample(Points(0), PointsOf(tap, group), tap, group, first, last, At(g_.columns));
          });
        });
  }
  template <class Use>
  void ForPlanes(const Use& use) const {
    for (int64_t tap = 0; tap < p_.taps(); ++tap) {
      for (int64_t group = 0; group < p_.offset_groups; ++group) use(tap, group);
    }
  }
  // A panel may write behind its run; the next panel overwrites this.
  void MultiplyBack(int64_t first, int64_t last) const {
    const int64_t width = g_.shape.width, outputs = p_.group_outputs();
    const int64_t panels = base::DivideUp(g_.run, width);
    for (int64_t run = 0; run < g_.runs; ++run) {
      for (int64_t i = 0; i < p_.groups * panels; ++i) {
        const int64_t group = i / panels;
        MultiplyRows(At(g_.output) + first * g_.outputs + group * outputs, g_.outputs, last - first,
                     PanelAt(g_.back, group, run, i % panels), outputs,
                     At(g_.grads) + first * g_.column + RunAt(run, group) + i % panels * width,
                     g_.column, false);
      }
    }
  }

  // Adds a tile's share to the gradients of image and weight, and computes the dot products of its
  // points. Owners of the image have some channels each. They are few and take longest, so they
  // come last, where threads take one index at a time.
  void AddTile(const Tile& tile) const {
    const int64_t blocks = std::max<int64_t>(1, base::DivideUp(p_.channels, kBlock));
    const int64_t part = base::DivideUp(blocks, std::min<int64_t>(g_.slots, blocks)) * kBlock;
    const int64_t owners = p_.input_grad.has ? base::DivideUp(p_.channels, part) : 0;
    const int64_t width = g_.shape.width, of_run = base::DivideUp(g_.run, width);
    const int64_t panels = AddsToWeights() ? p_.groups * g_.runs * of_run : 0;
    const int64_t step = PartOf(tile);
    const int64_t parts = p_.wants_point_grads() ? base::DivideUp(tile.count, step) : 0;
    runtime::ParallelForSlots(panels + parts + owners, g_.slots, [&](int slot, int64_t i) {
      if (i < panels) {
        return AddPanel(tile, i / of_run / g_.runs, i / of_run % g_.runs, i % of_run * width,
                        At(g_.panel, slot));
      }
      i -= panels;
      if (i < parts) return DotPart(i * step, std::min(tile.count, (i + 1) * step));
      i -= parts;
      AddToImage(tile, i * part, std::min(p_.channels, (i + 1) * part));
    });
  }
  // Copies a panel of a run's elements to `panel`, and adds its products to the weight's gradient.
  void AddPanel(const Tile& tile, int64_t group, int64_t run, int64_t first, F* panel) const {
    const int64_t width = g_.shape.width, outputs = p_.group_outputs();
    const F* const columns = At(g_.columns) + RunAt(run, group) + first;
    const hn::ScalableTag<F> d;
    for (int64_t j = 0; j < tile.count; ++j) {
      for (int64_t lane = 0; lane < width; lane += Length(d)) {
        hn::StoreU(hn::LoadU(d, columns + j * g_.column + lane), d, panel + j * width + lane);
      }
    }
    F* const products = panel + DeformConvGeometry::kBlock * width;
    MultiplyRows(Turned(group * outputs), g_.tile, outputs, panel, tile.count, products, width,
                 false);
    F* const totals = PanelAt(g_.totals, group, run, first / width);
    const bool first_sum = tile.image == 0 && tile.first == 0;
    for (int64_t k = 0; k < outputs * width; k += Length(d)) {
      const auto sum = first_sum ? hn::Zero(d) : hn::LoadU(d, totals + k);
      hn::StoreU(hn::Add(sum, hn::LoadU(d, products + k)), d, totals + k);
    }
  }
  void DotPart(int64_t first, int64_t last) const {
    const int64_t channels = p_.offset_channels();
    ForPlanes([&](int64_t tap, int64_t group) {
      const int64_t c = group * channels;
      DotPoints(Points(0), PointsOf(tap, group) + first, last - first,
                At(g_.grads) + first * g_.column + tap * p_.channels + c, g_.column, PixelTaps(c),
                channels);
    });
  }
  void FinishTile(const Tile& tile) const {
    runtime::ParallelForSlots(p_.taps() * p_.offset_groups, g_.slots, [&](int, int64_t i) {
      const int64_t tap = i / p_.offset_groups, group = i % p_.offset_groups;
      FinishPlane(tile, tap, group, Points(0), PointsOf(tap, group));
    });
  }
  void FinishPlane(const Tile& tile, int64_t tap, int64_t group, const PointTile<F>& points,
                   int64_t at) const {
    const PointVector<F> d;
    for (int64_t i = at; i < at + tile.count; i += Length(d)) {
      const auto mask = hn::LoadU(d, points.attention + i);
      FinishPoints(points, i, mask, mask, [&](auto x, auto y) PORTACL_INLINE_LAMBDA {
        hn::StoreU(x, d, points.tx + i);
        hn::StoreU(y, d, points.ty + i);
      });
    }
    const auto write = [&](const Params::Written& tensor, int64_t number, const F* from) {
      if (!tensor.has) return;
      ForPositions(tensor, tile, number, 1, [&](int64_t j, const Planar<T>& to) {
        WriteRun(from + at + j, to.pixels, to.base, to.pixel_stride);
      });
    };
    const int64_t plane = group * p_.taps() + tap;
    write(p_.offset_grad, p_.planes.x + plane * p_.planes.step, points.tx);
    write(p_.offset_grad, p_.planes.y + plane * p_.planes.step, points.ty);
    write(p_.mask_grad, plane, points.attention);
  }

  // Adds all positions of the tile, in order, to channels [first, end) of the image's gradient.
  void AddToImage(const Tile& tile, int64_t first, int64_t end) const {
    F* const sums = At(g_.sums);
    for (int64_t c = first, last = 0; c < end; c = last) {
      const int64_t group = c / p_.offset_channels();
      last = std::min(end, (group + 1) * p_.offset_channels());
      const PointGrid grid{PointsOf(0, group), tile.count, p_.taps(),  1,
                           PointsOf(1, 0),     g_.column,  p_.channels};
      AddEach(Points(0), grid, At(g_.grads) + c,
              Taps<F>{sums + c, g_.pixel, sums + Pixels() * g_.pixel + c}, last - c);
    }
  }

  const Params& p_;
  const DeformConvGeometry& g_;
  void* const workspace_;
};

void Run(const Params& params, const DeformConvPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    DeformConv<typename decltype(tag)::type>(params, std::get<0>(plan.way), workspace).Run();
  });
}

std::optional<DeformConvPlan> Plan(const Params& params, std::string_view /*path*/) {
  const bool wide = params.dtype == base::DType::kDouble;
  return PlanDeformConv(params, {kPanelRows, wide ? PanelWidth<double>() : PanelWidth<float>()});
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(DeformConv, Plan, Run)
