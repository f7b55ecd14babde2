// Tables by the float rule of nearest-exact, guarded tensors, random cases.
#include "support/nearest_case.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace portacl::test {
namespace {

// Written from the rule, not for speed: the tests' own definition of the index map.
int64_t SourceIndex(int64_t o, int64_t in, int64_t out, double scale) {
  constexpr int64_t kFloatHoldsIndices = int64_t{1} << 24;
  double position;
  if (in > kFloatHoldsIndices) {
    const double r = scale > 0 ? 1.0 / scale : static_cast<double>(in) / static_cast<double>(out);
    position = std::floor((static_cast<double>(o) + 0.5) * r);
  } else {
    const float r = scale > 0 ? static_cast<float>(1.0 / scale)
                              : static_cast<float>(in) / static_cast<float>(out);
    const double product = (static_cast<double>(o) + 0.5) * static_cast<double>(r);
    position = static_cast<double>(std::floor(static_cast<float>(product)));
  }
  return static_cast<int64_t>(std::min(position, static_cast<double>(in - 1)));
}

template <class T>
T RandomValue(std::mt19937_64& rng, bool finite) {
  const uint64_t bits = rng();
  const auto narrow = [](double v) {
    return base::Narrow<T>(static_cast<base::ComputeType<T>>(v));
  };
  switch (bits % 64) {
    case 0:
      return narrow(0.0);
    case 1:
      return narrow(-0.0);
    case 2:  // subnormal in the narrow types
      return narrow(static_cast<double>(static_cast<int64_t>(bits >> 40) - (1 << 23)) * 1e-14);
    case 3:
      return finite ? narrow(1.0) : narrow(std::numeric_limits<double>::infinity());
    case 4:
      return finite ? narrow(-1.0) : narrow(-std::numeric_limits<double>::infinity());
    case 5:
      return finite ? narrow(3.0) : narrow(std::numeric_limits<double>::quiet_NaN());
    case 6:
      return narrow(60000.0);
    default:
      return narrow(std::ldexp(static_cast<double>(bits >> 20) / (1ull << 43) - 1.0,
                               static_cast<int>(bits % 17) - 8));
  }
}

template <class T>
void CanonicalizeAs(unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    if (std::isnan(base::Widen(value))) {
      value = base::Narrow<T>(std::numeric_limits<base::ComputeType<T>>::quiet_NaN());
      std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
    }
  }
}

template <class F>
void ForType(base::DType dtype, const F& f) {
  switch (dtype) {
    case base::DType::kFloat16:
      return f(base::Float16());
    case base::DType::kBFloat16:
      return f(base::BFloat16());
    case base::DType::kDouble:
      return f(double());
    default:
      return f(float());
  }
}

}  // namespace

NearestTable::NearestTable(int64_t in, int64_t out, double scale)
    : begin_(static_cast<size_t>(in + 1), out), in_(in), out_(out) {
  begin_[0] = 0;
  int64_t next = 0;  // first destination whose begin is not known
  for (int64_t o = 0; o < out; ++o) {
    for (; next <= SourceIndex(o, in, out, scale); ++next) begin_[static_cast<size_t>(next)] = o;
  }
}

ops::NearestAxis NearestTable::axis() const {
  int64_t ratio = out_ % in_ == 0 ? out_ / in_ : 0;
  for (int64_t i = 0; i <= in_; ++i) {
    if (begin_[static_cast<size_t>(i)] != ratio * i) ratio = 0;
  }
  return {.in = in_, .out = out_, .begin = begin_.data(), .ratio = ratio};
}

const char* LayoutName(Layout layout) {
  static constexpr const char* kNames[] = {"contiguous",  "channels_last", "transposed",
                                           "padded_rows", "padded_lines",  "padded_pixels",
                                           "stepped",     "reversed",      "reversed_rows",
                                           "expanded",    "expanded_pixel"};
  return kNames[static_cast<size_t>(layout)];
}

std::array<int64_t, 4> LayoutStrides(Layout layout, const Shape& s) {
  const auto [n, c, h, w] = s;
  switch (layout) {
    case Layout::kChannelsLast:
      return {h * w * c, 1, w * c, c};
    case Layout::kTransposed:
      return {c * h * w, h * w, 1, h};
    case Layout::kPaddedRows:
      return {c * (h * (w + 3) + 5), h * (w + 3) + 5, w + 3, 1};
    case Layout::kPaddedLines: {
      const int64_t row = (w / 64 + 1) * 64;
      return {c * h * row, h * row, row, 1};
    }
    case Layout::kPaddedPixels:
      return {h * (w * (c + 2) + 3), 1, w * (c + 2) + 3, c + 2};
    case Layout::kStepped:
      return {c * h * w * 2, h * w * 2, w * 2, 2};
    case Layout::kReversed:
      return {c * h * w, h * w, -w, -1};
    case Layout::kReversedRows:
      return {c * h * w, h * w, -w, 1};
    case Layout::kExpanded:
      return {0, 0, 0, 0};
    case Layout::kExpandedPixel:
      return {0, 1, 0, 0};
    default:
      return {c * h * w, h * w, w, 1};
  }
}

GuardedTensor::GuardedTensor(base::DType dtype, const Shape& shape, Layout layout, bool at_end,
                             size_t offset)
    : dtype_(dtype),
      element_size_(static_cast<size_t>(base::DTypeSize(dtype))),
      strides_(LayoutStrides(layout, shape)) {
  int64_t lowest = 0, highest = 0;
  bool empty = false;
  for (size_t axis = 0; axis < 4; ++axis) {
    const int64_t reach = (shape[axis] - 1) * strides_[axis];
    (reach < 0 ? lowest : highest) += reach;
    empty = empty || shape[axis] == 0;
  }
  storage_bytes_ = empty ? 0 : static_cast<size_t>(highest - lowest + 1) * element_size_;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t shift = at_end ? 0 : offset * element_size_;
  const size_t inner = (storage_bytes_ + shift + page - 1) / page * page;
  map_bytes_ = inner + 2 * page;
  void* map = mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<unsigned char*>(map);
  if (inner != 0 && mprotect(map_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
    throw std::bad_alloc();
  }
  storage_ = at_end ? map_ + page + inner - storage_bytes_ : map_ + page + shift;
  origin_ = storage_ - lowest * static_cast<int64_t>(element_size_);
}

GuardedTensor::~GuardedTensor() { munmap(map_, map_bytes_); }

void GuardedTensor::FillRandom(std::mt19937_64& rng, bool finite) {
  ForType(dtype_, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i + sizeof(T) <= storage_bytes_; i += sizeof(T)) {
      const T value = RandomValue<T>(rng, finite);
      std::memcpy(storage_ + i, &value, sizeof(T));
    }
  });
}

void GuardedTensor::FillBytes(unsigned char value) { std::memset(storage_, value, storage_bytes_); }

std::vector<unsigned char> GuardedTensor::CanonicalBytes() const {
  std::vector<unsigned char> bytes(storage_, storage_ + storage_bytes_);
  ForType(dtype_, [&](auto zero) {
    CanonicalizeAs<decltype(zero)>(bytes.data(), bytes.size() / sizeof(zero));
  });
  return bytes;
}

std::ostream& operator<<(std::ostream& os, const NearestCase& c) {
  return os << base::DTypeName(c.dtype) << " (" << c.n << "," << c.c << ") H " << c.h_in << "<->"
            << c.h_out << " W " << c.w_in << "<->" << c.w_out << " scales " << c.h_scale << ","
            << c.w_scale << " from " << LayoutName(c.from) << " to " << LayoutName(c.to)
            << (c.at_end ? " at end" : " at start + ") << c.offset
            << (c.finite ? "" : " not finite") << " seed " << c.seed;
}

NearestCase RandomNearestCase(std::mt19937_64& rng, int64_t max_elements) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  const auto pick = [&](const auto& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(std::size(values))))];
  };
  constexpr int64_t kExtents[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  13, 15,  16,
                                  17, 21, 31, 32, 33, 47, 63, 64, 65, 84, 100, 130};
  constexpr Layout kDense[] = {Layout::kContiguous, Layout::kContiguous, Layout::kChannelsLast};

  NearestCase c;
  c.seed = rng();
  c.dtype = pick(kFloatingTypes);
  c.n = 1 + below(3);
  c.c = below(3) == 0 ? pick(kExtents) : 1 + below(4);
  const auto axis = [&](int64_t& in, int64_t& out, double& scale) {
    in = pick(kExtents);
    switch (below(8)) {
      case 0:  // downscale
        out = 1 + below(in);
        break;
      case 1:  // large ratio
        out = in * (5 + below(30)) + below(2) * below(in);
        break;
      case 2:
      case 3:  // general
        out = in + below(4 * in);
        break;
      case 4:  // a scale of its own
        out = in + below(3 * in);
        scale = 0.3 + static_cast<double>(below(500)) / 100.0;
        break;
      default:
        out = in * (1 + below(4));
    }
  };
  do {
    axis(c.h_in, c.h_out, c.h_scale);
    axis(c.w_in, c.w_out, c.w_scale);
    if (below(3) == 0) c.h_in = c.h_out = 1;
  } while (c.h_in * c.w_in > max_elements || c.h_out * c.w_out > max_elements);
  while (c.n * c.c * std::max(c.h_in * c.w_in, c.h_out * c.w_out) > max_elements && c.c > 1) {
    c.c = (c.c + 1) / 2;
    c.n = 1;
  }
  if (below(2) == 0) {
    c.from = c.to = pick(kDense);
  } else {
    c.from = pick(kAllLayouts);
    do {
      c.to = pick(kAllLayouts);
    } while (IsExpanded(c.to));
  }
  c.at_end = below(2) == 0;
  c.offset = c.at_end ? 0 : static_cast<size_t>(below(20));
  c.finite = below(4) != 0;
  return c;
}

uint64_t Seed(uint64_t otherwise) {
  const char* text = std::getenv("PORTACL_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

int Repetitions(int otherwise) {
  const char* text = std::getenv("PORTACL_TEST_REPETITIONS");
  return text != nullptr ? std::atoi(text) : otherwise;
}

}  // namespace portacl::test
