// Names of operators, functions and graph operators, and their meaning.
#include "tools/run_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <utility>

namespace portacl::cli {
namespace {

using golden::OperatorRow;

// Makes "grid_sampler_backward" from "grid_sampler_2d_backward". Names of operators for all ranks
// have no rank.
std::string AnyRankName(ops::Op op) {
  std::string name = ops::RowOf(op).name;
  for (const char* const rank : {"_2d", "_3d"}) {
    if (const size_t at = name.find(rank); at != std::string::npos) name.erase(at, 3);
  }
  return name;
}

// "grid_sampler_2d_grad" of "GridSampler2DGrad"; "" if a function has that name.
std::string OwnGraphName(const ops::Signature& graph) {
  const std::string name = WithSeparator(graph.name, '_');
  return golden::FindOperator(name) != nullptr || name == AnyRankName(graph.op) ? "" : name;
}

// The function of the aclnn API with a graph operator's maths.
const OperatorRow* RowOfGraph(const ops::Signature& graph, size_t axes) {
  for (const OperatorRow& row : golden::Operators()) {
    if (row.op == graph.op && row.axes == axes && row.traits->antialias == graph.traits.antialias) {
      return &row;
    }
  }
  return nullptr;
}

template <class Visit>
void ForEachChoice(Visit visit) {
  for (const OperatorRow& row : golden::Operators()) visit(RunChoice{&row, nullptr});
  for (const ops::Signature* const graph : ops::kGraphOperators) {
    for (const size_t axes : {1, 2, 3}) {
      const bool fits = graph->traits.axes == 0 || static_cast<size_t>(graph->traits.axes) == axes;
      const OperatorRow* const row = fits ? RowOfGraph(*graph, axes) : nullptr;
      if (row != nullptr) visit(RunChoice{row, graph});
    }
  }
}

// Whether a name without a rank stands for it: the first function of its operator and rank.
bool IsFirstOfRank(const RunChoice& choice, bool antialias) {
  const OperatorRow& row = *choice.row;
  if (choice.graph != nullptr || row.traits->antialias != antialias) return false;
  const auto same = [&](const OperatorRow& other) {
    return other.op == row.op && other.axes == row.axes && other.traits->antialias == antialias;
  };
  const std::vector<OperatorRow>& rows = golden::Operators();
  return &*std::find_if(rows.begin(), rows.end(), same) == &row;
}

// The names without a rank, each once.
std::vector<std::string> NamesOfAnyRank() {
  std::vector<std::string> names;
  for (const RunName& name : RunNames()) {
    const bool known = std::find(names.begin(), names.end(), name.any_rank) != names.end();
    if (!name.any_rank.empty() && !known) names.push_back(name.any_rank);
  }
  return names;
}

}  // namespace

const ops::Signature& RunChoice::signature() const {
  if (graph != nullptr) return *graph;
  for (const ops::Signature* const function : ops::kAclnnFunctions) {
    if (std::strcmp(function->name, row->function) == 0) return *function;
  }
  return golden::NativeOf(row->op);
}

std::string RunChoice::name() const {
  if (graph == nullptr) return row->name;
  const std::string own = OwnGraphName(*graph);
  return own.empty() ? graph->name : own;
}

std::vector<RunChoice> FindRunChoices(const std::string& name, bool antialias) {
  std::vector<RunChoice> exact, of_any_rank;
  if (name.empty()) return exact;
  ForEachChoice([&](const RunChoice& choice) {
    const char* const alias = choice.graph != nullptr ? choice.graph->name : choice.row->function;
    if (name == choice.name() || name == alias) exact.push_back(choice);
    if (name == AnyRankName(choice.row->op) && IsFirstOfRank(choice, antialias)) {
      of_any_rank.push_back(choice);
    }
  });
  return exact.empty() ? of_any_rank : exact;
}

bool IsVendorName(const std::string& name) {
  const std::vector<RunName>& names = RunNames();
  return !name.empty() && std::any_of(names.begin(), names.end(),
                                      [&](const RunName& known) { return name == known.alias; });
}

const std::vector<RunName>& RunNames() {
  static const std::vector<RunName> names = [] {
    std::vector<RunName> made;
    ForEachChoice([&](const RunChoice& choice) {
      const ops::Op op = choice.row->op;
      const bool graph = choice.graph != nullptr;
      const std::string name = choice.name();
      const bool again = !made.empty() && made.back().name == name;  // of images and volumes
      const bool ranked = !graph && name != AnyRankName(op);
      if (again) return;
      made.push_back({name, graph ? choice.graph->name : choice.row->function, ops::RowOf(op).name,
                      ranked ? AnyRankName(op) : ""});
    });
    return made;
  }();
  return names;
}

std::vector<std::string> RunWords() {
  std::vector<std::string> words = NamesOfAnyRank();
  for (const RunName& name : RunNames()) {
    for (const std::string& word : {name.name, name.alias}) {
      const bool known = std::find(words.begin(), words.end(), word) != words.end();
      if (!word.empty() && !known) words.push_back(word);
    }
  }
  return words;
}

const char* StandsFor(const std::string& name) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"GridSample", "GridSampler2D or GridSampler3D"},
      {"Resize", "upsample_nearest"},
      {"ResizeGrad", "upsample_nearest_backward"},
      {"ResizeD", "upsample_linear or upsample_cubic"},
      {"ResizeGradD", "upsample_linear_backward or upsample_cubic_backward"},
      {"aclnnResize", "upsample_linear or upsample_nearest"}};
  for (const auto& [known, operators] : kNames) {
    if (known == name) return operators;
  }
  return nullptr;
}

std::string AnyRankText() {
  return "Without 1d, 2d or 3d the rank of the tensors decides:\n" + Wrapped(NamesOfAnyRank());
}

std::string Wrapped(const std::vector<std::string>& words) {
  constexpr size_t kColumns = 80;
  std::string text, line = " ";
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + 1 + word.size() > kColumns) {
      text += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return text + line;
}

std::string WithSeparator(const std::string& camel, char separator) {
  const auto is = [&](size_t at, int (*of)(int)) {
    return at < camel.size() && of(static_cast<unsigned char>(camel[at])) != 0;
  };
  std::string text;
  for (size_t i = 0; i < camel.size(); ++i) {
    // "inputGrad"; "G" of "2DGrad", "AAGrad", "V2Grad"; "2D", but not "2d".
    const bool word =
        is(i, std::isupper) && i > 0 && (is(i - 1, std::islower) || is(i + 1, std::islower));
    const bool rank = is(i, std::isdigit) && is(i + 1, std::isupper) && !is(i + 2, std::islower);
    if (i > 0 && (word || rank)) text += separator;
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(camel[i])));
  }
  return text;
}

}  // namespace portacl::cli
