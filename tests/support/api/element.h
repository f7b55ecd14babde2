// Element types as the tests see them: independent of the library's own conversions.
#ifndef PORTACL_TESTS_SUPPORT_API_ELEMENT_H_
#define PORTACL_TESTS_SUPPORT_API_ELEMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>

namespace portacl_test {

// The values are those of aclDataType and of portacl::DataType.
enum class Element : int32_t {
  kFloat = 0,
  kFloat16 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 6,
  kInt64 = 9,
  kDouble = 11,
  kBool = 12,
  kBFloat16 = 27,
};

// What the companion operators take: integers and BOOL too.
inline constexpr std::array<Element, 10> kAllElements = {
    Element::kFloat, Element::kFloat16, Element::kBFloat16, Element::kDouble, Element::kInt8,
    Element::kUInt8, Element::kInt16,   Element::kInt32,    Element::kInt64,  Element::kBool};
constexpr bool IsInteger(Element element) {
  return element != Element::kFloat && element != Element::kFloat16 &&
         element != Element::kBFloat16 && element != Element::kDouble;
}

inline constexpr std::array<Element, 4> kElements = {Element::kFloat, Element::kFloat16,
                                                     Element::kBFloat16, Element::kDouble};
// What the aclnn nearest-exact operators take.
inline constexpr std::array<Element, 3> kNearestElements = {Element::kFloat, Element::kFloat16,
                                                            Element::kBFloat16};

struct ElementInfo {
  const char* name;   // as messages spell it
  size_t size;        // bytes
  int fraction_bits;  // stored ones; from here on: of floating-point types
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

// Rounds once, to nearest even, overflow to infinity, and stores. Integers: truncated, saturated to
// 64 bits, and the low bits stored; NaN is 0. BOOL: 1 if the value is not 0.
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
