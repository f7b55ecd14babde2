// Element types as the tests see them: independent of the library's own conversions.
#ifndef PORTACL_TESTS_SUPPORT_API_ELEMENT_H_
#define PORTACL_TESTS_SUPPORT_API_ELEMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>

namespace portacl_test {

// The values are those of aclDataType and of portacl::DataType.
enum class Element : int32_t { kFloat = 0, kFloat16 = 1, kDouble = 11, kBFloat16 = 27 };

inline constexpr std::array<Element, 4> kElements = {Element::kFloat, Element::kFloat16,
                                                     Element::kBFloat16, Element::kDouble};
// What the aclnn nearest-exact operators take.
inline constexpr std::array<Element, 3> kNearestElements = {Element::kFloat, Element::kFloat16,
                                                            Element::kBFloat16};

struct ElementInfo {
  const char* name;   // as messages spell it
  size_t size;        // bytes
  int fraction_bits;  // stored ones
  int min_exponent;   // of the smallest normal number, 2^min_exponent
  int max_exponent;   // of the largest finite number
};
const ElementInfo& InfoOf(Element element);

inline size_t SizeOf(Element element) { return InfoOf(element).size; }
inline const char* NameOf(Element element) { return InfoOf(element).name; }
inline std::ostream& operator<<(std::ostream& out, Element element) {
  return out << NameOf(element);
}

// The exact value at `address`, which need not be aligned.
double Load(Element element, const void* address);

// Rounds once, to nearest even, overflow to infinity, and stores.
void Store(Element element, double value, void* address);

// `value` after Store and Load.
double RoundTo(Element element, double value);

// Distance of neighbouring numbers at `value` (of the smallest normal number below that); the
// largest finite number's for infinities.
double UlpAt(Element element, double value);

// Distance of 1 and the next number of the type that the arithmetic is done in.
double ComputeEpsilon(Element element);

// The bits at `address`, every NaN as the one canonical quiet NaN: its sign and payload are not
// part of any contract.
uint64_t CanonicalBits(Element element, const void* address);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_ELEMENT_H_
