// The common part of the makers of case lists.
#ifndef PORTACL_TOOLS_TESTING_GENERATE_PARTS_H_
#define PORTACL_TOOLS_TESTING_GENERATE_PARTS_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/testing/generate_cases.h"

namespace portacl::golden {

// The operators and dtypes that the options ask for and the profile has.
std::vector<const OperatorRow*> RowsFor(const GenerateOptions& options);
std::vector<DataType> TypesFor(const OperatorRow& op, const GenerateOptions& options);

bool IsOpen(const GenerateOptions& options);
const ops::FormatWords& FormatsFor(const OperatorRow& op, const GenerateOptions& options);

// The same for a sampler's modes: those below these numbers.
struct ModeCounts {
  int64_t interpolations, paddings;
};
ModeCounts ModesFor(const OperatorRow& op, const GenerateOptions& options);

Case EmptyCase(const OperatorRow& op, const GenerateOptions& options);
ArgumentCase& ArgumentOf(Case& c, const char* parameter);
inline ArgumentCase& InputOf(Case& c) { return c.arguments[c.op->First(Role::kInput)]; }
inline ArgumentCase& OutputOf(Case& c) { return c.arguments[c.op->First(Role::kOutput)]; }
// For resizing: sets the shapes of the image that a gradient is for, and of the resized image.
void SetSizes(Case& c, const Shape& small, const Shape& large);
// A small shape for each tensor.
void SetPlainShapes(Case& c);

// The largest extent that a made case has for a symbol: few images, heads, levels and points, else
// `most`.
int64_t MostOf(const std::string& symbol, int64_t most);

// A number of pixels for each unit of a roi, and its values in made cases.
bool IsRoiScale(const Parameter& parameter);
const std::vector<double>& RoiScales();

// The same extents for every tensor that has a symbol, from `extent_of` if no number stands.
void SetShapes(Case& c, const std::function<int64_t(const std::string& symbol)>& extent_of);
std::vector<Case> Named(const std::string& kind, std::vector<Case> cases);

std::vector<Case> Refusals(const GenerateOptions& options);
std::vector<Case> Boundaries(const GenerateOptions& options);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_GENERATE_PARTS_H_
