// The cases of `boundary`: extents of 0 and 1 and around the widths of vectors, scales, kinks,
// layouts, masks, NaN and infinity. They must find the bugs of tests/golden/mutants.txt.
#include <algorithm>

#include "tools/testing/generate_parts.h"

namespace portacl::golden {
namespace {

// Extents around the widths of vectors and blocks, and the smallest.
constexpr int64_t kWidths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
constexpr int64_t kChannels[] = {1, 2, 3, 15, 16, 17, 33};

Shape Repeated(std::initializer_list<int64_t> first, size_t axes, int64_t extent,
               std::initializer_list<int64_t> last = {}) {
  Shape shape(first);
  shape.insert(shape.end(), axes, extent);
  shape.insert(shape.end(), last);
  return shape;
}

bool HasScales(const Case& c) {
  const std::vector<Parameter>& all = c.op->parameters;
  return std::any_of(all.begin(), all.end(),
                     [](const Parameter& p) { return p.role == Role::kReal; });
}

// Scales along the axes, from the outermost.
void SetScales(Case& c, const std::vector<double>& scales) {
  size_t axis = 0;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.op->parameters[i].role == Role::kReal) c.arguments[i].real = scales.at(axis++);
  }
}

// Scales that are not the quotients of the sizes, for one axis and for all axes, different along
// each. They are above, at and below 1, integers and fractions, with sizes that grow, stay and
// shrink. Some are so large that the last source would lie past the end, some so small that few
// sources are used.
void AddScales(const Case& base, std::vector<Case>& cases) {
  const size_t axes = base.op->axes;
  struct Sizes {
    int64_t small, large;
  };
  for (const auto& [small, large] :
       {Sizes{4, 9}, Sizes{6, 6}, Sizes{9, 4}, Sizes{33, 40}, Sizes{5, 10}}) {
    for (const double scale : {0.75, 1.0, 1.25, 2.0, 2.5}) {
      Case c = base;
      SetSizes(c, Repeated({1, 2}, axes, small), Repeated({1, 2}, axes, large));
      std::vector<double> scales(axes, scale);
      SetScales(c, scales);
      cases.push_back(c);
      if (axes == 1) continue;
      for (size_t axis = 0; axis < axes; ++axis) {
        scales[axis] = scale + 0.5 * static_cast<double>(axis + 1);
      }
      SetScales(c, scales);
      cases.push_back(c);
      for (size_t only = 0; only < axes; ++only) {
        scales.assign(axes, 0);
        scales[only] = scale;
        SetScales(c, scales);
        cases.push_back(c);
      }
    }
  }
}

// Extents of 1: along each axis, before, after and on both sides; along all; batch and channels.
void AddExtentsOfOne(const Case& base, std::vector<Case>& cases) {
  const size_t axes = base.op->axes;
  const auto add = [&](const Shape& small, const Shape& large) {
    Case c = base;
    SetSizes(c, small, large);
    cases.push_back(c);
    if (!HasScales(c)) return;
    SetScales(c, std::vector<double>(axes, 1.5));
    cases.push_back(std::move(c));
  };
  for (size_t axis = 2; axis < axes + 2; ++axis) {
    Shape small = Repeated({2, 3}, axes, 4), large = Repeated({2, 3}, axes, 7);
    small[axis] = 1;
    add(small, large);
    large[axis] = 1;
    add(small, large);
    small[axis] = 4;
    add(small, large);
  }
  add(Repeated({1, 1}, axes, 1), Repeated({1, 1}, axes, 1));
  add(Repeated({1, 1}, axes, 1), Repeated({1, 1}, axes, 5));
  add(Repeated({1, 1}, axes, 5), Repeated({1, 1}, axes, 1));
}

void SetAligned(Case& c, bool aligned) {
  if (c.op->aligns()) ArgumentOf(c, "alignCorners").integers = {aligned ? 1 : 0};
}

// Shapes alone, and cases that do not depend on the operator's kind of resizing.
void AddResizedShapes(const Case& base, bool empty, std::vector<Case>& cases) {
  const auto add = [&](const Shape& small, const Shape& large) {
    Case c = base;
    SetSizes(c, small, large);
    cases.push_back(std::move(c));
  };
  const size_t axes = base.op->axes;
  for (const int64_t width : kWidths) {
    Shape small = Repeated({1, 2}, axes, 3), large = Repeated({1, 2}, axes, 5);
    small.back() = width;
    large.back() = 2 * width;
    add(small, large);
    large.back() = std::max<int64_t>(width / 2, 1);
    add(small, large);
    large.back() = width + 1;
    add(small, large);
  }
  for (const int64_t channels : kChannels) {
    add(Repeated({2, channels}, axes, 4), Repeated({2, channels}, axes, 6));
  }
  if (empty) add(Repeated({0, 3}, axes, 4), Repeated({0, 3}, axes, 8));
  if (empty) add(Repeated({2, 0}, axes, 4), Repeated({2, 0}, axes, 8));
  AddExtentsOfOne(base, cases);
}

// Sizes that grow and shrink by different ratios along each axis (integers and fractions), sizes
// that stay, and values that are not finite.
void AddRatios(const Case& base, std::vector<Case>& cases) {
  constexpr int64_t kSizes[][2] = {{5, 5}, {4, 8}, {3, 12}, {12, 3}, {24, 5}, {5, 24}, {17, 16}};
  const size_t axes = base.op->axes, count = std::size(kSizes);
  for (size_t i = 0; i < count; ++i) {
    Case c = base;
    Shape small = Repeated({1, 2}, axes, 0), large = small;
    for (size_t axis = 0; axis < axes; ++axis) {
      const auto& [from, to] = kSizes[(i + 2 * axis) % count];
      small[axis + 2] = from;
      large[axis + 2] = to;
    }
    SetSizes(c, small, large);
    cases.push_back(c);
    InputOf(c).values = "nonfinite";
    cases.push_back(std::move(c));
  }
}

// Tensors with their channels last, by their format.
void AddFormats(const Case& base, const GenerateOptions& options, std::vector<Case>& cases) {
  const std::string format = base.op->axes == 2 ? "NHWC" : "NDHWC";
  const std::string_view words = FormatsFor(*base.op, options).text();
  if (words.find(format) == std::string_view::npos) return;
  Case c = base;
  InputOf(c).format = OutputOf(c).format = format;
  SetSizes(c, Repeated({2}, base.op->axes, 4, {5}), Repeated({2}, base.op->axes, 6, {5}));
  cases.push_back(c);
  SetSizes(c, Repeated({1}, base.op->axes, 7, {2}), Repeated({1}, base.op->axes, 3, {2}));
  cases.push_back(std::move(c));
}

void AddResizing(Case base, const GenerateOptions& options, std::vector<Case>& cases) {
  const bool exact = base.op->family == Family::kNearestExact;
  // The one-dimensional functions of nearest-exact refuse empty tensors, the others in profiles.
  const bool empty = exact ? base.op->axes > 1 : IsOpen(options);
  AddResizedShapes(base, empty, cases);
  Case special = base;
  InputOf(special).shape = Repeated({1, 3}, base.op->axes, 8);
  OutputOf(special).shape = Repeated({1, 3}, base.op->axes, 4);
  InputOf(special).values = "nonfinite";
  cases.push_back(std::move(special));
  if (HasScales(base)) AddScales(base, cases);
  AddFormats(base, options, cases);
  if (exact) return;
  AddRatios(base, cases);
  if (!base.op->aligns()) return;
  SetAligned(base, true);
  AddExtentsOfOne(base, cases);
  AddRatios(base, cases);
}

// Extents of 1 and others, even and odd ones; theta with values that are not finite.
void AddAffineGrids(const Case& base, std::vector<Case>& cases) {
  const size_t axes = base.op->axes;
  const auto last = static_cast<int64_t>(axes);
  for (const int64_t aligned : {0, 1}) {
    Case c = base;
    ArgumentOf(c, "alignCorners").integers = {aligned};
    ArgumentCase& grid = c.op->backward() ? InputOf(c) : OutputOf(c);
    for (const int64_t width : kWidths) {
      grid.shape = Repeated({2}, axes, 3, {last});
      (*grid.shape)[axes] = width;
      cases.push_back(c);
      if (width > 9) continue;
      (*grid.shape)[1] = 1;
      cases.push_back(c);
    }
    grid.shape = Repeated({3}, axes, 6, {last});
    cases.push_back(c);
    InputOf(c).values = "nonfinite";
    cases.push_back(c);
    grid.shape = Repeated({1}, axes, 1, {last});
    cases.push_back(c);
  }
}

void AddSamplerShapes(const Case& base, std::vector<Case>& cases) {
  const size_t axes = base.op->axes;
  const auto add = [&](const Shape& image, const Shape& points) {
    Case c = base;
    ArgumentOf(c, "input").shape = image;
    ArgumentOf(c, "grid").shape = points;
    cases.push_back(std::move(c));
  };
  const auto last = static_cast<int64_t>(axes);
  for (const int64_t width : kWidths) {
    Shape image = Repeated({1, 3}, axes, 4), points = Repeated({1}, axes, 3, {last});
    points[axes] = width;
    add(image, points);
    image.back() = width;
    points[axes] = 5;
    add(image, points);
  }
  for (const int64_t channels : kChannels) {
    add(Repeated({2, channels}, axes, 6), Repeated({2}, axes, 5, {last}));
  }
  add(Repeated({0, 3}, axes, 4), Repeated({0}, axes, 5, {last}));
  add(Repeated({2, 0}, axes, 4), Repeated({2}, axes, 5, {last}));
  add(Repeated({2, 3}, axes, 4), Repeated({2}, axes, 0, {last}));
  for (size_t axis = 0; axis < axes; ++axis) {
    Shape image = Repeated({1, 3}, axes, 4), points = Repeated({1}, axes, 5, {last});
    points[axis + 1] = 1;
    add(image, points);
    image[axis + 2] = 1;
    add(image, points);
  }
  add(Repeated({1, 1}, axes, 1), Repeated({1}, axes, 1, {last}));
}

// One gradient alone, in every interpolation.
void AddMasks(const Case& base, const GenerateOptions& options, std::vector<Case>& cases) {
  if (!base.op->backward()) return;
  for (const Shape& mask : {Shape{1, 0}, Shape{0, 1}}) {
    for (int64_t mode = 0; mode < ModesFor(*base.op, options).interpolations; ++mode) {
      Case c = base;
      ArgumentOf(c, "interpolationMode").integers = {mode};
      ArgumentOf(c, "outputMask").integers = mask;
      cases.push_back(std::move(c));
    }
  }
}

// Every mode with points on kinks, outside and not finite. One image has pixels that are exact in
// every arithmetic, one has not.
void AddSamplerModes(const Case& base, const GenerateOptions& options, std::vector<Case>& cases) {
  const ModeCounts counts = ModesFor(*base.op, options);
  const size_t axes = base.op->axes;
  const auto last = static_cast<int64_t>(axes);
  const int64_t points = axes > 2 ? 5 : 12;  // along an axis
  const int64_t combinations = counts.interpolations * counts.paddings;
  for (int64_t mode = 0; mode < 2 * combinations; ++mode) {
    Case c = base;
    const bool aligned = mode / combinations == 1;
    ArgumentOf(c, "interpolationMode").integers = {mode % counts.interpolations};
    ArgumentOf(c, "paddingMode").integers = {mode / counts.interpolations % counts.paddings};
    ArgumentOf(c, "alignCorners").integers = {aligned ? 1 : 0};
    for (const char* const values : {"kinks", "uniform:-3:3", "nonfinite"}) {
      for (const int64_t extent : {aligned ? int64_t{9} : int64_t{8}, int64_t{7}, int64_t{1}}) {
        ArgumentOf(c, "input").shape = Repeated({1, 2}, axes, extent);
        ArgumentOf(c, "grid").shape = Repeated({1}, axes, points, {last});
        ArgumentOf(c, "grid").values = values;
        c.seed = static_cast<uint64_t>(mode + 1);
        cases.push_back(c);
      }
    }
    ArgumentOf(c, "grid").values = "uniform";
    ArgumentOf(c, "input").values = "nonfinite";
    cases.push_back(c);
  }
}

void AddLayouts(const Case& base, std::vector<Case>& cases) {
  for (size_t i = 0; i < base.arguments.size(); ++i) {
    const Role role = base.op->parameters[i].role;
    if (!IsTensor(role)) continue;
    for (const std::string& layout : LayoutWords()) {
      const bool fixed = role == Role::kOutput || NamesImages(base.op->parameters[i]);
      if (layout == "contiguous" || (layout == "expanded" && fixed)) continue;
      Case c = base;
      c.arguments[i].layout = layout;
      cases.push_back(std::move(c));
    }
  }
}

void AddRoiScales(const Case& base, std::vector<Case>& cases) {
  for (size_t i = 0; i < base.arguments.size(); ++i) {
    if (!IsRoiScale(base.op->parameters[i])) continue;
    for (const double scale : RoiScales()) {
      Case c = base;
      c.arguments[i].real = scale;
      cases.push_back(std::move(c));
    }
  }
}

// For an operator without a family: each extent short, and at and beside the widths of vectors;
// inputs with values that are not finite.
void AddExtents(const Case& base, std::vector<Case>& cases) {
  for (const int64_t extent : {1, 2, 3, 7, 8, 9, 16, 17, 33}) {
    Case c = base;
    SetShapes(c,
              [&](const std::string& symbol) { return std::min(extent, MostOf(symbol, extent)); });
    cases.push_back(c);
    for (size_t i = 0; i < c.arguments.size(); ++i) {
      const Parameter& parameter = c.op->parameters[i];
      if (parameter.role != Role::kInput || parameter.dtype || NamesImages(parameter)) continue;
      Case special = c;
      special.arguments[i].values = "nonfinite";
      cases.push_back(std::move(special));
    }
  }
}

}  // namespace

std::vector<Case> Boundaries(const GenerateOptions& options) {
  std::vector<Case> cases;
  for (const OperatorRow* row : RowsFor(options)) {
    for (const DataType dtype : TypesFor(*row, options)) {
      Case base = EmptyCase(*row, options);
      base.dtype = dtype;
      base.seed = 1;
      if (row->sampler()) {
        AddSamplerShapes(base, cases);
        AddSamplerModes(base, options, cases);
      } else if (row->resizes()) {
        AddResizing(base, options, cases);
      } else if (row->family == Family::kAffineGrid) {
        AddAffineGrids(base, cases);
      } else {
        AddExtents(base, cases);
      }
      SetPlainShapes(base);
      AddLayouts(base, cases);
      AddRoiScales(base, cases);
      if (row->sampler()) AddMasks(base, options, cases);
    }
  }
  return Named("boundary", std::move(cases));
}

}  // namespace portacl::golden
