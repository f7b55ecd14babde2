// The vectorised resampling kernels, forward and backward, against the reference, byte by byte: on
// every instruction set of the machine, for every mode, type, layout, path and number of threads.
#include "cpu/resize/resample.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "ops/resample_axis.h"
#include "ref/resample.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::cpu::ResampleKernels;
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
constexpr std::array kModes = {kLinear, kCubic, kAALinear, kAACubic};
constexpr std::array kWords = {"linear", "cubic", "antialiased linear", "antialiased cubic"};

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
};

std::string Describe(const ResampleCase& c) {
  std::string text = std::string(NameOf(c.element)) + " " + kWords[static_cast<size_t>(c.mode)] +
                     (c.backward ? " backward (" : " forward (") + std::to_string(c.n) + ", " +
                     std::to_string(c.c) + ")";
  text += " " + ToString(c.in) + " to " + ToString(c.out) + " from " + NameOf(c.from) + " to " +
          NameOf(c.to) + (c.align_corners ? " align_corners" : "");
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
    p.backward = c.backward;
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
    return {c.mode,
            c.in[axis],
            c.out[axis],
            c.align_corners,
            c.scales.empty() ? 0.0 : c.scales[axis],
            c.element == Element::kDouble};
  }
  static std::array<int64_t, 5> Strides(const Tensor& t) {
    std::array<int64_t, 5> strides = {t.strides()[0], t.strides()[1], 0, 0, 0};
    std::copy_backward(t.strides().begin() + 2, t.strides().end(), strides.end());
    return strides;
  }
  ResampleTable d_, h_, w_;
};

// Bytes that end where the process may not read, at the same place in a line as the tensor's.
class EndOfMemory {
 public:
  explicit EndOfMemory(const Tensor& tensor) : bytes_(tensor.storage_bytes()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (bytes_ + page - 1) / page * page;
    map_ = static_cast<std::byte*>(
        mmap(nullptr, inner_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(map_ + inner_, page, PROT_NONE), 0);
    std::memcpy(begin(), tensor.data(), bytes_);
  }
  ~EndOfMemory() { munmap(map_, inner_ + static_cast<size_t>(sysconf(_SC_PAGESIZE))); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  std::byte* begin() const { return map_ + inner_ - bytes_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  size_t inner_ = 0;
  std::byte* map_ = nullptr;
};

void FillSpecial(Random& random, Tensor* tensor) {
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
  // Every kernel of the machine; the path of the narrowest is returned.
  static std::string ExpectSameBytes(const ResampleCase& c, Random& random) {
    SCOPED_TRACE(Describe(c));
    const Tables tables(c);
    Tensor from(c.element, ShapeOf(c, c.backward ? c.out : c.in), c.from);
    FillSpecial(random, &from);
    const Shape shape = ShapeOf(c, c.backward ? c.in : c.out);
    Tensor want(c.element, shape, c.to);
    EXPECT_TRUE(RunKernel(kResample, tables.Params(c, from, want)));
    std::string path;
    for (const Kernel& kernel : ResampleKernels()) {
      if (!kernel.available()) continue;
      Tensor got(c.element, shape, c.to);
      ResampleParams params = tables.Params(c, from, got);
      const auto plan = kernel.plan(params, "");
      EXPECT_NE(plan, nullptr) << kernel.name;
      if (plan == nullptr) return {};
      path = plan->path();
      EXPECT_TRUE(RunKernel(kernel, params, path)) << kernel.name;
      EXPECT_TRUE(SameAs(want, got)) << kernel.name << ":" << path;
      ExpectStaysInside(kernel, params, c, from, want);
    }
    return path;
  }

  // The same between pages that fault.
  static void ExpectStaysInside(const Kernel& kernel, ResampleParams params, const ResampleCase& c,
                                const Tensor& from, const Tensor& want) {
    const EndOfMemory source(from);
    const Tensor empty(c.element, want.shape(), c.to);
    const EndOfMemory result(empty);
    const auto size = static_cast<int64_t>(SizeOf(c.element));
    params.input = source.begin() + from.offset() * size;
    params.output = result.begin() + empty.offset() * size;
    EXPECT_TRUE(RunKernel(kernel, params)) << kernel.name;
    Tensor got = empty;
    std::memcpy(got.data(), result.begin(), result.size());
    EXPECT_TRUE(SameAs(want, got)) << kernel.name << " between guard pages";
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
      c.from = c.to = Layout::kChannelsLast;
      c.c = random.Integer(1, 40);
      if (axes == 3) c.n = 1;
    }
    const auto elements = [&](const Extents& extents) { return c.n * c.c * ProductOf(extents); };
    while (elements(c.in) + elements(c.out) > 200000 && c.n * c.c > 1) c.n = c.c = 1;
    return c;
  }
};

TEST_F(ResampleTest, EqualsTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(3000, 300) && !HasFailure(); ++i) {
    ASSERT_TRUE(portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 3))));
    ExpectSameBytes(RandomCase(random), random);
  }
  ExpectRan(ResampleKernels(), {"rows", "channels_last", "columns"}, 5);
}

}  // namespace
}  // namespace portacl_test
