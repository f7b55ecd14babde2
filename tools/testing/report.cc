// Reduction of tensors to cells, and the page's data.
#include "tools/testing/report.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/testing/common_traits.h"
#include "tools/testing/verdict_json.h"

namespace portacl::golden {
namespace {

using nlohmann::ordered_json;

// Distances from golden up to each of these are one bar; then those beyond, then NaN and infinity.
constexpr int64_t kUlpBars[] = {0, 1, 2, 4, 8, 16, 64, 1024, 65536};

// How an output's elements lie: (leading axes, rows, columns, trailing axes).
struct Layout {
  int64_t lead = 1, height = 1, width = 1, trail = 1;
};

// gridGrad has its coordinates last (N, OH, OW, 2); other outputs are (N, C, H, W). A volume is a
// stack of slices, and each slice is a plane.
Layout LayoutOf(const Shape& shape, bool points_first) {
  Layout layout;
  const size_t last = points_first ? shape.size() - 1 : shape.size();
  const size_t first = last - std::min<size_t>(shape.size() - 2, 2);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t& part = axis < first       ? layout.lead
                    : axis >= last     ? layout.trail
                    : axis + 1 == last ? layout.width
                                       : layout.height;
    part *= shape[axis];
  }
  return layout;
}

class Painter {
 public:
  Painter(const GoldenOutput& golden, const std::vector<std::byte>* actual, bool points_first)
      : golden_(golden),
        actual_(actual),
        layout_(LayoutOf(golden.shape, points_first)),
        points_first_(points_first) {}

  OutputPicture Paint() {
    picture_.height = std::min(layout_.height, OutputPicture::kMostCells);
    picture_.width = std::min(layout_.width, OutputPicture::kMostCells);
    const auto cells = static_cast<size_t>(picture_.height * picture_.width);
    picture_.golden.resize(cells);
    if (actual_ != nullptr) {
      picture_.actual.resize(cells);
      picture_.excess.resize(cells);
      picture_.ulps.resize(UlpLabels().size());
      AddErrors();
    }
    AddPlane();
    return std::move(picture_);
  }

 private:
  static double At(const std::vector<std::byte>& bytes, DataType dtype, int64_t i) {
    return cli::LoadElement(dtype, bytes.data() + static_cast<size_t>(i) * cli::ElementSize(dtype));
  }

  size_t CellOf(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * picture_.height / layout_.height * picture_.width +
                               column * picture_.width / layout_.width);
  }

  // Calls visit(element, cell, plane).
  template <class Visit>
  void ForEach(Visit visit) const {
    int64_t i = 0;
    for (int64_t lead = 0; lead < layout_.lead; ++lead) {
      for (int64_t row = 0; row < layout_.height; ++row) {
        for (int64_t column = 0; column < layout_.width; ++column) {
          for (int64_t trail = 0; trail < layout_.trail; ++trail) {
            visit(i++, CellOf(row, column), lead * layout_.trail + trail);
          }
        }
      }
    }
  }

  void AddErrors() {
    double worst = -1;
    ForEach([&](int64_t i, size_t cell, int64_t plane) {
      const double exact = golden_.exact.value[static_cast<size_t>(i)];
      const double bound = golden_.exact.bound[static_cast<size_t>(i)];
      const double actual = At(*actual_, golden_.dtype, i),
                   golden = At(golden_.golden, golden_.dtype, i);
      const bool same = actual == golden || (std::isnan(actual) && std::isnan(golden));
      double excess = same && !(bound > 0) ? 0 : std::fabs(actual - exact) / bound;
      if (std::isinf(bound)) excess = 0;
      if (!std::isfinite(excess)) excess = same ? 0 : HUGE_VAL;
      picture_.excess[cell] = std::max(picture_.excess[cell], excess);
      if (excess > worst) {
        worst = excess;
        shown_ = plane;
      }
      CountUlps(same, actual, golden);
    });
  }

  void CountUlps(bool same, double actual, double golden) {
    size_t bar = 0;
    if (!same && (!std::isfinite(actual) || !std::isfinite(golden))) {
      bar = picture_.ulps.size() - 1;
    } else if (!same) {
      const double ulps = std::fabs(actual - golden) / UlpAt(golden_.dtype, golden);
      while (bar < std::size(kUlpBars) && ulps > static_cast<double>(kUlpBars[bar])) ++bar;
    }
    ++picture_.ulps[bar];
  }

  void AddPlane() {
    const auto keep = [](double value, double& cell) {
      if (!(std::fabs(value) <= std::fabs(cell))) cell = value;
    };
    ForEach([&](int64_t i, size_t cell, int64_t plane) {
      if (plane != shown_) return;
      keep(At(golden_.golden, golden_.dtype, i), picture_.golden[cell]);
      if (actual_ != nullptr) keep(At(*actual_, golden_.dtype, i), picture_.actual[cell]);
    });
    picture_.plane = PlaneText();
  }

  // "image 0, channel 2", "volume 0, slice 3, component 1".
  std::string PlaneText() const {
    const Shape& shape = golden_.shape;
    const bool volume = shape.size() == 5;
    int64_t rest = shown_;
    const auto take = [&](const char* name, int64_t extent) {
      const int64_t index = rest % std::max<int64_t>(extent, 1);
      rest /= std::max<int64_t>(extent, 1);
      return fmt::format(", {} {}", name, index);
    };
    std::string text;
    if (points_first_) text = take("component", layout_.trail);
    if (volume) text = take("slice", shape[points_first_ ? 1 : 2]) + text;
    if (!points_first_) text = take("channel", shape[1]) + text;
    return fmt::format("{} {}{}", volume ? "volume" : "image", rest, text);
  }

  const GoldenOutput& golden_;
  const std::vector<std::byte>* actual_;
  Layout layout_;
  bool points_first_;
  OutputPicture picture_;
  int64_t shown_ = 0;
};

bool HasPointsFirst(const Case& c, const std::string& parameter) {
  const std::string last = Symbols(c.op->parameters[*c.op->Find(parameter)]).back();
  return last[0] >= '0' && last[0] <= '9';
}

// Short: nobody sees the seventh digit in a picture. Infinity and NaN are null.
ordered_json Numbers(const std::vector<double>& values) {
  ordered_json numbers = ordered_json::array();
  for (const double value : values) {
    if (std::isfinite(value)) {
      numbers.push_back(std::stod(fmt::format("{:.4g}", value)));
    } else {
      numbers.push_back(nullptr);
    }
  }
  return numbers;
}

ordered_json PictureJson(const OutputPicture& picture) {
  return {{"height", picture.height},
          {"width", picture.width},
          {"plane", picture.plane},
          {"golden", Numbers(picture.golden)},
          {"actual", Numbers(picture.actual)},
          {"excess", Numbers(picture.excess)},
          {"ulps", picture.ulps}};
}

}  // namespace

const std::vector<std::string>& UlpLabels() {
  static const std::vector<std::string> labels = [] {
    std::vector<std::string> texts;
    for (const int64_t bar : kUlpBars)
      texts.push_back(bar == 0      ? "0"
                      : bar >= 1024 ? fmt::format("\u2264{}k", bar / 1024)
                                    : fmt::format("\u2264{}", bar));
    texts.emplace_back("more");
    texts.emplace_back("NaN, \u221E");
    return texts;
  }();
  return labels;
}

void ReportRow::Add(const GoldenOutput& golden, const std::vector<std::byte>& actual,
                    const StandardOptions& standard, bool with_picture,
                    const std::vector<std::byte>* second) {
  verdict.outputs.push_back(Judge(golden, actual, standard, second));
  if (!with_picture) return;
  pictures.push_back(Painter(golden, &actual, HasPointsFirst(verdict.c, golden.parameter)).Paint());
}

void ReportRow::AddGolden(const GoldenOutput& golden) {
  OutputVerdict output;
  output.parameter = golden.parameter;
  output.dtype = golden.dtype;
  output.shape = golden.shape;
  output.passed = true;
  output.count = static_cast<int64_t>(golden.exact.value.size());
  verdict.outputs.push_back(std::move(output));
  pictures.push_back(Painter(golden, nullptr, HasPointsFirst(verdict.c, golden.parameter)).Paint());
}

ordered_json ReportJson(const std::vector<ReportRow>& rows, const std::string& title,
                        const std::string& standard, bool judged,
                        const std::vector<FunctionFile>& functions) {
  ordered_json json = {{"title", title},
                       {"portacl", portaclGetVersion()},
                       {"standard", standard},
                       {"judged", judged},
                       {"ulp_labels", UlpLabels()},
                       {"functions", FunctionsJson(functions)},
                       {"cases", ordered_json::array()}};
  std::vector<CaseVerdict> verdicts;
  for (const ReportRow& row : rows) verdicts.push_back(row.verdict);
  json["common"] = CommonTraits(verdicts);
  size_t left = kMostPictures;
  for (const ReportRow& row : rows) left -= std::min<size_t>(left, row.verdict.passed() ? 0 : 1);
  for (const ReportRow& row : rows) {
    const CaseVerdict& verdict = row.verdict;
    ordered_json entry = VerdictJson(verdict, "");
    entry["operator"] = verdict.c.op->name;
    entry["dtype"] = cli::DataTypeName(verdict.c.dtype);
    const bool drawn = !row.pictures.empty() && (!verdict.passed() || left > 0);
    if (drawn && verdict.passed()) --left;
    for (size_t i = 0; drawn && i < row.pictures.size(); ++i) {
      entry["outputs"][i]["picture"] = PictureJson(row.pictures[i]);
    }
    json["cases"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace portacl::golden
