// Each kind of values, element by element from its own draw.
#include "tools/testing/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tools/parse.h"

namespace portacl::golden {
namespace {

struct Kind {
  const char* word;
  size_t least, most;  // numbers behind it
  bool grid_only;
};
constexpr Kind kKinds[] = {{"uniform", 0, 2, false},  {"integers", 2, 2, false},
                           {"constant", 1, 1, false}, {"ones", 0, 0, false},
                           {"ramp", 0, 0, false},     {"nonfinite", 0, 0, false},
                           {"identity", 0, 0, true},  {"smooth", 0, 0, true},
                           {"onecell", 0, 0, true},   {"kinks", 0, 0, true}};

// Draws that belong to the whole tensor come before the draws of its elements.
constexpr uint64_t kReserved = 16;

struct Spec {
  std::string word;
  std::vector<double> numbers;
  bool numbers_ok = true;
};

Spec Parsed(const std::string& text) {
  std::vector<std::string> parts = cli::Split(text, ':');
  Spec spec{parts[0], {}, true};
  for (size_t i = 1; i < parts.size(); ++i) {
    double value = 0;
    const char* end = parts[i].data() + parts[i].size();
    const auto [stop, error] = std::from_chars(parts[i].data(), end, value);
    spec.numbers_ok &= error == std::errc() && stop == end && std::isfinite(value);
    spec.numbers.push_back(value);
  }
  return spec;
}

const Kind* FindKind(const std::string& word) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const Kind& kind) { return word == kind.word; });
  return found == std::end(kKinds) ? nullptr : found;
}

double NotFinite(uint64_t draw) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (draw & 31) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return kInfinity;
    case 2:
      return -kInfinity;
    case 3:
      return 1e30;
    default:
      return -1.0 + 2.0 * Unit(draw);
  }
}

// The coordinate of a place in pixels.
double CoordinateOf(double pixel, int64_t extent, bool align_corners) {
  const double size = static_cast<double>(extent);
  if (!align_corners) return (2.0 * pixel + 1.0) / size - 1.0;
  return extent == 1 ? 0.0 : 2.0 * pixel / (size - 1.0) - 1.0;
}

// For the identity grid: the points' centres (or corners) at the same relative position.
double IdentityOf(int64_t index, int64_t extent, bool align_corners) {
  return CoordinateOf(static_cast<double>(index), extent, align_corners);
}

double KinkOf(uint64_t draw, int64_t extent, bool align_corners) {
  // Halves of pixels from one image before the first pixel to one behind the last.
  const uint64_t halves = 6 * static_cast<uint64_t>(extent) + 1;
  const double pixel = 0.5 * static_cast<double>(draw % halves) - static_cast<double>(extent);
  return CoordinateOf(pixel, extent, align_corners);
}

// Axes of a grid from the last (x) to the first; x goes with the image's last axis.
class GridMaker {
 public:
  GridMaker(const std::string& word, uint64_t seed, const GridFrame& frame)
      : word_(word), seed_(seed), frame_(frame), axes_(frame.image.size()) {
    // A turn without a cosine: t is the tangent of half the angle.
    const double t = -0.15 + 0.3 * Unit(Draw(seed, 0));
    const double zoom = 0.9 + 0.2 * Unit(Draw(seed, 1));
    cosine_ = zoom * ((1.0 - t * t) / (1.0 + t * t));
    sine_ = zoom * (2.0 * t / (1.0 + t * t));
  }

  double At(int64_t index) const {
    const auto axes = static_cast<int64_t>(axes_);
    const auto axis = static_cast<size_t>(index % axes);  // 0: x
    const int64_t point = index / axes;
    const uint64_t draw = Draw(seed_, kReserved + static_cast<uint64_t>(index));
    const int64_t extent = frame_.image[axes_ - 1 - axis];
    if (word_ == "kinks") return KinkOf(draw, extent, frame_.align_corners);
    if (word_ == "onecell") {
      const auto cell = static_cast<double>(Draw(seed_, 2 + axis) % static_cast<uint64_t>(extent));
      return CoordinateOf(cell + Unit(draw), extent, frame_.align_corners);
    }
    if (word_ == "identity" || axes_ < 2 || axis > 1) return Identity(point, axis);
    const double x = Identity(point, 0), y = Identity(point, 1);
    return axis == 0 ? x * cosine_ - y * sine_ : x * sine_ + y * cosine_;
  }

 private:
  double Identity(int64_t point, size_t axis) const {
    for (size_t a = 0; a < axis; ++a) point /= frame_.points[axes_ - 1 - a];
    const int64_t extent = frame_.points[axes_ - 1 - axis];
    return IdentityOf(point % extent, extent, frame_.align_corners);
  }

  const std::string& word_;
  uint64_t seed_;
  const GridFrame& frame_;
  size_t axes_;
  double cosine_, sine_;
};

}  // namespace

uint64_t Draw(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::vector<std::string> ValueWords(bool grid) {
  std::vector<std::string> words;
  for (const Kind& kind : kKinds) {
    if (grid || !kind.grid_only) words.emplace_back(kind.word);
  }
  return words;
}

std::string ValuesProblem(const std::string& text, bool grid) {
  const Spec spec = Parsed(text);
  const Kind* const kind = FindKind(spec.word);
  if (kind == nullptr || (kind->grid_only && !grid)) {
    return fmt::format("'{}' is not one of {}", spec.word, fmt::join(ValueWords(grid), ", "));
  }
  if (!spec.numbers_ok) return fmt::format("'{}': not a finite number", text);
  const size_t count = spec.numbers.size();
  if (count != kind->least && count != kind->most) {
    return fmt::format("'{}': {} takes {} numbers, as in {}:-1:1", text, kind->word, kind->most,
                       kind->word);
  }
  if (count == 2 && !(spec.numbers[0] <= spec.numbers[1])) {
    return fmt::format("'{}': the range ends before it begins", text);
  }
  constexpr double kLargestInteger = 0x1p52;
  if (spec.word == "integers" &&
      (spec.numbers[0] != std::trunc(spec.numbers[0]) ||
       spec.numbers[1] != std::trunc(spec.numbers[1]) || spec.numbers[0] < -kLargestInteger ||
       spec.numbers[1] > kLargestInteger)) {
    return fmt::format("'{}': not whole numbers up to 2^52", text);
  }
  return "";
}

std::vector<double> MakeValues(const std::string& text, uint64_t seed, int64_t count,
                               const GridFrame* grid) {
  const Spec spec = Parsed(text);
  std::vector<double> values(static_cast<size_t>(count));
  const auto fill = [&](auto value_of) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = value_of(i);
  };
  const auto draw = [seed](size_t i) { return Draw(seed, kReserved + i); };
  if (FindKind(spec.word)->grid_only) {
    const GridMaker maker(spec.word, seed, *grid);
    fill([&](size_t i) { return maker.At(static_cast<int64_t>(i)); });
  } else if (spec.word == "uniform") {
    const double bound = grid != nullptr ? 1.1 : 1.0;
    const double low = spec.numbers.empty() ? -bound : spec.numbers[0];
    const double high = spec.numbers.empty() ? bound : spec.numbers[1];
    fill([&](size_t i) { return low + (high - low) * Unit(draw(i)); });
  } else if (spec.word == "integers") {
    const auto range = static_cast<uint64_t>(spec.numbers[1] - spec.numbers[0]) + 1;
    fill([&](size_t i) { return spec.numbers[0] + static_cast<double>(draw(i) % range); });
  } else if (spec.word == "ramp") {
    fill([](size_t i) { return static_cast<double>(i); });
  } else if (spec.word == "nonfinite") {
    fill([&](size_t i) { return NotFinite(draw(i)); });
  } else {
    const double value = spec.word == "ones" ? 1.0 : spec.numbers[0];
    fill([&](size_t) { return value; });
  }
  return values;
}

}  // namespace portacl::golden
