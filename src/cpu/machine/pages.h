// Memory of results that the system has yet to provide: newly allocated pages. Plain C++, the same
// for every instruction set.
#ifndef PORTACL_CPU_PAGES_H_
#define PORTACL_CPU_PAGES_H_

#include <array>
#include <cstdint>

namespace portacl::cpu {

// Below this nobody looks for missing pages: asking costs as much as the missing pages do.
inline constexpr int64_t kProvidedBytes = int64_t{1} << 20;

// Bytes of a tensor if its elements fill their memory without gaps, in any order of the axes; else
// 0.
int64_t DenseBytes(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& stride,
                   int64_t element_size);

// True if the system has not yet provided pages for all `bytes` at `data`. False for less than
// kProvidedBytes, and if this cannot be known.
bool ArePagesMissing(const void* data, int64_t bytes);

// Makes the system provide all pages of [first, end) now, because the caller will write them.
// One call costs half as much as a fault for each page. Contents stay; no effect before Linux
// 5.14.
void ProvidePages(void* first, void* end);

// Asks for huge pages if pages of the `bytes` at `data` are missing; the caller will write all
// bytes. One fault then serves two megabytes, in a sixth of the time of small pages. No effect if
// the system gives no huge pages.
void PreferHugePages(void* data, int64_t bytes);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_PAGES_H_
