// The tables of resizing: bit by bit against an independent implementation, against the textbook's
// formulas in long double, and the transpose against its definition.
#include "ops/resample_axis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "test_paths.h"

namespace portacl::ops {
namespace {

struct Tap {
  int64_t destination;
  int64_t source;
  double weight;
  bool operator==(const Tap&) const = default;
};

// Of identities too, which have no arrays.
std::vector<Tap> TapsOf(const ResampleAxis& axis, bool in_double) {
  std::vector<Tap> taps;
  for (int64_t o = 0; o < axis.to; ++o) {
    if (axis.identity) {
      taps.push_back({o, o, 1});
      continue;
    }
    for (int64_t k = axis.start[o]; k < axis.start[o + 1]; ++k) {
      const double weight = in_double
                                ? static_cast<const double*>(axis.weight)[k]
                                : static_cast<double>(static_cast<const float*>(axis.weight)[k]);
      taps.push_back({o, axis.source[k], weight});
    }
  }
  return taps;
}

std::vector<Tap> TapsOf(const ResampleRule& rule, bool backward = false) {
  const ResampleTable table(rule, backward);
  return TapsOf(table.axis(), rule.in_double);
}

const std::map<std::string, ResampleMode> kModes = {{"linear", ResampleMode::kLinear},
                                                    {"cubic", ResampleMode::kCubic},
                                                    {"aalinear", ResampleMode::kAntialiasedLinear},
                                                    {"aacubic", ResampleMode::kAntialiasedCubic},
                                                    {"lanczos", ResampleMode::kLanczos}};

uint64_t HashOf(const std::vector<Tap>& taps, bool in_double) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (const Tap& tap : taps) {
    add(static_cast<uint64_t>(tap.destination));
    add(static_cast<uint64_t>(tap.source));
    add(in_double ? std::bit_cast<uint64_t>(tap.weight)
                  : std::bit_cast<uint32_t>(static_cast<float>(tap.weight)));
  }
  return hash;
}

TEST(ResampleAxis, HasTheBitsOfAnIndependentImplementation) {
  std::ifstream file(PORTACL_SOURCE_DIR "/tests/data/resample_tables.txt");
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string mode, type, hash;
    ResampleRule rule;
    size_t count = 0;
    words >> mode >> type >> rule.in >> rule.out >> rule.align_corners >> rule.scale >> count >>
        hash;
    ASSERT_TRUE(words) << line;
    rule.mode = kModes.at(mode);
    rule.in_double = type == "double";
    const std::vector<Tap> taps = TapsOf(rule);
    EXPECT_EQ(taps.size(), count) << line;
    EXPECT_EQ(HashOf(taps, rule.in_double), std::stoull(hash, nullptr, 16)) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 1504);
}

// The weight of an input at a distance from the output's centre, unscaled.
long double Kernel(ResampleMode mode, long double s) {
  s = std::fabs(s);
  if (mode == ResampleMode::kLinear || mode == ResampleMode::kAntialiasedLinear) {
    return s < 1 ? 1 - s : 0;
  }
  if (mode == ResampleMode::kLanczos) {
    const auto sinc = [](long double t) {
      const long double angle = std::numbers::pi_v<long double> * t;
      return angle == 0 ? 1 : std::sin(angle) / angle;
    };
    return s < 3 ? sinc(s) * sinc(s / 3) : 0;
  }
  const long double a = mode == ResampleMode::kCubic ? -0.75L : -0.5L;
  if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
  return s < 2 ? a * (s * s * s - 5 * s * s + 8 * s - 4) : 0;
}

// One row of the matrix by the textbook: the kernel at the distance. Inputs outside the image are
// moved to its border, or left out and the others normalised.
std::vector<long double> ExactRow(const ResampleRule& rule, int64_t o) {
  const bool antialiased = rule.mode >= ResampleMode::kAntialiasedLinear;
  const long double ratio =
      rule.align_corners
          ? (rule.out > 1
                 ? static_cast<long double>(rule.in - 1) / static_cast<long double>(rule.out - 1)
                 : 0)
      : rule.scale > 0 ? 1 / static_cast<long double>(rule.scale)
                       : static_cast<long double>(rule.in) / static_cast<long double>(rule.out);
  // Antialiased modes take half-pixel centres with align_corners too, as PyTorch does.
  long double x = rule.align_corners && !antialiased
                      ? ratio * static_cast<long double>(o)
                      : ratio * (static_cast<long double>(o) + 0.5L) - 0.5L;
  if (rule.mode == ResampleMode::kLinear) {
    x = std::max(x, 0.0L);
  }
  const long double last = static_cast<long double>(rule.in - 1);
  if (!antialiased) x = std::min(x, last + 1);  // one input behind the last is all border
  const long double stretch = antialiased ? std::max(ratio, 1.0L) : 1;
  const auto reach = static_cast<int64_t>(std::ceil(3 * stretch)) + 2;
  std::vector<long double> row(static_cast<size_t>(rule.in), 0);
  long double total = 0;
  for (auto i = static_cast<int64_t>(std::floor(x)) - reach; i <= std::floor(x) + reach + 1; ++i) {
    const long double weight = Kernel(rule.mode, (static_cast<long double>(i) - x) / stretch);
    if (antialiased && (i < 0 || i >= rule.in)) continue;
    row[static_cast<size_t>(std::clamp<int64_t>(i, 0, rule.in - 1))] += weight;
    total += weight;
  }
  if (antialiased && total != 0) {
    for (long double& weight : row) weight /= total;
  }
  return row;
}

TEST(ResampleAxis, IsTheTextbooksMatrix) {
  for (const auto& [name, mode] : kModes) {
    for (int64_t in = 1; in <= 24; ++in) {
      for (int64_t out = 1; out <= 24; ++out) {
        for (const bool align_corners : {false, true}) {
          const ResampleRule rule{.mode = mode,
                                  .in = in,
                                  .out = out,
                                  .align_corners = align_corners,
                                  .in_double = true};
          std::vector<std::vector<double>> rows(static_cast<size_t>(out),
                                                std::vector<double>(static_cast<size_t>(in)));
          for (const Tap& tap : TapsOf(rule)) {
            rows[static_cast<size_t>(tap.destination)][static_cast<size_t>(tap.source)] +=
                tap.weight;
          }
          for (int64_t o = 0; o < out; ++o) {
            const auto exact = ExactRow(rule, o);
            for (size_t i = 0; i < exact.size(); ++i) {
              EXPECT_NEAR(rows[static_cast<size_t>(o)][i], static_cast<double>(exact[i]), 1e-13)
                  << name << " " << in << " -> " << out << " align " << align_corners << " output "
                  << o << " input " << i;
            }
          }
        }
      }
    }
  }
}

TEST(ResampleAxis, ItsTransposeListsTheSameTapsByInput) {
  for (const auto& [name, mode] : kModes) {
    for (const auto& [in, out, scale] :
         {std::tuple{13, 40, 0.0}, std::tuple{40, 13, 0.0}, std::tuple{7, 7, 0.0},
          std::tuple{5, 300, 9.5}, std::tuple{24, 10, 1e-3}, std::tuple{9, 20, 1e30},
          std::tuple{1, 5, 0.0}, std::tuple{2, 9, 0.0}, std::tuple{3, 1, 0.0},
          std::tuple{3, 11, 0.3}, std::tuple{40, 9, 0.0}, std::tuple{40, 8, 0.0}}) {
      ResampleRule rule{.mode = mode, .in = in, .out = out, .scale = scale};
      const std::vector<Tap> forward = TapsOf(rule);
      const ResampleTable backward(rule, true);
      const ResampleAxis& axis = backward.axis();
      EXPECT_EQ(axis.from, out);
      EXPECT_EQ(axis.to, in);
      std::vector<Tap> wanted;
      int64_t most = 0;
      for (int64_t i = 0; i < in; ++i) {
        const size_t before = wanted.size();
        for (const Tap& tap : forward) {
          if (tap.source == i) wanted.push_back({i, tap.destination, tap.weight});
        }
        most = std::max(most, static_cast<int64_t>(wanted.size() - before));
      }
      EXPECT_EQ(TapsOf(axis, false), wanted) << name << " " << in << " -> " << out;
      EXPECT_EQ(axis.most, most);
    }
  }
}

TEST(ResampleAxis, EqualExtentsAreAnIdentityButInCubic) {
  for (const double scale : {0.0, 0.5, 3.0}) {
    for (const auto& [name, mode] : kModes) {
      const ResampleTable table({.mode = mode, .in = 9, .out = 9, .scale = scale}, false);
      EXPECT_EQ(table.axis().identity, mode != ResampleMode::kCubic) << name;
      if (mode == ResampleMode::kCubic) {
        EXPECT_EQ(table.axis().most, 4);
      }
    }
  }
}

// Scales that no image needs, which checks of some functions let through.
TEST(ResampleAxis, StaysInsideTheImageAndFiniteForAnyScale) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  for (const auto& [name, mode] : kModes) {
    for (const bool in_double : {false, true}) {
      for (const double scale : {kLeast, 1e-300, 1e-40, 1e-20, 1e-3, 1e3, 1e20, 1e40, 1e300}) {
        const ResampleTable table(
            {.mode = mode, .in = 50, .out = 60, .scale = scale, .in_double = in_double}, false);
        for (const Tap& tap : TapsOf(table.axis(), in_double)) {
          ASSERT_GE(tap.source, 0) << name << " " << scale;
          ASSERT_LT(tap.source, 50) << name << " " << scale;
          ASSERT_TRUE(std::isfinite(tap.weight)) << name << " " << scale;
        }
        EXPECT_LE(table.axis().most, 50) << name << " " << scale;
      }
    }
  }
}

// In float, neighbours would share a coordinate from 2^24 on.
TEST(ResampleAxis, HugeExtentsAreWeighedInDouble) {
  constexpr int64_t kIn = (int64_t{1} << 24) + 3;
  const ResampleTable table({ResampleMode::kLinear, kIn, 2 * kIn, false, 0, false}, false);
  const ResampleAxis& axis = table.axis();
  const auto* weight = static_cast<const float*>(axis.weight);
  for (int64_t o = 2 * kIn - 1000; o < 2 * kIn - 1; ++o) {
    const int64_t k = axis.start[o];
    ASSERT_EQ(axis.source[k], (o - 1) / 2) << o;
    ASSERT_NEAR(static_cast<double>(weight[k]), o % 2 == 1 ? 0.75 : 0.25, 1e-6) << o;
  }
}

}  // namespace
}  // namespace portacl::ops
