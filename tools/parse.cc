// Strict readers of option values.
#include "tools/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "src/base/spelling.h"
#include "tools/cli_error.h"

namespace portacl::cli {
namespace {

template <class T>
T ParseNumber(const std::string& text, const std::string& option, const char* wanted) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw BadInput(fmt::format("{}: '{}' is not {}", option, text, wanted));
  }
  return value;
}

// The text without what a spelling may differ in: in lower case, without underscores.
std::string Folded(std::string text) {
  std::erase(text, '_');
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

double ParseFinite(const std::string& text, const std::string& option) {
  const double value = ParseNumber<double>(text, option, "a number");
  if (!std::isfinite(value)) {
    throw BadInput(fmt::format("{}: '{}' is not a finite number", option, text));
  }
  return value;
}

int64_t ParseInteger(const std::string& text, const std::string& option, const char* wanted) {
  return ParseNumber<int64_t>(text, option, wanted);
}

uint64_t ParseSeed(const std::string& text, const std::string& option) {
  return ParseNumber<uint64_t>(text, option, "a seed (an integer from 0 to 2^64 - 1)");
}

Shape ParseShape(const std::string& text, const std::string& option) {
  Shape shape;
  for (const std::string& part : Split(text, ',')) {
    const int64_t extent = ParseNumber<int64_t>(
        part, option, "an extent; wanted integers with commas, as in 32,48 or 1,3,8,8");
    if (extent < 0)
      throw BadInput(fmt::format("{}: extent {} is negative; wanted 0 or more", option, extent));
    shape.push_back(extent);
  }
  return shape;
}

std::vector<double> ParseScales(const std::string& text, const std::string& option) {
  std::vector<double> scales;
  for (const std::string& part : Split(text, ',')) {
    const double scale = ParseFinite(part, option);
    if (scale <= 0) throw BadInput(fmt::format("{}: '{}' is not above 0", option, part));
    scales.push_back(scale);
  }
  return scales;
}

std::string Suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string wanted = Folded(word);
  std::vector<std::string> nearest, longer;
  size_t least = word.size() / 3;
  for (const std::string& name : names) {
    if (name.size() > base::kLongestWord) continue;
    const std::string known = Folded(name);
    const size_t distance = base::EditDistance(wanted, known);
    if (distance < least) nearest.clear();
    if (distance <= least) nearest.push_back(name);
    least = std::min(least, distance);
    if (wanted.size() > 2 && known.find(wanted) != std::string::npos) longer.push_back(name);
  }
  std::stable_sort(longer.begin(), longer.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return DidYouMean(nearest.empty() ? longer : nearest);
}

std::string DidYouMean(std::vector<std::string> meant) {
  if (meant.empty()) return "";
  meant.resize(std::min<size_t>(meant.size(), 3));
  const std::string last = meant.back();
  meant.pop_back();
  return fmt::format("; did you mean {}{}{}?", fmt::join(meant, ", "), meant.empty() ? "" : " or ",
                     last);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace portacl::cli
