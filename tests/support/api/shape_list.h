// The rows of bench/shapes.json in their small form (fields: bench/README.md).
#ifndef PORTACL_TESTS_SUPPORT_API_SHAPE_LIST_H_
#define PORTACL_TESTS_SUPPORT_API_SHAPE_LIST_H_

#include <ostream>
#include <string>
#include <vector>

#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"

namespace portacl_test {

struct ShapeRow {
  std::string name;
  bool is_grid = false;
  Element element = Element::kFloat;
  Layout layout = Layout::kContiguous;
  // Grid sampler.
  Shape input;
  Shape points;
  GridMode mode;
  GridKind kind = GridKind::kRandom;
  bool want_input_grad = true;
  bool want_grid_grad = true;
  // Nearest-exact.
  Shape grad_input;
  Shape grad_output;
};
inline std::ostream& operator<<(std::ostream& out, const ShapeRow& row) { return out << row.name; }

std::vector<ShapeRow> ShapeList();

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_SHAPE_LIST_H_
