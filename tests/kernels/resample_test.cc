// The vectorised resampling kernels, forward and backward, against the reference, byte by byte: on
// every instruction set of the machine, for every mode, type, layout, path and number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cpu/machine/named_machines.h"
#include "ops/listed_kernels.h"
#include "ops/resample_axis.h"
#include "ops/resample_params.h"
#include "support/api/thread_counts.h"
#include "support/end_of_memory.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::cpu::ResampleKernels;
using portacl::ops::FixedWeights;
using portacl::ops::ResampleMode;
using portacl::ops::ResampleParams;
using portacl::ops::ResampleRule;
using portacl::ops::ResampleTable;
using portacl::ref::kResample;
using Kernel = portacl::base::Kernel<ResampleParams>;
using Extents = std::vector<int64_t>;  // of one to three axes

constexpr ResampleMode kLinear = ResampleMode::kLinear;
constexpr ResampleMode kCubic = ResampleMode::kCubic;
constexpr ResampleMode kAALinear = ResampleMode::kAntialiasedLinear;
constexpr ResampleMode kAACubic = ResampleMode::kAntialiasedCubic;
constexpr ResampleMode kLanczos = ResampleMode::kLanczos;
constexpr std::array kModes = {kLinear, kCubic, kAALinear, kAACubic, kLanczos};
constexpr std::array kWords = {"linear", "cubic", "antialiased linear", "antialiased cubic",
                               "Lanczos"};

// `in` and `out` are those of the forward function.
struct ResampleCase {
  ResampleMode mode = kLinear;
  Extents in, out;
  int64_t n = 1, c = 1;
  bool backward = false;
  Element element = Element::kFloat;
  Layout from = Layout::kContiguous;
  Layout to = Layout::kContiguous;
  bool align_corners = false;
  std::vector<double> scales = {};
  FixedWeights fixed = FixedWeights::kNone;  // of bytes
  bool outer_first = false;                  // of bytes: D and H before W
};

std::string Describe(const ResampleCase& c) {
  std::string text = std::string(NameOf(c.element)) + " " + kWords[static_cast<size_t>(c.mode)] +
                     (c.backward ? " backward (" : " forward (") + std::to_string(c.n) + ", " +
                     std::to_string(c.c) + ")";
  text += " " + ToString(c.in) + " to " + ToString(c.out) + " from " + NameOf(c.from) + " to " +
          NameOf(c.to) + (c.align_corners ? " align_corners" : "");
  if (c.fixed == FixedWeights::kPillow) text += " as Pillow";
  if (c.outer_first) text += " outer axes first";
  for (const double scale : c.scales) text += " " + std::to_string(scale);
  return text;
}

Shape ShapeOf(const ResampleCase& c, const Extents& extents) {
  Shape shape = {c.n, c.c};
  shape.insert(shape.end(), extents.begin(), extents.end());
  return shape;
}

// The tables of a case; axes that it lacks are identities.
class Tables {
 public:
  explicit Tables(const ResampleCase& c)
      : d_(Rule(c, 3), c.backward), h_(Rule(c, 2), c.backward), w_(Rule(c, 1), c.backward) {}

  ResampleParams Params(const ResampleCase& c, const Tensor& from, const Tensor& to) const {
    ResampleParams p;
    p.dtype = ToDType(c.element);
    p.backward = c.backward || c.outer_first;
    p.n = c.n;
    p.c = c.c;
    p.d = d_.axis();
    p.h = h_.axis();
    p.w = w_.axis();
    p.input = from.first();
    p.output = const_cast<void*>(to.first());
    p.input_stride = Strides(from);
    p.output_stride = Strides(to);
    return p;
  }

 private:
  static ResampleRule Rule(const ResampleCase& c, size_t from_last) {
    if (c.in.size() < from_last) return {};
    const size_t axis = c.in.size() - from_last;
    return {.mode = c.mode,
            .in = c.in[axis],
            .out = c.out[axis],
            .align_corners = c.align_corners,
            .scale = c.scales.empty() ? 0.0 : c.scales[axis],
            .in_double = c.element == Element::kDouble || c.element == Element::kUInt8,
            .fixed = c.fixed};
  }
  static std::array<int64_t, 5> Strides(const Tensor& t) {
    std::array<int64_t, 5> strides = {t.strides()[0], t.strides()[1], 0, 0, 0};
    std::copy_backward(t.strides().begin() + 2, t.strides().end(), strides.end());
    return strides;
  }
  ResampleTable d_, h_, w_;
};

void FillSpecial(Random& random, Tensor* tensor) {
  if (tensor->element() == Element::kUInt8) {
    const bool extreme = random.Coin();
    for (int64_t i = 0; i < tensor->size(); ++i) {
      tensor->Set(
          i, static_cast<double>(extreme ? 255 * random.Integer(0, 1) : random.Integer(0, 255)));
    }
    return;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::array special = {0.0,   -0.0,   kInfinity, -kInfinity, kInfinity - kInfinity,
                              1e-42, -1e-44, 3e38,      -0.0,       -0.0};
  tensor->FillUniform(random, -1, 1);
  const int64_t kind = random.Integer(0, 3);
  if (kind == 0) return;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (kind == 1 && random.Integer(0, 49) == 0) tensor->Set(i, PickOf(random, special));
    if (kind == 2) tensor->Set(i, random.Coin() ? -0.0 : -1e-45);
    if (kind == 3 && random.Coin()) tensor->Set(i, -0.0);
  }
}

class ResampleTest : public KernelTest {
 protected:
  // Every kernel of the machine by each path that serves the case.
  static void ExpectSameBytes(const ResampleCase& c, Random& random) {
    SCOPED_TRACE(Describe(c));
    const Tables tables(c);
    Tensor from(c.element, ShapeOf(c, c.backward ? c.out : c.in), c.from);
    FillSpecial(random, &from);
    Tensor want(c.element, ShapeOf(c, c.backward ? c.in : c.out), c.to);
    EXPECT_TRUE(RunKernel(kResample, tables.Params(c, from, want)));
    for (const Kernel& kernel : ResampleKernels()) {
      if (!kernel.available()) continue;
      const bool serves = kernel.plan(tables.Params(c, from, want), "") != nullptr;
      EXPECT_TRUE(serves || c.outer_first) << kernel.name;  // strided rows are the reference's then
      if (!serves) continue;
      ForPaths(kernel, kServing, [&](const Kernel&, std::string_view path) {
        return ExpectPath(kernel, path, tables, c, from, want);
      });
      // Without quads, pairs have many taps, too.
      if (c.element == Element::kUInt8) ExpectPath(kernel, "-quads", tables, c, from, want);
    }
  }

  // Between pages that fault. False where the path does not serve the case.
  static bool ExpectPath(const Kernel& kernel, std::string_view path, const Tables& tables,
                         const ResampleCase& c, const Tensor& from, const Tensor& want) {
    Tensor got(c.element, want.shape(), c.to);
    ResampleParams params = tables.Params(c, from, got);
    const EndOfMemory source(from);
    const EndOfMemory result(got);
    const auto size = static_cast<int64_t>(SizeOf(c.element));
    params.input = source.begin() + from.offset() * size;
    params.output = result.begin() + got.offset() * size;
    if (!RunKernel(kernel, params, path)) return false;
    std::memcpy(got.data(), result.begin(), result.size());
    EXPECT_TRUE(SameAs(want, got)) << kernel.name << ":" << path << " between guard pages";
    // Where a tensor of a program begins: a line.
    Tensor aligned(c.element, want.shape(), c.to);
    EXPECT_TRUE(RunKernel(kernel, tables.Params(c, from, aligned), path));
    EXPECT_TRUE(SameAs(want, aligned)) << kernel.name << ":" << path;
    return true;
  }

  static ResampleCase RandomCase(Random& random) {
    constexpr std::array kSizes = {1,  1,  2,  3,  4,  5,  7,  8,  9,  13,  14,  15,  16,  17,
                                   25, 31, 32, 33, 40, 47, 64, 65, 96, 100, 130, 257, 128, 192};
    const auto size = [&](size_t most) {
      return int64_t{
          kSizes[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(most) - 1))]};
    };
    ResampleCase c;
    c.mode = PickOf(random, kModes);
    c.backward = random.Coin();
    c.element = PickOf(random, kElements);
    c.align_corners = random.Integer(0, 3) == 0;
    const int64_t axes = random.Integer(1, 3);
    for (int64_t axis = 0; axis < axes; ++axis) {
      const size_t most = axis == axes - 1 ? kSizes.size() : axis == axes - 2 ? 18 : 9;
      const int64_t in = size(most);
      const std::array outs = {
          in,         2 * in,    4 * in, std::max<int64_t>(1, in / 2), std::max<int64_t>(1, in / 4),
          size(most), size(most)};
      c.in.push_back(in);
      c.out.push_back(PickOf(random, outs));
      const std::array scales = {0.0, 0.0, 1.3, 0.37,
                                 static_cast<double>(c.out.back()) / static_cast<double>(in)};
      c.scales.push_back(PickOf(random, scales));
    }
    c.n = random.Integer(1, 3);
    c.c = axes == 1 ? random.Integer(1, 20) : random.Integer(1, 3);
    if (random.Integer(0, 2) == 0) {
      c.from = PickOf(random, kInputLayouts);
      c.to = PickOf(random, kOutputLayouts);
    } else if (random.Integer(0, 2) == 0) {
      c.from = Layout::kChannelsLast;
      c.to = random.Coin() ? Layout::kChannelsLast : PickOf(random, kOutputLayouts);
      c.c = random.Integer(1, 40);
      if (axes == 3) c.n = 1;
    }
    const auto elements = [&](const Extents& extents) { return c.n * c.c * ProductOf(extents); };
    while (elements(c.in) + elements(c.out) > 200 * 1000 && c.n * c.c > 1) c.n = c.c = 1;
    return c;
  }
};

TEST_F(ResampleTest, EqualsTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(1500, 500) && !HasFailure(); ++i) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 3))));
    ExpectSameBytes(RandomCase(random), random);
  }
  ExpectRan(ResampleKernels(), {"rows", "channels_last", "columns", "phases"}, 5);
#if !defined(__aarch64__)  // SVE lacks these: the length of its vectors is not known
  ExpectRan(ResampleKernels(), {"lookup", "expand", "planes"}, 5);
#endif
}

TEST_F(ResampleTest, BytesEqualTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(1000, 300) && !HasFailure(); ++i) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 3))));
    ResampleCase c = RandomCase(random);
    c.backward = false;
    c.element = Element::kUInt8;
    c.fixed = random.Coin() ? FixedWeights::kPyTorch : FixedWeights::kPillow;
    c.outer_first = random.Integer(0, 3) == 0;
    if (c.in.size() < 3 && random.Integer(0, 9) == 0) {  // the ring of quads wraps around
      c.n = 1;
      c.c = std::min<int64_t>(c.c, 4);
      c.in.back() = random.Integer(300, 2000);
    }
    ExpectSameBytes(c, random);
  }
  ExpectRan(ResampleKernels(), {"rows", "channels_last", "columns"}, 5);
}

struct PathCase {
  ResampleCase params;
  const char* path;
};

constexpr Layout kPixels = Layout::kChannelsLast;

// Large enough for several boxes, on every path and driver. Sizes are chosen so that every length
// of vectors gives the same path.
const std::vector<PathCase>& PathCases() {
  static const std::vector<PathCase> cases = {
      {{.in = {40, 128}, .out = {80, 256}, .c = 5}, "expand"},
      {{.mode = kCubic, .in = {40, 100}, .out = {80, 200}, .c = 5}, "expand"},
      {{.in = {30, 96}, .out = {120, 384}, .c = 3}, "expand"},
      {{.mode = kCubic, .in = {30, 96}, .out = {120, 384}, .c = 3}, "expand"},
      {{.mode = kAALinear, .in = {120, 384}, .out = {30, 96}, .c = 3, .backward = true}, "expand"},
      {{.in = {40, 128}, .out = {80, 256}, .c = 5, .backward = true}, "phases"},
      {{.mode = kCubic, .in = {40, 100}, .out = {80, 200}, .c = 5, .backward = true}, "phases"},
      {{.in = {30, 96}, .out = {120, 384}, .c = 3, .backward = true}, "phases"},
      {{.mode = kAALinear, .in = {120, 384}, .out = {30, 96}, .c = 3}, "phases"},
      {{.mode = kAACubic, .in = {120, 384}, .out = {30, 96}, .c = 3}, "phases"},
      {{.in = {120, 384}, .out = {40, 128}, .c = 3}, "phases"},
      {{.in = {5000}, .out = {2500}, .c = 3}, "phases"},
      {{.in = {40, 128}, .out = {89, 287}, .c = 5}, "lookup"},
      {{.mode = kCubic, .in = {40, 128}, .out = {89, 287}, .c = 5}, "lookup"},
      {{.in = {9, 200}, .out = {9, 180}, .c = 30, .backward = true}, "lookup"},
      {{.in = {60000}, .out = {90000}, .c = 2}, "lookup"},
      // Rows of whole lines, made by W: written as such, or by way of scratch.
      {{.in = {60, 400}, .out = {37, 150}, .c = 3, .backward = true}, "lookup"},
      {{.in = {120, 384}, .out = {30, 96}, .c = 3, .backward = true}, "lookup"},
      {{.mode = kAACubic, .in = {60, 1024}, .out = {40, 150}, .c = 3, .backward = true}, "lookup"},
      {{.in = {60, 64}, .out = {30, 400}, .c = 3, .backward = true}, "columns"},
      {{.in = {8, 200}, .out = {16, 400}, .c = 64, .from = kPixels, .to = kPixels},
       "channels_last"},
      {{.in = {8, 200},
        .out = {16, 400},
        .c = 64,
        .backward = true,
        .from = kPixels,
        .to = kPixels},
       "channels_last"},
      // Tiles of long rows.
      {{.in = {16384}, .out = {32768}, .c = 4}, "expand"},
      {{.mode = kAACubic, .in = {32768}, .out = {8192}, .c = 4, .backward = true}, "expand"},
      {{.in = {32768}, .out = {16384}, .c = 4}, "phases"},
      {{.in = {16384}, .out = {32768}, .c = 4, .backward = true}, "phases"},
      {{.in = {16}, .out = {32}, .n = 40}, ""},
      {{.in = {100, 150}, .out = {220, 330}, .c = 3, .from = kPixels, .to = kPixels}, "lookup"},
      {{.in = {200, 400}, .out = {37, 51}, .c = 3}, "columns"},
      {{.mode = kAALinear, .in = {200, 400}, .out = {37, 51}, .c = 3}, "columns"},
      {{.mode = kAACubic, .in = {200, 400}, .out = {37, 51}, .c = 9}, "columns"},
      {{.mode = kAACubic,
        .in = {200, 400},
        .out = {37, 51},
        .c = 3,
        .from = kPixels,
        .to = kPixels},
       "columns"},
      {{.in = {40, 50}, .out = {80, 100}, .c = 70, .from = kPixels, .to = kPixels},
       "channels_last"},
      {{.mode = kCubic,
        .in = {40, 50},
        .out = {80, 100},
        .c = 70,
        .backward = true,
        .from = kPixels,
        .to = kPixels},
       "channels_last"},
      {{.in = {8, 20, 30}, .out = {16, 40, 60}, .c = 70, .from = kPixels, .to = kPixels},
       "channels_last"},
      {{.in = {60, 80}, .out = {21, 30}, .c = 19, .from = kPixels, .to = kPixels}, "channels_last"},
      {{.in = {60, 80}, .out = {21, 30}, .c = 11, .from = kPixels, .to = kPixels}, "channels_last"},
      // Pixels to planes.
      {{.mode = kCubic,
        .in = {40, 51},
        .out = {81, 99},
        .c = 70,
        .backward = true,
        .from = kPixels},
       "channels_last"},
      {{.in = {8, 20, 30}, .out = {9, 13, 40}, .n = 2, .c = 35, .from = kPixels}, "channels_last"},
      {{.mode = kAACubic, .in = {200, 400}, .out = {37, 51}, .c = 3, .from = kPixels}, "columns"},
      {{.in = {500}, .out = {1000}, .n = 2, .c = 4, .from = kPixels}, "lookup"},
      {{.in = {40, 51}, .out = {81, 51}, .c = 9, .from = kPixels, .to = Layout::kStep3}, "rows"},
      {{.in = {40, 128}, .out = {80, 128}, .c = 9}, "rows"},
      {{.in = {40, 128}, .out = {80, 128}, .c = 9, .backward = true}, "rows"},
      {{.in = {40, 128}, .out = {40, 128}, .c = 19, .backward = true}, "rows"},
      {{.in = {20, 30, 64}, .out = {40, 60, 128}, .c = 2}, "expand"},
      {{.in = {20, 30, 64}, .out = {40, 60, 128}, .c = 2, .backward = true}, "phases"},
      {{.in = {20, 30, 200}, .out = {40, 30, 400}, .c = 1}, "expand"},
      {{.in = {20, 30, 200}, .out = {40, 30, 400}, .c = 1, .backward = true}, "phases"},
      {{.in = {300, 20}, .out = {600, 25}, .c = 20}, "lookup"},  // short rows
      {{.in = {4, 4}, .out = {3, 3}, .n = 3, .c = 100}, "planes"},
      {{.mode = kCubic, .in = {4, 4}, .out = {1, 2}, .c = 100, .backward = true}, "planes"},
      {{.mode = kAALinear, .in = {200, 3}, .out = {100, 1}, .c = 30}, "planes"},
      {{.in = {7, 4, 3}, .out = {2, 1, 1}, .c = 100, .backward = true}, "planes"},
      {{.in = {7, 4, 3}, .out = {9, 4, 3}, .c = 100}, "planes"},
      // Little of a plane is used, or written to; elements of planes that follow each other.
      {{.mode = kCubic, .in = {50, 50}, .out = {2, 1}, .n = 2, .c = 50}, "planes"},
      {{.mode = kCubic, .in = {50, 70}, .out = {2, 1}, .n = 2, .c = 50, .backward = true},
       "planes"},
      {{.in = {8, 28, 70}, .out = {1, 2, 1}, .c = 40}, "planes"},
      {{.in = {8, 28, 70}, .out = {1, 2, 1}, .c = 40, .backward = true}, "planes"},
      {{.mode = kAACubic,
        .in = {9, 4},
        .out = {3, 1},
        .n = 3,
        .c = 20,
        .backward = true,
        .from = kPixels},
       "planes"},
      {{.in = {1}, .out = {2}, .c = 100}, "planes"},
      {{.in = {4}, .out = {1}, .n = 2, .c = 100}, "planes"},
      {{.in = {400, 24}, .out = {100, 6}, .c = 3, .backward = true}, ""},  // strips of short rows
      // Columns without a tap.
      {{.in = {3, 6000}, .out = {3, 200}, .c = 5}, "phases"},
      {{.in = {5000}, .out = {171}, .c = 21}, "lookup"},
      {{.mode = kCubic, .in = {20, 5000}, .out = {31, 101}, .c = 2}, "columns"},
      {{.in = {4, 6, 3000}, .out = {3, 9, 101}, .c = 2}, "lookup"},
      {{.in = {30, 4000}, .out = {10, 121}, .c = 3, .from = kPixels, .to = kPixels}, ""},
      {{.in = {30, 4000}, .out = {10, 121}, .c = 3, .from = kPixels}, ""},
      {{.mode = kCubic, .in = {30, 300}, .out = {30, 7000}, .c = 2, .backward = true}, ""},
      {{.in = {3, 6000}, .out = {3, 200}, .c = 5, .backward = true}, ""},
      // Views in which the elements of a column are neighbours.
      {{.mode = kCubic, .in = {70, 60}, .out = {33, 40}, .c = 3, .from = Layout::kTransposed},
       "columns"},
      {{.in = {70, 60}, .out = {140, 120}, .c = 3, .from = Layout::kTransposed}, "columns"},
      {{.in = {200, 300}, .out = {20, 31}, .c = 2, .from = Layout::kTransposed}, "columns"},
      {{.in = {5, 40, 30}, .out = {9, 51, 13}, .c = 2, .from = Layout::kTransposed}, "columns"},
      {{.mode = kAACubic, .in = {70, 60}, .out = {70, 41}, .c = 3, .from = Layout::kTransposed},
       ""},
      // Rows without a source.
      {{.in = {128, 128}, .out = {32, 40}, .c = 5, .backward = true}, "lookup"},
      {{.in = {300, 40}, .out = {4, 3}, .c = 3, .backward = true}, ""},
      {{.in = {30, 30, 40}, .out = {4, 3, 3}, .c = 3, .backward = true}, ""},
      {{.in = {300, 64}, .out = {600, 128}, .c = 3, .from = Layout::kStep3, .to = Layout::kStep3},
       "expand"},
      {{.in = {300, 64},
        .out = {600, 128},
        .c = 3,
        .backward = true,
        .from = Layout::kTransposed,
        .to = Layout::kTransposed},
       "phases"},
  };
  return cases;
}

TEST_F(ResampleTest, EveryPathDoesNotDependOnThreads) {
  Random random(7);
  for (const int threads : ThreadCounts({1, 7, 2})) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(threads));
    for (const PathCase& c : PathCases()) {
      ResampleCase params = c.params;
      for (const Element element : {Element::kFloat, PickOf(random, kElements)}) {
        if (ShortRun() && element != Element::kFloat) continue;
        params.element = element;
        ExpectSameBytes(params, random);
      }
    }
  }
}

// By the narrowest kernel. Of doubles a window holds fewer, and pixels of few channels are more.
TEST_F(ResampleTest, TakesTheExpectedPathOfFloatsOnEveryMachine) {
  const Kernel* kernel = nullptr;
  for (const Kernel& next : ResampleKernels()) {
    if (next.available()) kernel = &next;
  }
  if (kernel == nullptr) GTEST_SKIP() << "only the reference runs here";
  for (const PathCase& c : PathCases()) {
    if (c.path[0] == '\0') continue;
    SCOPED_TRACE(Describe(c.params));
    const Tables tables(c.params);
    const Tensor from(Element::kFloat,
                      ShapeOf(c.params, c.params.backward ? c.params.out : c.params.in),
                      c.params.from);
    const Tensor to(Element::kFloat,
                    ShapeOf(c.params, c.params.backward ? c.params.in : c.params.out), c.params.to);
    for (const auto& named : portacl::cpu::kNamedMachines) {
      const OtherMachine machine(named.machine);
      ASSERT_TRUE(portacl::runtime::SetNumThreads(named.machine.cpus));
      const auto plan = kernel->plan(tables.Params(c.params, from, to), "");
      ASSERT_NE(plan, nullptr) << named.name;
      EXPECT_STREQ(plan->path(), c.path) << named.name;
    }
  }
}

// Rows that are long enough for tiles. In pixels of few channels, tiles begin at any channel:
// sources of a pixel's last channels lie behind sources of the next pixel's first channels. In
// large reductions most of a gradient has no source, even whole tiles.
TEST_F(ResampleTest, EqualsTheReferenceInTilesOfLongRows) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(120, 40) && !HasFailure(); ++i) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(5, 40))));
    ResampleCase c;
    c.mode = PickOf(random, kModes);
    if (random.Integer(0, 2) > 0) c.from = c.to = kPixels;
    c.c = random.Integer(1, 31);
    c.element = PickOf(random, kElements);
    c.backward = random.Coin();
    c.align_corners = random.Integer(0, 3) == 0;
    const int64_t rows = random.Integer(1, 3);
    const auto width = [&](int64_t most) {
      const int64_t at_most = most / (random.Integer(0, 2) > 0 ? 1 : 300);
      return random.Integer(100, at_most) / c.c + 1;
    };
    c.in = {rows, width(80000)};
    c.out = {rows, width(80000)};
    ExpectSameBytes(c, random);
  }
}

// Of a result of one column the rows are a row.
TEST_F(ResampleTest, EqualsTheReferenceOfOneColumn) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(200, 60) && !HasFailure(); ++i) {
    ResampleCase c = RandomCase(random);
    c.backward = false;
    c.in = {random.Integer(1, 300), random.Integer(2, 60)};
    c.out = {random.Coin() ? c.in[0] : random.Integer(16, 300), 1};
    if (!c.scales.empty()) c.scales.resize(c.in.size());
    if (random.Integer(0, 3) == 0) {  // volumes that keep their depth
      const int64_t depth = random.Integer(1, 4);
      c.in.insert(c.in.begin(), depth);
      c.out.insert(c.out.begin(), depth);
      c.scales = {};
    }
    ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 5))));
    ExpectSameBytes(c, random);
  }
  ResampleCase wide = {.in = {30000, 5}, .out = {26000, 1}, .n = 1, .c = 3};
  ExpectSameBytes(wide, random);
}

// What is too large for the caches is written past them.
TEST_F(ResampleTest, EqualsTheReferencePastTheCaches) {
  Random random(8);
  machine_->last_level_cache = 1 << 12;
  machine_->l2_cache = 1 << 10;
  for (const PathCase& c : PathCases()) {
    ResampleCase params = c.params;
    for (const Element element : kElements) {
      if (ShortRun() && element != Element::kFloat) continue;
      ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 3))));
      params.element = element;
      ExpectSameBytes(params, random);
      params.to = params.to == Layout::kContiguous ? Layout::kOffset : params.to;
      ExpectSameBytes(params, random);
    }
  }
  for (int64_t i = 0; i < ByRunLength(200, 30) && !HasFailure(); ++i) {
    ExpectSameBytes(RandomCase(random), random);
  }
}

// Of an identity all of the tensor may be one row: none of it is in scratch.
TEST_F(ResampleTest, ADenseIdentityNeedsHardlyAWorkspace) {
  for (const int threads : ThreadCounts({1, 7})) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(threads));
    for (const Element element : kElements) {
      for (const bool backward : {false, true}) {
        const ResampleCase c{
            .in = {300, 200}, .out = {300, 200}, .c = 3, .backward = backward, .element = element};
        const Tables tables(c);
        const Tensor from(element, ShapeOf(c, c.in)), to(element, ShapeOf(c, c.in));
        for (const Kernel& kernel : ResampleKernels()) {
          if (!kernel.available()) continue;
          const auto plan = kernel.plan(tables.Params(c, from, to), "");
          ASSERT_NE(plan, nullptr) << kernel.name;
          EXPECT_LE(plan->workspace_size(), static_cast<uint64_t>(threads) * 4096) << kernel.name;
        }
      }
    }
  }
}

// Backward is the transpose of forward: for every size, sums of one-hot inputs are its columns.
TEST_F(ResampleTest, BackwardIsTheTransposeOfForward) {
  for (const ResampleMode mode : kModes) {
    for (int64_t in = 1; in <= 24; ++in) {
      for (int64_t out = 1; out <= 24; ++out) {
        ResampleCase c{.mode = mode, .in = {in}, .out = {out}, .n = in};
        Tensor inputs(Element::kFloat, {in, 1, in});
        inputs.Fill([in](int64_t i) { return i / in == i % in ? 1.0 : 0.0; });
        Tensor gradients(Element::kFloat, {out, 1, out});
        gradients.Fill([out](int64_t i) { return i / out == i % out ? 1.0 : 0.0; });
        for (const Kernel& kernel : ResampleKernels()) {
          if (!kernel.available()) continue;
          c.backward = false;
          c.n = in;
          Tensor forward(Element::kFloat, {in, 1, out});
          ASSERT_TRUE(RunKernel(kernel, Tables(c).Params(c, inputs, forward)));
          c.backward = true;
          c.n = out;
          Tensor backward(Element::kFloat, {out, 1, in});
          ASSERT_TRUE(RunKernel(kernel, Tables(c).Params(c, gradients, backward)));
          for (int64_t i = 0; i < in; ++i) {
            for (int64_t o = 0; o < out; ++o) {  // taps of one source at a border: in another order
              ASSERT_NEAR(forward.Get(i * out + o), backward.Get(o * in + i), 1e-7)
                  << Describe(c) << " " << i << " " << o;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace portacl_test
