// Traits are counted among the cases that failed and among all.
#include "tools/testing/common_traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/testing/call.h"

namespace portacl::golden {
namespace {

constexpr size_t kMostShown = 4;

// "N", "C", "OH": of extents, by the symbols of tensors.
std::map<std::string, int64_t> ExtentsOf(const Case& c) {
  std::map<std::string, int64_t> extents;
  const std::vector<ArgumentOutline> outlines = OutlineOf(c);
  for (size_t i = 0; i < outlines.size(); ++i) {
    const Parameter& parameter = c.op->parameters[i];
    const std::vector<std::string> symbols = Symbols(parameter);
    if (!IsTensor(parameter.role) || symbols.size() != outlines[i].shape.size()) continue;
    for (size_t axis = 0; axis < symbols.size(); ++axis) {
      extents.emplace(symbols[axis], outlines[i].shape[axis]);
    }
  }
  return extents;
}

void AddShape(const Case& c, std::vector<std::string>& traits) {
  for (const auto& [symbol, extent] : ExtentsOf(c)) {
    if (symbol[0] >= '0' && symbol[0] <= '9') continue;
    if (extent <= 1) traits.push_back(fmt::format("{} {}", symbol, extent));
    if (extent > 1) traits.push_back(symbol + " above 1");
    for (const int64_t limit : {8, 16, 32}) {
      if (extent > limit) traits.push_back(fmt::format("{} above {}", symbol, limit));
    }
    if (extent > 8 && extent % 8 != 0) traits.push_back(symbol + " no multiple of 8");
    if (extent > 1 && extent % 2 != 0) traits.push_back(symbol + " odd");
  }
}

struct Count {
  size_t all = 0, failed = 0;
};

std::string Cases(size_t count) { return count == 1 ? "1 case" : fmt::format("{} cases", count); }

// ---- kinds of faults ----------------------------------------------------------------------------

void AddFaults(const std::vector<CaseVerdict>& verdicts, std::vector<std::string>& sentences) {
  std::map<std::string, size_t> faults;
  for (const CaseVerdict& verdict : verdicts) {
    if (!verdict.fault.empty()) ++faults[verdict.fault];
  }
  for (const auto& [fault, count] : faults) {
    sentences.push_back(fmt::format("looked at closely, {}: the library {}", Cases(count), fault));
  }
}

// ---- where errors lie ---------------------------------------------------------------------------

// Counts the outputs with all errors at this place, and the outputs with errors elsewhere. Axes
// with one index do not count.
struct Place {
  size_t here = 0, elsewhere = 0;
};

const char* AxisWord(const std::string& symbol) {
  switch (symbol.back()) {
    case 'W':
    case 'L':
      return "column";
    case 'H':
      return "row";
    case 'D':
      return "slice";
    case 'C':
      return "channel";
    case 'N':
      return "image";
    default:
      return "component";
  }
}

void CountPlaces(const Case& c, const OutputVerdict& output, std::map<std::string, Place>& places) {
  const std::vector<std::string> symbols = Symbols(c.op->parameters[*c.op->Find(output.parameter)]);
  if (symbols.size() != output.shape.size()) return;
  const auto count = [&](const std::string& place, bool here) {
    ++(here ? places[place].here : places[place].elsewhere);
  };
  const bool points = symbols.back()[0] >= '0' && symbols.back()[0] <= '9';
  bool inside = true;  // some elements are not at the border
  for (size_t axis = 0; axis < symbols.size(); ++axis) {
    const bool spatial = points ? axis >= 1 && axis + 1 < symbols.size() : axis >= 2;
    if (spatial && output.shape[axis] < 3) inside = false;
    if (output.shape[axis] < 2) continue;
    const char* const word = AxisWord(symbols[axis]);
    count(fmt::format("in its first {}", word), (output.where.first >> axis & 1) != 0);
    count(fmt::format("in its last {}", word), (output.where.last >> axis & 1) != 0);
  }
  if (inside) {
    count("at its border", points ? output.where.at_border_of_points : output.where.at_border);
  }
}

void AddPlaces(const std::vector<CaseVerdict>& verdicts, std::vector<std::string>& sentences) {
  std::map<std::string, Place> places;
  size_t failed = 0;
  for (const CaseVerdict& verdict : verdicts) {
    for (const OutputVerdict& output : verdict.outputs) {
      if (output.passed || output.failed == 0) continue;
      ++failed;
      CountPlaces(verdict.c, output, places);
    }
  }
  std::vector<std::string> common;
  for (const auto& [place, count] : places) {
    if (count.elsewhere == 0 && count.here >= 2 && 2 * count.here > failed) common.push_back(place);
  }
  // The last row is at the border.
  if (common.size() > 1) std::erase(common, "at its border");
  if (!common.empty()) {
    sentences.push_back(fmt::format("the errors of each of {} outputs are all {}", failed,
                                    fmt::join(common, ", ")));
  }
}

}  // namespace

std::vector<std::string> TraitsOf(const Case& c) {
  std::vector<std::string> traits = {"operator " + std::string(c.op->name),
                                     fmt::format("dtype {}", cli::DataTypeName(c.dtype))};
  bool layout = false, scales = false;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    const Parameter& parameter = c.op->parameters[i];
    const ArgumentCase& argument = c.arguments[i];
    const int64_t integer =
        argument.integers && !argument.integers->empty() ? argument.integers->front() : 0;
    const bool strided = argument.strides || argument.offset ||
                         argument.layout.value_or("contiguous") != "contiguous";
    if (strided) {
      const std::string word = argument.layout.value_or("strides");
      traits.push_back(fmt::format("{} {}", parameter.name, word));
      traits.push_back("layout " + word);
      layout = true;
    }
    if (argument.values) traits.push_back(fmt::format("{} {}", parameter.name, *argument.values));
    if (argument.format) traits.push_back(fmt::format("format {}", *argument.format));
    if (parameter.role == Role::kMode) {
      const std::vector<std::string> words = ModeWords(parameter);
      const bool known = integer >= 0 && static_cast<size_t>(integer) < words.size();
      if (known) {
        traits.push_back(fmt::format("{} {}", parameter.name, words[static_cast<size_t>(integer)]));
      }
    } else if (parameter.role == Role::kFlag) {
      traits.push_back(fmt::format("{} {}", parameter.name, integer != 0 ? 1 : 0));
    } else if (parameter.role == Role::kMask && argument.integers) {
      traits.push_back(fmt::format("{} {}", parameter.name, fmt::join(*argument.integers, ",")));
    } else if (parameter.role == Role::kInteger && argument.integers) {
      traits.push_back(fmt::format("{} {}", parameter.name, integer));
    } else if (parameter.role == Role::kReal && argument.real.value_or(0) > 0) {
      scales = true;
    }
  }
  if (layout) traits.emplace_back("a layout that is not contiguous");
  if (scales) traits.emplace_back("scales");
  if (c.expect != 0) traits.emplace_back("a refusal");
  if (c.expect == 0) AddShape(c, traits);
  return traits;
}

std::vector<std::string> CommonTraits(const std::vector<CaseVerdict>& verdicts) {
  std::vector<std::set<std::string>> of_case;
  std::map<std::string, Count> counts;
  size_t failed = 0;
  for (const CaseVerdict& verdict : verdicts) {
    const std::vector<std::string> traits = TraitsOf(verdict.c);
    of_case.emplace_back(traits.begin(), traits.end());
    const bool wrong = !verdict.passed();
    failed += wrong ? 1 : 0;
    for (const std::string& trait : of_case.back()) {
      ++counts[trait].all;
      counts[trait].failed += wrong ? 1 : 0;
    }
  }
  std::vector<std::string> sentences;
  AddFaults(verdicts, sentences);
  if (failed > 1) AddPlaces(verdicts, sentences);
  // If nearly all fail, the few right ones share something by chance.
  if (failed < 2 || 10 * failed > 9 * verdicts.size()) return sentences;
  const double failure_rate = static_cast<double>(failed) / static_cast<double>(verdicts.size());
  std::vector<std::pair<size_t, std::string>> shared, only;  // by how many cases have them
  for (const auto& [trait, count] : counts) {
    if (count.failed == failed && count.all < verdicts.size())
      shared.emplace_back(count.all, trait);
    // The fewer cases have a trait and the more cases fail, the sooner these fail by chance.
    const bool by_chance = std::pow(failure_rate, static_cast<double>(count.all)) > 0.05;
    if (count.failed == count.all && !by_chance) only.emplace_back(count.all, trait);
  }
  std::sort(shared.begin(), shared.end());
  std::sort(only.rbegin(), only.rend());
  shared.resize(std::min(shared.size(), kMostShown));
  only.resize(std::min(only.size(), kMostShown));
  const auto names = [](const auto& traits) {
    std::vector<std::string> words;
    for (const auto& [count, trait] : traits) words.push_back(trait);
    return fmt::format("{}", fmt::join(words, ", "));
  };
  if (!shared.empty()) {
    const auto has_all = [&](const std::set<std::string>& traits) {
      return std::all_of(shared.begin(), shared.end(),
                         [&](const auto& entry) { return traits.count(entry.second) > 0; });
    };
    const auto with = static_cast<size_t>(std::count_if(of_case.begin(), of_case.end(), has_all));
    // Traits of most right cases tell nothing.
    if (2 * (with - failed) < verdicts.size() - failed) {
      sentences.push_back(fmt::format("all {} have: {}; of {} with that {} failed", Cases(failed),
                                      names(shared), Cases(with), failed));
    }
  }
  if (!only.empty()) {
    sentences.push_back(fmt::format("every case with one of these failed: {}", names(only)));
  }
  return sentences;
}

}  // namespace portacl::golden
