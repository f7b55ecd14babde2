// The interface between libportacl.so and libportacl_aten.so, which computes rows of functions.txt.
// Both libraries come from one build, so the interface has no version except the product's.
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

// A scalar of the type `dtype`.
struct ScalarValue {
  int32_t dtype = 0;
  const void* bytes = nullptr;
};

// The argument of one parameter. The parameter's kind says which members are set.
struct Value {
  bool given = false;  // the caller did not give null
  std::span<const base::TensorDesc* const> tensors = {};
  std::span<const ScalarValue> scalars = {};
  std::span<const int64_t> ints = {};
  std::span<const double> doubles = {};
  int64_t integer = 0;
  double number = 0;
  const char* text = nullptr;
};

// A refusal or a failed run: an aclnn code, and words without the function's name. 0: neither.
struct Failure {
  int32_t code = 0;
  std::string words;
};

// The shape of an output that is known only after the run.
struct FoundShape {
  size_t tensor = 0;  // the tensor's index among the call's tensors
  std::vector<int64_t> sizes;
};

// A checked call: its operator and its arguments, without addresses. It never changes, and several
// threads may run it at a time.
class Computation {
 public:
  virtual ~Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  // Computes the call. `elements` has the address of each tensor's element (0, 0, ...), in the
  // order of the parameters; members of lists count one by one. For a packed tensor, it is the
  // address of the byte with that element.
  virtual Failure Run(std::span<void* const> elements, int threads,
                      std::vector<FoundShape>* found) const noexcept = 0;

 protected:
  Computation() = default;
};

struct Backend {
  const char* version;  // PORTACL_VERSION_STRING
  const char* torch;    // the PyTorch it was built for: "2.15"

  // Checks a call's types and strides, and its shapes by PyTorch's own shape functions.
  Failure (*plan)(const Row& row, std::span<const Value> values,
                  std::unique_ptr<const Computation>* computation) noexcept;
  // Returns why this PyTorch cannot serve the row, or "".
  std::string (*check_row)(const Row& row);
};

// In the library's file, the PyTorch version that it was built for follows this text.
inline constexpr char kBuiltFor[] = "portacl_aten for PyTorch ";

// The only exported function: const Backend* portaclAtenBackend().
inline constexpr char kBackendFunction[] = "portaclAtenBackend";
using BackendFunction = const Backend* (*)();

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_BACKEND_H_
