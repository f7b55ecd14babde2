// Arguments by the types of each function's signature.
#include "tools/testing/aclnn_signatures.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "every_aclnnop.h"

namespace portacl::golden {
namespace {

template <class T>
T ArgumentAs(const Handle& handle) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return static_cast<T>(handle.real);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(handle.integer);
  } else if constexpr (std::is_same_v<T, const aclIntArray*>) {
    return handle.ints;
  } else if constexpr (std::is_same_v<T, const aclBoolArray*>) {
    return handle.bools;
  } else if constexpr (std::is_same_v<T, const char*>) {
    return handle.word.c_str();
  } else if constexpr (std::is_same_v<T, const aclFloatArray*>) {
    return nullptr;  // of functions that no case calls
  } else {
    static_assert(std::is_same_v<T, const aclTensor*> || std::is_same_v<T, aclTensor*>);
    return handle.tensor;
  }
}

// Calls a phase 1 at the address `function` with the handles in the signature's order; the last two
// parameters are the results.
template <class... Parameters>
struct Signature {
  using Function = aclnnStatus (*)(Parameters...);
  using Tuple = std::tuple<Parameters...>;

  static aclnnStatus Call(void* function, const std::vector<Handle>& handles, Phase1Results& out) {
    return Call(reinterpret_cast<Function>(function), handles, out,
                std::make_index_sequence<sizeof...(Parameters) - 2>());
  }

 private:
  template <size_t... i>
  static aclnnStatus Call(Function function, const std::vector<Handle>& handles, Phase1Results& out,
                          std::index_sequence<i...>) {
    return function(ArgumentAs<std::tuple_element_t<i, Tuple>>(handles.at(i))...,
                    &out.workspace_size, &out.executor);
  }
};

template <class... Parameters>
Signature<Parameters...> SignatureOf(aclnnStatus (*)(Parameters...));

// Only the types of the functions are used.
constexpr Operation kOperations[] = {
#define PORTACL_ACLNN(name, ...) \
  {#name, &decltype(SignatureOf(std::declval<decltype(&name##GetWorkspaceSize)>()))::Call},
#include "src/ops/operator_list.inc"
};

}  // namespace

const Operation* FindOperation(const char* function) {
  const auto* const found =
      std::find_if(std::begin(kOperations), std::end(kOperations),
                   [&](const Operation& o) { return std::strcmp(o.function, function) == 0; });
  return found == std::end(kOperations) ? nullptr : found;
}

}  // namespace portacl::golden
