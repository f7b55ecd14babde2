// The reference kernels against stored results of PyTorch (tests/data/make_pytorch_goldens.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "support/api/compare.h"
#include "support/api/grid_oracle.h"
#include "support/api/npz.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using nlohmann::json;

Element ElementFromName(const std::string& name) {
  for (const Element element : kElements) {
    if (name == NameOf(element)) return element;
  }
  throw std::runtime_error("element " + name);
}

// zlib's CRC-32, bit by bit.
uint32_t Crc32(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// As the script makes it.
Tensor UniformTensor(Element element, const Shape& shape, uint64_t seed, double low = -1,
                     double high = 1, Layout layout = Layout::kContiguous) {
  Random random(seed);
  Tensor tensor(element, shape, layout);
  return tensor.Fill(
      [&](int64_t) { return std::nearbyint(random.Uniform(low, high) * 0x1p20) * 0x1p-20; });
}

// ---- nearest-exact: bits -----------------------------------------------------------------------

class PyTorchNearest : public testing::Test {
 protected:
  const Npz goldens_ = ReadGoldens("pytorch_nearest.npz");
  const json meta_ = json::parse(goldens_.at("meta").AsText());
};

TEST_F(PyTorchNearest, EverySizePairUpTo96HasPyTorchsBits) {
  const std::vector<uint32_t> pairs = goldens_.at("pairs").As<uint32_t>();
  size_t at = 0;
  for (const Element element : kNearestElements) {
    for (const bool scaled : {false, true}) {
      for (int64_t in = 1; in <= 96; ++in) {
        uint32_t crc = 0;
        for (int64_t out = 1; out <= 96; ++out) {
          const Tensor grad_output =
              UniformTensor(element, {1, 1, out}, static_cast<uint64_t>(1000 * in + out));
          std::vector<double> scales;
          if (scaled) scales = {static_cast<double>(out) / static_cast<double>(in)};
          Tensor grad_input(element, {1, 1, in});
          ASSERT_TRUE(RunNearest(portacl::ref::kUpsampleNearestExactBackward, grad_output, scales,
                                 &grad_input));
          crc = Crc32(grad_input.data(), grad_input.storage_bytes(), crc);
        }
        EXPECT_EQ(crc, pairs[at++]) << element << " I = " << in << (scaled ? " with scales" : "");
      }
    }
  }
}

TEST_F(PyTorchNearest, StoredCasesHavePyTorchsBits) {
  size_t index = 0;
  for (const json& c : meta_.at("cases")) {
    SCOPED_TRACE(c.dump());
    const Element element = ElementFromName(c.at("dtype"));
    const Layout layout = c.at("channels_last") ? Layout::kChannelsLast : Layout::kContiguous;
    const Tensor grad_output =
        UniformTensor(element, c.at("grad_output").get<Shape>(), c.at("seed"), -1, 1, layout);
    Tensor grad_input(element, c.at("grad_input").get<Shape>(), layout);
    ASSERT_TRUE(RunNearest(portacl::ref::kUpsampleNearestExactBackward, grad_output,
                           c.at("scales").get<std::vector<double>>(), &grad_input));
    Tensor want(element, grad_input.shape());
    const NpyArray& stored = goldens_.at("case" + std::to_string(index++));
    ASSERT_EQ(stored.bytes.size(), want.storage_bytes());
    std::memcpy(want.data(), stored.bytes.data(), stored.bytes.size());
    EXPECT_TRUE(BitIdentical(grad_input, want));
  }
}

// ---- grid sampler ------------------------------------------------------------------------------

testing::AssertionResult NearPyTorch(const Tensor& got, const std::vector<ExactSum>& oracle,
                                     const std::vector<double>& want, int64_t extent) {
  if (want.size() != oracle.size() || static_cast<size_t>(got.size()) != want.size()) {
    return testing::AssertionFailure() << "sizes";
  }
  long double largest = 0;
  for (const ExactSum& sum : oracle) largest = std::max(largest, sum.magnitude);
  for (size_t i = 0; i < want.size(); ++i) {
    const double value = got.Get(static_cast<int64_t>(i));
    const long double allowed = AllowedFromPyTorch(got.element(), oracle[i], extent, largest);
    if (!(std::fabs(value - want[i]) <= allowed)) {
      return testing::AssertionFailure() << "element " << i << ": got " << value << ", PyTorch has "
                                         << want[i] << ", allowed " << allowed;
    }
  }
  return testing::AssertionSuccess();
}

TEST(PyTorchGridSampler, StoredCasesAndKinksAgree) {
  const Npz goldens = ReadGoldens("pytorch_grid.npz");
  const json meta = json::parse(goldens.at("meta").AsText());
  size_t index = 0;
  size_t kinks = 0;
  for (const json& c : meta.at("cases")) {
    SCOPED_TRACE(c.dump());
    const Element element = ElementFromName(c.at("dtype"));
    const GridMode mode = {c.at("interpolation"), c.at("padding"), c.at("align_corners")};
    const Shape shape = c.at("input").get<Shape>();
    const Shape points = c.at("points").get<Shape>();
    const uint64_t seed = c.at("seed");
    const Tensor grad_output =
        UniformTensor(element, {shape[0], shape[1], points[0], points[1]}, seed);
    const Tensor input = UniformTensor(element, shape, seed + 1);
    Tensor grid = UniformTensor(element, {shape[0], points[0], points[1], 2}, seed + 2, -1.6, 1.6);
    if (c.at("kinks")) {
      grid.Fill(goldens.at(mode.align_corners ? "kinks_aligned" : "kinks").As<double>());
      ++kinks;
    }
    const std::string name = "case" + std::to_string(index++) + "_";
    const auto stored = [&](const char* what) { return goldens.at(name + what).As<double>(); };
    const int64_t extent = std::max(shape[2], shape[3]);

    Tensor input_grad(element, input.shape());
    Tensor grid_grad(element, grid.shape());
    Tensor output(element, grad_output.shape());
    ASSERT_TRUE(RunGridBackward(portacl::ref::kGridSampler2DBackward, grad_output, input, grid,
                                mode, &input_grad, &grid_grad));
    ASSERT_TRUE(RunGridSampler(portacl::ref::kGridSampler2D, input, grid, mode, &output));
    const GridGradients oracle = GridBackward(grad_output, input, grid, mode);
    EXPECT_TRUE(NearPyTorch(input_grad, oracle.input_grad, stored("input_grad"), extent));
    EXPECT_TRUE(NearPyTorch(grid_grad, oracle.grid_grad, stored("grid_grad"), extent));
    EXPECT_TRUE(NearPyTorch(output, GridForward(input, grid, mode), stored("output"), extent));
  }
  EXPECT_EQ(kinks, AllGridModes().size());
}

TEST(PyTorchGoldens, NameTheirOrigin) {
  for (const char* name : {"pytorch_nearest.npz", "pytorch_grid.npz"}) {
    const json meta = json::parse(ReadGoldens(name).at("meta").AsText());
    EXPECT_TRUE(meta.contains("pytorch")) << name;
    EXPECT_EQ(meta.at("made_by"), "make_pytorch_goldens.py");
  }
}

}  // namespace
}  // namespace portacl_test
