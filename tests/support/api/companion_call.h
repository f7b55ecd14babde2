// Calls of companion operators in tests: handles for scalars and lists, and both phases of any of
// them.
#ifndef PORTACL_TESTS_SUPPORT_API_COMPANION_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_COMPANION_CALL_H_

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/api/acl_fixture.h"

namespace portacl_test {

struct ScalarDestroy {
  void operator()(aclScalar* handle) const { aclDestroyScalar(handle); }
};
using ScalarHandle = std::unique_ptr<aclScalar, ScalarDestroy>;

// A scalar of any type with the value that a tensor of the type would hold.
inline ScalarHandle MakeScalar(double value, Element element = Element::kDouble) {
  alignas(8) std::array<std::byte, 8> bytes{};
  Store(element, value, bytes.data());
  return ScalarHandle(aclCreateScalar(bytes.data(), ToAcl(element)));
}

// A list of handles that it owns.
struct ListDestroy {
  void operator()(aclTensorList* handle) const { aclDestroyTensorList(handle); }
};
using ListHandle = std::unique_ptr<aclTensorList, ListDestroy>;

inline ListHandle MakeList(std::vector<TensorArgs> tensors) {
  std::vector<const aclTensor*> members;
  for (const TensorArgs& tensor : tensors) members.push_back(tensor.Make().release());
  return ListHandle(aclCreateTensorList(members.data(), members.size()));
}

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Plans with `plan(uint64_t*, aclOpExecutor**)`, runs and waits; the first status that is not 0.
template <class Plan>
aclnnStatus RunBoth(Plan&& plan, PhaseTwo run, aclrtStream stream) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus planned = plan(&size, &executor);
  if (planned != ACLNN_SUCCESS) return planned;
  const DeviceMemory workspace(size);
  const aclnnStatus status = run(workspace.get(), size, executor, stream);
  return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream);
}

}  // namespace portacl_test

// RunBoth of an operator: PORTACL_RUN(aclnnAdd, stream, self, other, alpha, out).
#define PORTACL_RUN(op, stream, ...)                                              \
  portacl_test::RunBoth(                                                          \
      [&](uint64_t* portacl_size, aclOpExecutor** portacl_executor) {             \
        return op##GetWorkspaceSize(__VA_ARGS__, portacl_size, portacl_executor); \
      },                                                                          \
      op, stream)

#endif  // PORTACL_TESTS_SUPPORT_API_COMPANION_CALL_H_
