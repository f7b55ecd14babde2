// Is a result right? The standards, and their verdicts on one output.
#ifndef PORTACL_TOOLS_TESTING_VERDICT_H_
#define PORTACL_TOOLS_TESTING_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/testing/golden_set.h"

namespace portacl::golden {

enum class Standard {
  kBound,      // |a - exact| within the element's bound (error_bound.h): the default
  kTolerance,  // |a - g| <= atol + rtol |g|
  kUlp,        // at most so many representable numbers between a and g
  kBinary,     // the bits of g; every NaN is one
  kStat,       // MERE < T and MARE < 10 T, for values that are not small (docs/cases.md)
  kMixed,      // the vendor's mixed tolerance: 99 % of the elements, and the largest error
  kDual,       // error against the exact values at most `factor` times a second library's
};

struct StandardOptions {
  Standard standard = Standard::kBound;
  double rtol = 0, atol = 0;
  int64_t ulp = 0;
  double factor = 2;
  // Results come from memory that was filled with UnwrittenElement() (call.h). An element that
  // still has this value is wrong, whatever is expected, and is called unwritten.
  bool knows_unwritten = false;
};
// "within the bound", "within 3 ULP", ...
std::string StandardText(const StandardOptions& options);

// One element that fails, or the one that is farthest off.
struct Element {
  int64_t index = 0;  // row-major
  double actual = 0, golden = 0, exact = 0;
  double error = 0;    // as the standard measures it: from exact or golden, in values or in ULP
  double allowed = 0;  // in the same unit
  bool unwritten = false;
};

// Places that all failing elements share. Bits of axes, the outermost lowest.
struct Whereabouts {
  uint32_t first = ~0U, last = ~0U;  // each is at this end of the axis
  // Each is at an end of an axis behind the second, or between the first and the last (a grid's).
  bool at_border = true, at_border_of_points = true;

  void Add(const Shape& shape, int64_t index);
};

struct OutputVerdict {
  std::string parameter;
  DataType dtype = DataType::kFloat32;
  Shape shape;
  bool passed = false;
  int64_t count = 0;
  int64_t failed = 0;        // elements; of kStat, kMixed and kDual, judged as a whole: 0
  int64_t unwritten = 0;     // of the failed: nobody wrote them; the next two do not count them
  int64_t nan_mismatch = 0;  // exactly one of the two is NaN
  int64_t infinity_mismatch = 0;  // an infinity where a number or the other one is wanted
  int64_t different_bits = 0;     // from golden
  double largest_error = 0;       // |a - exact|, of numbers
  double largest_excess = 0;      // of |a - exact| / bound: up to 1 is within it
  double mere = 0, mare = 0;
  int64_t largest_ulp = 0;     // distance from golden in representable numbers
  std::string actual_file;     // what was read; "" for results that never were in a file
  std::string reason;          // "" if it passed
  Whereabouts where;           // of the elements that `failed` counts
  bool in_ulp = false;         // the unit of `worst`: representable numbers (kUlp, kBinary)
  std::vector<Element> worst;  // failing elements, the worst first; at most kWorst
  static constexpr size_t kWorst = 8;

  // Takes the larger numbers of another result of the same output, which passed too.
  void TakeExtremes(const OutputVerdict& other);
};

// `actual` has golden's dtype and shape; `second` (kDual) too.
OutputVerdict Judge(const GoldenOutput& golden, const std::vector<std::byte>& actual,
                    const StandardOptions& options, const std::vector<std::byte>* second = nullptr);

// Where a function of a library under test comes from.
struct FunctionFile {
  std::string name, file;
};

struct CaseVerdict {
  Case c;
  std::vector<OutputVerdict> outputs;
  std::string error;  // what kept it from being judged: a file, a crash, a status; "" for nothing
  bool bad_input = false;  // the error is one of the files
  double seconds = 0;
  std::string fault{};  // its kind, by what makes the case right (hardships.h); "" for none
  bool passed() const;
};

// "inputGrad[0, 1, 2, 3] is 1.5, golden 2.5, exact 2.5, error 1, allowed 1e-6"
std::string ElementText(const OutputVerdict& output, const Element& element);
// The row-major `index` as one index for each axis.
Shape IndexOf(const Shape& shape, int64_t index);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_VERDICT_H_
