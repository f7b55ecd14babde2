#include "support/api/shape_list.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/shapes_json.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"

namespace portacl_test {
namespace {

// Position of `word` in `words`; throws for a word that is not there.
template <size_t N>
int PositionOf(const std::string& word, const std::array<const char*, N>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw std::runtime_error("bench/shapes.json: " + word);
  return static_cast<int>(found - words.begin());
}

ShapeRow ParseShapeRow(const nlohmann::json& json) {
  static constexpr std::array<const char*, 2> kOperators = {"upsample_nearest_exact_backward",
                                                            "grid_sampler_2d_backward"};
  static constexpr std::array<const char*, 4> kTypes = {"FLOAT", "FLOAT16", "BF16", "DOUBLE"};
  static constexpr std::array<const char*, 2> kFormats = {"contiguous", "channels_last"};
  static constexpr std::array<const char*, 3> kInterpolations = {"bilinear", "nearest", "bicubic"};
  static constexpr std::array<const char*, 3> kPaddings = {"zeros", "border", "reflection"};
  static constexpr std::array<const char*, 3> kKinds = {"random", "smooth", "onecell"};
  const auto word = [&](const char* field, const auto& words) {
    return PositionOf(json.at(field).get<std::string>(), words);
  };
  ShapeRow row;
  row.name = json.at("name");
  row.is_grid = word("operator", kOperators) == 1;
  row.element = kElements[static_cast<size_t>(word("dtype", kTypes))];
  row.layout = word("memory_format", kFormats) == 1 ? Layout::kChannelsLast : Layout::kContiguous;
  const nlohmann::json& small = json.at("small");
  if (row.is_grid) {
    row.input = small.at("input").get<Shape>();
    row.points = small.at("points").get<Shape>();
    row.mode = {word("interpolation", kInterpolations), word("padding", kPaddings),
                json.at("align_corners").get<bool>()};
    row.kind = static_cast<GridKind>(word("grid", kKinds));
    row.want_input_grad = json.at("mask").at(0);
    row.want_grid_grad = json.at("mask").at(1);
  } else {
    row.grad_input = small.at("grad_input").get<Shape>();
    const Shape extents = small.at("grad_output").get<Shape>();
    row.grad_output = {row.grad_input[0], row.grad_input[1]};
    row.grad_output.insert(row.grad_output.end(), extents.begin(), extents.end());
  }
  return row;
}

}  // namespace

std::vector<ShapeRow> ShapeList() {
  std::vector<ShapeRow> rows;
  const nlohmann::json list = nlohmann::json::parse(portacl_bench::kShapesJson);
  for (const nlohmann::json& row : list.at("shapes")) rows.push_back(ParseShapeRow(row));
  return rows;
}

}  // namespace portacl_test
