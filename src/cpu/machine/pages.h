// Memory of results that the system has yet to provide: newly allocated pages. Plain C++, the same
// for every instruction set.
#ifndef PORTACL_CPU_PAGES_H_
#define PORTACL_CPU_PAGES_H_

#include <array>
#include <cstdint>

namespace portacl::cpu {

// Below this nobody looks for missing pages: asking costs as much as the missing pages do.
inline constexpr int64_t kProvidedBytes = int64_t{1} << 20;

// Bytes of a tensor if its elements fill their memory without a gap, in any order of the axes; 0
// for others.
int64_t DenseBytes(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& stride,
                   int64_t element_size);

// True if a first touch of the `bytes` at `data` would make the system provide pages for (some
// of) them. False for less than kProvidedBytes, and if it cannot be known.
bool ArePagesMissing(const void* data, int64_t bytes);

// Has the system provide all pages of [first, end) now, which the caller will write: together, at
// half the price of a fault for each. Leaves contents as they are; without effect before
// Linux 5.14.
void ProvidePages(void* first, void* end);

// Asks for huge pages if pages of the `bytes` at `data`, which the caller will write whole, are
// missing: one fault for two megabytes. A sixth of the time of small pages, and of no effect if
// the system gives none.
void PreferHugePages(void* data, int64_t bytes);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_PAGES_H_
