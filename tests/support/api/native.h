// The native API on test tensors, and what the library says of itself.
#ifndef PORTACL_TESTS_SUPPORT_API_NATIVE_H_
#define PORTACL_TESTS_SUPPORT_API_NATIVE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "portacl/portacl.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/native_grid.h"
#include "support/api/tensor.h"

namespace portacl_test {

inline portacl::Tensor View(const Tensor& tensor) {
  return portacl::Tensor(tensor.first(), static_cast<portacl::DataType>(tensor.element()),
                         tensor.shape().size(), tensor.shape().data(), tensor.strides().data());
}

inline testing::AssertionResult Succeeds(const portacl::Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.code() << " " << status.message();
}

inline const double* ScalesOrNull(const std::vector<double>& scales) {
  return scales.empty() ? nullptr : scales.data();
}

inline portacl::Status NativeGridBackward(const GridCase& c, const GridMode& mode,
                                          Tensor* input_grad, Tensor* grid_grad) {
  return SampleGridBackward(View(c.grad_output), View(c.input), View(c.grid),
                            input_grad != nullptr ? View(*input_grad) : portacl::Tensor(),
                            grid_grad != nullptr ? View(*grid_grad) : portacl::Tensor(), mode);
}

inline portacl::Status NativeGrid(const Tensor& input, const Tensor& grid, const GridMode& mode,
                                  Tensor* output) {
  return SampleGrid(View(input), View(grid), View(*output), mode);
}

// What portaclGetInfo() says at a JSON pointer: a text as it is, anything else as JSON.
std::string InfoAt(const std::string& pointer);

// Every name of one kind ("aclnn", "graph", "native") in the library's list of operators, sorted.
std::vector<std::string> ListedNames(const char* kind);

// Every implementation that this machine can run for any operator, "ref" among them.
std::vector<std::string> AvailableImpls();

// Default settings before and after each test.
class NativeTest : public testing::Test {
 protected:
  NativeTest() { Reset(); }
  ~NativeTest() override { Reset(); }

 private:
  static void Reset() {
    portaclSetProfile("atlas-a2");
    portaclSetStrict(0);
    portaclSetImpl(nullptr);
    portaclSetNumThreads(0);
  }
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_NATIVE_H_
