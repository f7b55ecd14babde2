// Pages of newly allocated results that the system has not provided yet. Plain C++, the same for
// every instruction set.
#ifndef PORTACL_CPU_PAGES_H_
#define PORTACL_CPU_PAGES_H_

#include <array>
#include <cstdint>

namespace portacl::cpu {

// Results of fewer bytes are not checked for missing pages: a check costs as much as the faults.
inline constexpr int64_t kProvidedBytes = int64_t{1} << 20;

// Returns the bytes of a tensor if its elements fill memory without gaps, with axes in any order;
// else 0.
int64_t DenseBytes(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& stride,
                   int64_t element_size);

// Whether the system has not yet provided all pages of the `bytes` at `data`. False for less than
// kProvidedBytes, and if the system does not tell.
bool ArePagesMissing(const void* data, int64_t bytes);

// Makes the system provide all pages of [first, end) now, because the caller will write them.
// One call costs half as much as a fault for each page. Contents stay. No effect before Linux
// 5.14.
void ProvidePages(void* first, void* end);

// Asks for huge pages if pages of the `bytes` at `data` are missing. The caller must write all
// bytes. One fault then provides two megabytes, in a sixth of the time of small pages. No effect if
// the system gives no huge pages.
void PreferHugePages(void* data, int64_t bytes);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_PAGES_H_
