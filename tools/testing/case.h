// One test case: an operator with its arguments, and its one string. Every command reads the
// string, prints it on failure and reads it back to the same case.
//
//   grid_sampler_2d_backward dtype=float16 input=2x3x8x9 grid=2x5x7x2 paddingMode=border seed=7
//
// The words are fields, "FIELD=VALUE"; a JSON object and a row of a CSV file have the same fields
// (case_list.h). docs/cases.md lists them.
#ifndef PORTACL_TOOLS_TESTING_CASE_H_
#define PORTACL_TOOLS_TESTING_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tensor/checked_size.h"
#include "tools/tensor/element.h"
#include "tools/testing/operators.h"

namespace portacl::golden {

using cli::Shape;

// The parts of a case for one parameter of its operator. Missing ones are derived (call.h).
struct ArgumentCase {
  std::optional<Shape> shape;                    // tensors
  std::optional<std::string> layout;             // tensors: a word, instead of strides
  std::optional<Shape> strides;                  // tensors, in elements
  std::optional<int64_t> offset;                 // tensors, in elements of the storage
  std::optional<int32_t> dtype;                  // tensors: an aclDataType, if it is not the case's
  std::optional<std::string> format;             // tensors: an aclFormat by its name
  std::optional<std::string> values;             // inputs: "uniform:-1:1", "ones", "kinks", ...
  std::optional<std::vector<int64_t>> integers;  // kInts, kMask; one for kInteger, kMode, kFlag
  std::optional<double> real;                    // kReal
  bool null = false;                             // the parameter is a null pointer

  bool operator==(const ArgumentCase&) const = default;
};

struct Case {
  const OperatorRow* op = nullptr;
  std::string name;  // "" for none; else a file name: letters, digits, . _ -
  DataType dtype = DataType::kFloat32;
  uint64_t seed = 0;    // of every made input
  std::string profile;  // "" for open
  int32_t expect = 0;   // what phase 1 must return; not 0: a refusal, without tensors to judge
  std::vector<ArgumentCase> arguments;  // one for each of op->parameters

  bool operator==(const Case&) const = default;
};

// The same call with other inputs: its seed is the one that follows.
Case SecondOf(const Case& c);

// A field as it is written, and where: line 0 for none.
struct Field {
  std::string name, value;
  int line = 0;
};

// `source` names the file for messages, "" for a string. `line`: where the case begins. Throws
// BadInput: "FILE:LINE: field NAME: PROBLEM".
Case CaseFromFields(const std::vector<Field>& fields, const std::string& source, int line);
// Whether a case of any operator may have a field of this name: to check the first row of a table.
bool IsField(const std::string& name);
// "operator" first, then the parameters' in the signature's order.
std::vector<Field> FieldsOf(const Case& c);

// The string form. Throws BadInput ("case '...': ...").
Case ParseCase(const std::string& text);
std::string ToString(const Case& c);

// Every field that an operator's cases may have, with one line of explanation: for the documents.
struct FieldHelp {
  std::string name, help;
};
std::vector<FieldHelp> FieldsOfOperator(const OperatorRow& op);

// The words of a field "PARAMETER.layout"; the words of `values` are in values.h.
const std::vector<std::string>& LayoutWords();

// aclDataType by the names of tools/tensor/element.h, and int8, int32, ...: for refusals.
std::optional<int32_t> ParseAclDataType(const std::string& name);
std::string AclDataTypeName(int32_t dtype);
size_t AclElementSize(int32_t dtype);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CASE_H_
