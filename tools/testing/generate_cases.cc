// smoke, random and models; boundary and refusals are in files of their own.
#include "tools/testing/generate_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "bench/shapes_json.h"
#include "tools/testing/generate_parts.h"
#include "tools/testing/values.h"

namespace portacl::golden {
namespace {

using nlohmann::json;

// Choices from the stream of a seed.
class Chooser {
 public:
  explicit Chooser(uint64_t seed) : seed_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  template <class T>
  const T& Of(const std::vector<T>& choices) {
    return choices[Next() % choices.size()];
  }
  bool OneIn(uint64_t n) { return Next() % n == 0; }
  uint64_t Next() { return Draw(seed_, count_++); }

 private:
  uint64_t seed_, count_ = 0;
};

int64_t Sized(Chooser& choose, int64_t most) {
  // Small extents more often than large ones: that is where the edges are.
  return choose.OneIn(3) ? choose.Between(1, 3) : choose.Between(1, most);
}

// The largest extents along an axis of vectors and images, and of volumes.
struct Most {
  int64_t of_images, of_volumes;
};

// Extents for every symbol of the operator's tensors.
void ChooseShapes(Chooser& choose, const Most& sizes, Case& c) {
  const int64_t most = c.op->axes > 2 ? sizes.of_volumes : sizes.of_images;
  if (c.op->family == Family::kOther) {
    return SetShapes(c, [&](const std::string& symbol) {
      const int64_t limit = MostOf(symbol, symbol == "C" ? 20 : most);
      return limit < most ? choose.Between(1, limit) : Sized(choose, limit);
    });
  }
  const int64_t batch = choose.Between(1, 2), channels = choose.Between(1, 20);
  Shape image = {batch, channels}, points = {batch};
  for (size_t a = 0; a < c.op->axes; ++a) {
    image.push_back(Sized(choose, most));
    points.push_back(Sized(choose, most));
  }
  if (c.op->resizes()) {
    Shape large = {batch, channels};
    large.insert(large.end(), points.begin() + 1, points.end());
    return SetSizes(c, image, large);
  }
  points.push_back(static_cast<int64_t>(c.op->axes));
  if (c.op->sampler()) {
    ArgumentOf(c, "input").shape = image;
    ArgumentOf(c, "grid").shape = points;
  } else {
    (c.op->backward() ? InputOf(c) : OutputOf(c)).shape = points;
  }
}

void ChooseModes(Chooser& choose, const GenerateOptions& options, Case& c) {
  if (c.op->family == Family::kOther) {
    for (size_t i = 0; i < c.arguments.size(); ++i) {
      const Parameter& p = c.op->parameters[i];
      const auto words = static_cast<int64_t>(ModeWords(p).size());
      const bool free = !c.arguments[i].integers;  // or it goes with the shapes
      if (p.role == Role::kFlag && free) c.arguments[i].integers = {choose.Between(0, 1)};
      if (p.role == Role::kMode) c.arguments[i].integers = {choose.Between(0, words - 1)};
      if (p.role == Role::kReal && std::string_view(p.name).ends_with("Value")) {
        c.arguments[i].real = static_cast<double>(choose.Between(-8, 8)) * 0.5;
      }
      if (IsRoiScale(p)) c.arguments[i].real = choose.Of(RoiScales());
      if (p.role == Role::kInteger && *p.pattern == '\0') {
        c.arguments[i].integers = {choose.Between(0, 3)};
      }
    }
    return;
  }
  if (!c.op->sampler()) {
    const auto flag = c.op->Find("alignCorners");
    if (flag && c.op->family != Family::kLanczos) {
      c.arguments[*flag].integers = {choose.Between(0, 1)};
    }
    return;
  }
  const ModeCounts counts = ModesFor(*c.op, options);
  ArgumentOf(c, "interpolationMode").integers = {choose.Between(0, counts.interpolations - 1)};
  ArgumentOf(c, "paddingMode").integers = {choose.Between(0, counts.paddings - 1)};
  ArgumentOf(c, "alignCorners").integers = {choose.Between(0, 1)};
  if (c.op->backward() && choose.OneIn(4)) {
    ArgumentOf(c, "outputMask").integers = choose.OneIn(2) ? Shape{1, 0} : Shape{0, 1};
  }
  static const std::vector<std::string> kGrids = {"uniform", "smooth", "identity", "kinks",
                                                  "onecell"};
  ArgumentOf(c, "grid").values = choose.Of(kGrids);
}

// A scale that keeps the documents' limit of 50 and is not the quotient of the sizes.
void ChooseScales(Chooser& choose, Case& c) {
  if (!c.op->resizes() || !choose.OneIn(4)) return;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.op->parameters[i].role == Role::kReal) {
      c.arguments[i].real = static_cast<double>(choose.Between(2, 16)) * 0.25;
    }
  }
}

void ChooseLayouts(Chooser& choose, Case& c) {
  static const std::vector<std::string> kLayouts = {"channels_last", "transposed", "flipped",
                                                    "step2",         "offset",     "padded"};
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    const Role role = c.op->parameters[i].role;
    if (IsTensor(role) && choose.OneIn(6)) c.arguments[i].layout = choose.Of(kLayouts);
    const bool expands = role == Role::kInput && choose.OneIn(20);
    if (expands && !NamesImages(c.op->parameters[i])) c.arguments[i].layout = "expanded";
  }
}

std::vector<Case> Chosen(const char* kind, int64_t count, uint64_t seed, const Most& sizes,
                         const GenerateOptions& options) {
  const std::vector<const OperatorRow*> rows = RowsFor(options);
  std::vector<Case> cases;
  for (int64_t i = 0; i < count; ++i) {
    Chooser choose(Draw(seed, static_cast<uint64_t>(i)));
    Case c = EmptyCase(*rows[static_cast<size_t>(i) % rows.size()], options);
    const std::vector<DataType> dtypes = TypesFor(*c.op, options);
    c.dtype = dtypes[static_cast<size_t>(i) / rows.size() % dtypes.size()];
    c.seed = choose.Next() >> 32;
    ChooseShapes(choose, sizes, c);
    ChooseModes(choose, options, c);
    ChooseScales(choose, c);
    ChooseLayouts(choose, c);
    cases.push_back(std::move(c));
  }
  return Named(kind, std::move(cases));
}

// ---- models ------------------------------------------------------------------------------------

int64_t WordAt(const json& row, const char* field, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), row.at(field).get<std::string>());
  if (found == words.end()) throw std::out_of_range(fmt::format("a shape's {}", field));
  return found - words.begin();
}

// The words that cases have for a mode.
std::vector<std::string> WordsOf(const OperatorRow& op, const char* parameter) {
  return ModeWords(op.parameters[*op.Find(parameter)]);
}

// A case of the row's name and dtype.
Case ModelCaseOf(const json& row, const OperatorRow& op, const GenerateOptions& options) {
  Case c = EmptyCase(op, options);
  c.name = row.at("name");
  c.seed = 1;
  c.dtype = std::vector{DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                        DataType::kFloat64}[static_cast<size_t>(
      WordAt(row, "dtype", {"FLOAT", "FLOAT16", "BF16", "DOUBLE"}))];
  return c;
}

Case ModelCase(const json& row, const json& shapes, const OperatorRow& op,
               const GenerateOptions& options) {
  Case c = ModelCaseOf(row, op, options);
  const bool channels_last = row.at("memory_format") == "channels_last";
  if (op.sampler()) {
    const Shape image = shapes.at("input"), extents = shapes.at("points");
    Shape points = {image[0]};
    points.insert(points.end(), extents.begin(), extents.end());
    points.push_back(static_cast<int64_t>(op.axes));
    ArgumentOf(c, "input").shape = image;
    ArgumentOf(c, "grid").shape = points;
    ArgumentOf(c, "interpolationMode").integers = {
        WordAt(row, "interpolation", WordsOf(op, "interpolationMode"))};
    ArgumentOf(c, "paddingMode").integers = {WordAt(row, "padding", WordsOf(op, "paddingMode"))};
    ArgumentOf(c, "alignCorners").integers = {row.at("align_corners").get<bool>() ? 1 : 0};
    ArgumentOf(c, "outputMask").integers = {row.at("mask")[0].get<bool>() ? 1 : 0,
                                            row.at("mask")[1].get<bool>() ? 1 : 0};
    const std::string grid = row.at("grid");
    ArgumentOf(c, "grid").values = grid == "random" ? "uniform" : grid;
    if (channels_last) {
      for (const char* const name : {"gradOutput", "input", "inputGrad"}) {
        ArgumentOf(c, name).layout = "channels_last";
      }
    }
    return c;
  }
  const Shape small = shapes.at("grad_input"), extents = shapes.at("grad_output");
  Shape large = {small[0], small[1]};
  large.insert(large.end(), extents.begin(), extents.end());
  ArgumentOf(c, "gradOutput").shape = large;
  ArgumentOf(c, "out").shape = small;
  if (channels_last)
    ArgumentOf(c, "gradOutput").layout = ArgumentOf(c, "out").layout = "channels_last";
  return c;
}

// The function of a row of `resizing`; its gradient's name has "_backward" behind it.
std::string ResizingOf(const json& row) {
  const std::string mode = row.at("mode");
  const size_t axes = row.at("output").size();
  const char* const antialias = row.at("antialias").get<bool>() ? "_aa" : "";
  static constexpr const char* kLinear[] = {"linear1d", "bilinear2d", "trilinear3d"};
  if (mode == "linear") return fmt::format("upsample_{}{}", kLinear[axes - 1], antialias);
  if (mode == "lanczos") return "upsample_lanczos";
  if (mode == "cubic") return fmt::format("upsample_bicubic2d{}", antialias);
  return fmt::format("upsample_{}{}d", mode == "nearest" ? "nearest" : "nearest_exact", axes);
}

// The small form has the extents, on which the kernel depends, of one image and three channels.
Case ResizingCase(const json& row, const OperatorRow& op, const GenerateOptions& options) {
  Case c = ModelCaseOf(row, op, options);
  c.name += op.backward() ? "_backward" : "_forward";
  Shape small = row.at("input");
  if (options.small) {
    small[0] = 1;
    small[1] = std::min<int64_t>(small[1], 3);
  }
  Shape large = {small[0], small[1]};
  for (const int64_t extent : row.at("output")) large.push_back(extent);
  SetSizes(c, small, large);
  if (const auto flag = op.Find("alignCorners")) {
    c.arguments[*flag].integers = {row.at("align_corners").get<bool>() ? 1 : 0};
  }
  if (row.at("memory_format") == "channels_last") {
    InputOf(c).layout = OutputOf(c).layout = "channels_last";
  }
  return c;
}

std::vector<Case> Models(const GenerateOptions& options) {
  std::vector<Case> cases;
  const std::vector<const OperatorRow*> rows = RowsFor(options);
  const json list = json::parse(portacl_bench::kShapesJson);
  for (const json& row : list.at("shapes")) {
    const json& shapes = options.small ? row.at("small") : row;
    std::string name = row.at("operator");
    if (name == "upsample_nearest_exact_backward") {
      name = fmt::format("upsample_nearest_exact{}d_backward", shapes.at("grad_output").size());
    }
    const OperatorRow* const op = FindOperator(name);
    if (std::find(rows.begin(), rows.end(), op) == rows.end()) continue;
    cases.push_back(ModelCase(row, shapes, *op, options));
  }
  for (const json& row : list.at("resizing")) {
    for (const char* const direction : {"", "_backward"}) {
      const OperatorRow* const op = FindOperator(ResizingOf(row) + direction);
      if (std::find(rows.begin(), rows.end(), op) == rows.end()) continue;
      Case c = ResizingCase(row, *op, options);
      const std::vector<DataType> dtypes = TypesFor(*op, options);
      if (std::find(dtypes.begin(), dtypes.end(), c.dtype) == dtypes.end()) continue;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace

const std::vector<CaseKind>& CaseKinds() {
  static const std::vector<CaseKind> kinds = {
      {"smoke", "small cases of every operator, dtype, mode and layout"},
      {"random", "the same by --seed, of larger extents"},
      {"boundary", "kinks, vector widths, extents 0 and 1, scales, layouts, NaN, inf"},
      {"models", "the shapes of real models (bench/shapes.json)"},
      {"refusals", "wrong arguments with the status that they must get"}};
  return kinds;
}

std::vector<Case> GenerateCases(const std::string& kind, const GenerateOptions& options) {
  const int64_t count = options.count > 0 ? options.count : 200;
  if (kind == "smoke") return Chosen("smoke", count, 0, {9, 5}, options);
  if (kind == "random") return Chosen("random", count, options.seed, {40, 12}, options);
  if (kind == "boundary") return Boundaries(options);
  if (kind == "models") return Models(options);
  return Refusals(options);
}

}  // namespace portacl::golden
