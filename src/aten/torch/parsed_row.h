// A row as the engine uses it: PyTorch's operator and the source of each argument, or a
// composition.
#ifndef PORTACL_ATEN_TORCH_PARSED_ROW_H_
#define PORTACL_ATEN_TORCH_PARSED_ROW_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "aten/row.h"
#include "aten/torch/compose.h"
#include "aten/torch/torch_version.h"

namespace portacl::aten {

// How a parameter becomes an argument.
enum class Conversion {
  kNone,
  kFirst,       // p[0]: the first of its integers
  kLong,        // p.long: INT64, contiguous
  kContiguous,  // p.c: contiguous
  kCommon,      // p.p: the common type of all arguments with this mark
  kOutput,      // p.f: the type of the output
  kType,        // p.type: its data type
  kSome,        // p.some: none if the integer is 0
};

// An argument of the operator: a literal, or a parameter.
struct Mapped {
  c10::IValue literal;
  int parameter = -1;
  Conversion conversion = Conversion::kNone;
};

// Calls that were accepted: a later call of the same shapes is not checked again.
class Accepted {
 public:
  bool Has(const std::string& call);
  void Add(std::string call);

 private:
  static constexpr size_t kMost = 512;  // then the table is cleared
  std::mutex mutex_;
  std::unordered_set<std::string> calls_;
};

struct ParsedRow {
  const Row* row = nullptr;
  Composition composition = nullptr;
  Optional<c10::OperatorHandle> op;
  std::vector<Mapped> arguments;  // in the order of the operator's schema
  std::string error;              // why the row cannot be used, or ""
  mutable Accepted accepted;
};

// Returns the row, parsed at its first use and never freed.
const ParsedRow& Parse(const Row& row);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_PARSED_ROW_H_
