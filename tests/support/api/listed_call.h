// One call of any function of the aclnn API by the list of operators: the smallest good one, whose
// arguments a test may spoil.
#ifndef PORTACL_TESTS_SUPPORT_API_LISTED_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_LISTED_CALL_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/ops/operator_list.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

namespace listed {

using portacl::ops::IsTensor;
using portacl::ops::Kind;
using portacl::ops::Parameter;
using portacl::ops::Signature;

// What stands for one parameter.
struct Argument {
  TensorArgs tensor;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<bool> bools;
  std::string word;
  bool null = false;
};

// Extents of small tensors by symbol; the resized side is twice the other.
inline int64_t ExtentOf(std::string_view symbol) {
  static const std::map<std::string_view, int64_t> extents = {
      {"N", 1}, {"C", 2},  {"L", 3},  {"D", 2},  {"H", 2},
      {"W", 3}, {"OL", 6}, {"OD", 4}, {"OH", 4}, {"OW", 6}};
  const auto found = extents.find(symbol);
  return found == extents.end() ? std::atoll(std::string(symbol).c_str()) : found->second;
}

inline std::vector<int64_t> ExtentsOf(const Parameter& parameter) {
  // Those whose rank the list leaves to the operator.
  static const std::map<std::string_view, std::vector<int64_t>> own = {
      {"theta", {1, 2, 3}}, {"size", {1, 2, 4, 5}}, {"out", {1, 4, 5, 2}}};
  if (*parameter.symbols == '\0' && own.contains(parameter.name)) return own.at(parameter.name);
  std::vector<int64_t> extents;
  for (size_t i = 0; i < PartsOf(parameter); ++i) {
    extents.push_back(ExtentOf(PartOf(parameter, i)));
  }
  return extents;
}

class Call {
 public:
  // Tensors of the first dtype and format that atlas-a2 lists, in memory full of zeros.
  explicit Call(const Signature& function) : function_(function), memory_(kMemory) {
    EXPECT_EQ(aclrtMemset(memory_.get(), kMemory, 0, kMemory), ACL_SUCCESS);
    size_t used = 0;
    for (const Parameter& parameter : function.parameters) {
      Argument& argument = arguments_.emplace_back();
      const std::vector<int64_t> extents = ExtentsOf(parameter);
      argument.tensor.shape = extents;
      argument.tensor.dtype = static_cast<aclDataType>(*function.traits.dtypes.atlas_a2.begin());
      argument.tensor.format = static_cast<aclFormat>(*function.traits.formats.begin());
      argument.tensor.data = static_cast<char*>(memory_.get()) + kTensor * used++;
      argument.ints = extents;
      argument.floats.assign(PartsOf(parameter), 1);
      argument.bools.assign(PartsOf(parameter), true);
      argument.word = PartOf(parameter, 0);
    }
  }

  const Signature& function() const { return function_; }
  std::vector<Argument>& arguments() { return arguments_; }

  // Phase 1, and where `stream` is not null phase 2 and the wait for it.
  aclnnStatus Run(aclrtStream stream);

 private:
  static constexpr size_t kTensor = 8192;
  static constexpr size_t kMemory = 16 * kTensor;

  const Signature& function_;
  DeviceMemory memory_;
  std::vector<Argument> arguments_;
};

// Handles of a call's arguments, given one behind the other as the types of a signature.
class Handles {
 public:
  explicit Handles(const std::vector<Argument>& arguments) : arguments_(arguments) {}

  template <class T>
  T Next() {
    const Argument& argument = arguments_.at(next_++);
    if constexpr (!std::is_pointer_v<T>) return T{};
    if constexpr (std::is_pointer_v<T>) {
      if (argument.null) return nullptr;
      return Make(argument, T{});
    }
  }

 private:
  const aclTensor* Make(const Argument& argument, const aclTensor*) {
    return tensors_.emplace_back(argument.tensor.Make()).get();
  }
  aclTensor* Make(const Argument& argument, aclTensor*) {
    return tensors_.emplace_back(argument.tensor.Make()).get();
  }
  const aclIntArray* Make(const Argument& argument, const aclIntArray*) {
    return ints_.emplace_back(MakeInts(argument.ints)).get();
  }
  const aclBoolArray* Make(const Argument& argument, const aclBoolArray*) {
    const auto values = std::make_unique<bool[]>(argument.bools.size() + 1);
    std::copy(argument.bools.begin(), argument.bools.end(), values.get());
    return bools_.emplace_back(aclCreateBoolArray(values.get(), argument.bools.size())).get();
  }
  const aclFloatArray* Make(const Argument& argument, const aclFloatArray*) {
    floats_.emplace_back(aclCreateFloatArray(argument.floats.data(), argument.floats.size()),
                         aclDestroyFloatArray);
    return floats_.back().get();
  }
  const char* Make(const Argument& argument, const char*) { return argument.word.c_str(); }

  const std::vector<Argument>& arguments_;
  size_t next_ = 0;
  std::vector<TensorHandle> tensors_;
  std::vector<IntArrayHandle> ints_;
  std::vector<BoolArrayHandle> bools_;
  std::vector<std::unique_ptr<const aclFloatArray, aclnnStatus (*)(const aclFloatArray*)>> floats_;
};

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Calls a phase 1 with handles by its types; the last two parameters are the results.
template <class... Parameters>
aclnnStatus CallPhaseOne(aclnnStatus (*phase_one)(Parameters...), Handles& handles,
                         Planned* planned) {
  using Types = std::tuple<Parameters...>;
  return [&]<size_t... i>(std::index_sequence<i...>) {
    // The elements of a braced list are evaluated from the left to the right.
    std::tuple<std::tuple_element_t<i, Types>...> values{
        handles.Next<std::tuple_element_t<i, Types>>()...};
    return phase_one(std::get<i>(values)..., &planned->workspace_size, &planned->executor);
  }
  (std::make_index_sequence<sizeof...(Parameters) - 2>());
}

struct Phases {
  aclnnStatus (*one)(Handles& handles, Planned* planned);
  PhaseTwo two;
};

// In the order of kAclnnFunctions.
inline const std::vector<Phases>& AllPhases() {
  static const std::vector<Phases> phases = {
#define PORTACL_ACLNN(function, ...)                                     \
  {[](Handles& handles, Planned* planned) {                              \
     return CallPhaseOne(&function##GetWorkspaceSize, handles, planned); \
   },                                                                    \
   function},
#include "src/ops/operator_list.inc"
  };
  return phases;
}

inline aclnnStatus Call::Run(aclrtStream stream) {
  size_t at = 0;
  while (portacl::ops::kAclnnFunctions[at] != &function_) ++at;
  const Phases& phases = AllPhases()[at];
  Handles handles(arguments_);
  Planned planned;
  planned.status = phases.one(handles, &planned);
  if (planned.status != ACLNN_SUCCESS) return planned.status;
  if (stream == nullptr) return aclDestroyAclOpExecutor(planned.executor);
  const DeviceMemory workspace(planned.workspace_size);
  const aclnnStatus status =
      phases.two(workspace.get(), planned.workspace_size, planned.executor, stream);
  return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream);
}

}  // namespace listed
}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_LISTED_CALL_H_
