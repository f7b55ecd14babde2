// Splits a loop into one part per thread; threads take ranges from parts.
#ifndef PORTACL_RUNTIME_LOOP_PARTS_H_
#define PORTACL_RUNTIME_LOOP_PARTS_H_

#include <algorithm>
#include <cstdint>

namespace portacl::runtime {

// Ranges consist of units of `unit` indices, so that 32 bits can count them. A loop with slots (0:
// no slots) is one part: all threads take from it in ascending order.
struct LoopParts {
  static constexpr int32_t kMost = 16;
  static constexpr int64_t kMostUnits = int64_t{1} << 30;

  LoopParts(int64_t indices, int64_t grain, int32_t slots, int32_t threads)
      : count(indices),
        unit(std::max(std::max<int64_t>(1, grain), indices / kMostUnits + 1)),
        units((indices - 1) / unit + 1),
        takers(slots > 0 ? std::min(slots, threads) : threads),
        parts(slots > 0 ? 1 : static_cast<int32_t>(std::min<int64_t>({threads, units, kMost}))),
        share(4 * static_cast<uint32_t>((takers + parts - 1) / parts)) {}

  // The first unit of a part. Without an overflow: a product of the two might have one.
  int64_t BeginOf(int32_t part) const {
    return units / parts * part + std::min<int64_t>(part, units % parts);
  }
  int64_t IndexOf(uint32_t the_unit) const { return the_unit == units ? count : the_unit * unit; }

  // Ranges get shorter towards the end of a part, so that a late thread keeps nobody waiting.
  uint32_t EndOfRange(uint32_t first, uint32_t end) const {
    return first + std::max<uint32_t>(1, (end - first) / share);
  }

  int64_t count;
  int64_t unit;
  int64_t units;
  int32_t takers;  // threads that may take something
  int32_t parts;
  uint32_t share;  // a range is 1/share of the rest of its part
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_LOOP_PARTS_H_
