// The distance between two words, to suggest the word that a user meant.
#ifndef PORTACL_BASE_SPELLING_H_
#define PORTACL_BASE_SPELLING_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace portacl::base {

constexpr size_t kLongestWord = 63;

// Counts the letters to insert, remove, replace or swap with the next until the words are equal.
// `to` has at most kLongestWord letters. Allocates nothing, because the environment may be read
// when memory is short.
inline size_t EditDistance(std::string_view from, std::string_view to) {
  size_t rows[3][kLongestWord + 1] = {};
  for (size_t j = 0; j <= to.size(); ++j) rows[0][j] = j;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t *before = rows[(i + 2) % 3], *above = rows[i % 3];
    size_t* const row = rows[(i + 1) % 3];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, above[j + 1] + 1, row[j] + 1});
      const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return rows[from.size() % 3][to.size()];
}

// Returns the entry of `range` that is spelled most like `word`: spelling(entry) is less than
// `distance` letters away. Returns the range's end if there is none.
template <class Range, class Spelling>
auto NearestTo(std::string_view word, const Range& range, size_t distance,
               const Spelling& spelling) {
  auto nearest = std::end(range);
  for (auto entry = std::begin(range); entry != std::end(range); ++entry) {
    const std::string_view name = spelling(*entry);
    if (name.size() > kLongestWord) continue;
    const size_t here = EditDistance(word, name);
    if (here >= distance) continue;
    distance = here;
    nearest = entry;
  }
  return nearest;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_SPELLING_H_
