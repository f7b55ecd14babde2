// The interface of libportacl_aten.so for libportacl.so: rows of the table become computations.
// Both come from one build: the interface has no version but the product's.
#ifndef PORTACL_ATEN_BACKEND_H_
#define PORTACL_ATEN_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aten/row.h"
#include "base/tensor_desc.h"

namespace portacl::aten {

// A value of a scalar parameter, read as its data type.
struct ScalarValue {
  int32_t dtype = 0;
  const void* bytes = nullptr;
};

// The argument for one parameter. Which members are set follows from the parameter's kind.
struct Value {
  bool given = false;  // not a null handle
  std::span<const base::TensorDesc* const> tensors = {};
  std::span<const ScalarValue> scalars = {};
  std::span<const int64_t> ints = {};
  std::span<const double> doubles = {};
  int64_t integer = 0;
  double number = 0;
  const char* text = nullptr;
};

// A refusal, or a run that failed: an aclnn code and words without the function's name. 0: none.
struct Failure {
  int32_t code = 0;
  std::string words;
};

// The shape of an output that is known after the run only.
struct FoundShape {
  size_t tensor = 0;  // its number among the call's tensors
  std::vector<int64_t> sizes;
};

// A checked call: its operator and its arguments, without addresses. Immutable; any number of
// threads may run it at a time.
class Computation {
 public:
  virtual ~Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  // Computes from and into the call's tensors. `elements` has the address of each tensor's element
  // (0, 0, ...), in the order of the parameters, members of lists one by one. For a packed tensor
  // it is the byte with that element.
  virtual Failure Run(std::span<void* const> elements, int threads,
                      std::vector<FoundShape>* found) const noexcept = 0;

 protected:
  Computation() = default;
};

struct Backend {
  const char* version;  // PORTACL_VERSION_STRING
  const char* torch;    // the PyTorch that it was built for: "2.15"

  // Checks a call: types, strides, and shapes as PyTorch finds them.
  Failure (*plan)(const Row& row, std::span<const Value> values,
                  std::unique_ptr<const Computation>* computation) noexcept;
  // Why this PyTorch cannot serve the row; "": it can.
  std::string (*check_row)(const Row& row);
};

// Behind it the file says, in plain bytes, which PyTorch it was built for.
inline constexpr char kBuiltFor[] = "portacl_aten for PyTorch ";

// The one function that the library exports: const Backend* portaclAtenBackend().
inline constexpr char kBackendFunction[] = "portaclAtenBackend";
using BackendFunction = const Backend* (*)();

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_BACKEND_H_
