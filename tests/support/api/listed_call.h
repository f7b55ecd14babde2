// Calls of any function of the aclnn API by the list of operators: arguments, handles, phases.
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

#include "every_aclnnop.h"
#include "src/ops/operator_list.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

namespace listed {

using portacl::ops::Form;
using portacl::ops::FormOf;
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
  double number = 0;
  bool null = false;
};

// Extents by symbol; the resized side is twice the other.
using Extents = std::map<std::string_view, int64_t>;
inline const Extents kTiny = {{"N", 1}, {"C", 2},  {"L", 3},  {"D", 2},  {"H", 2},
                              {"W", 3}, {"OL", 6}, {"OD", 4}, {"OH", 4}, {"OW", 6}};

// A convolution of 3 x 3 taps that keeps the image's size, without masks and groups.
inline const Extents kConvolution = {
    {"XH", 4}, {"XW", 4}, {"YH", 4}, {"YW", 4}, {"KH", 3}, {"KW", 3},  {"SH", 1},
    {"SW", 1}, {"PT", 1}, {"PB", 1}, {"PL", 1}, {"PR", 1}, {"DH", 1},  {"DW", 1},
    {"GR", 1}, {"DG", 1}, {"O", 2},  {"F", 18}, {"M", 9},  {"CH", 12}, {"CW", 12}};

inline std::vector<int64_t> ExtentsOf(const Parameter& parameter, const Extents& extents) {
  // Parameters of a rank that the list leaves to the operator.
  static const std::map<std::string_view, std::vector<int64_t>> own = {
      {"theta", {1, 2, 3}},     {"size", {1, 2, 4, 5}}, {"out", {1, 4, 5, 2}},
      {"thetaGrad", {1, 2, 3}}, {"grid", {1, 4, 5, 2}}, {"gridGrad", {1, 4, 5, 2}},
      {"y", {1, 4, 5, 2}}};
  if (*parameter.symbols == '\0' && own.contains(parameter.name)) return own.at(parameter.name);
  std::vector<int64_t> shape;
  for (size_t i = 0; i < PartsOf(parameter); ++i) {
    const std::string_view symbol = PartOf(parameter, i);
    if (symbol.back() == '*') {  // any number of axes: two
      for (const char* const axis : {"H", "W"}) {
        shape.push_back(extents.at(symbol.size() > 1 ? (*axis == 'H' ? "OH" : "OW") : axis));
      }
    } else if (const auto found = extents.find(symbol); found != extents.end()) {
      shape.push_back(found->second);
    } else if (const auto of = kConvolution.find(symbol); of != kConvolution.end()) {
      shape.push_back(of->second);
    } else if (symbol == "G") {
      shape.push_back(extents.at("C"));
    } else {
      const bool number = symbol[0] >= '0' && symbol[0] <= '9';
      shape.push_back(number ? std::atoll(std::string(symbol).c_str()) : 2);
    }
  }
  return shape;
}

// An extent by its symbol, or what a number is that nobody sets.
inline double NumberOf(const Parameter& parameter, const std::vector<int64_t>& extents) {
  const Form form = FormOf(parameter.kind);
  if (form == Form::kInteger && !extents.empty()) return static_cast<double>(extents[0]);
  const bool number = form == Form::kInteger || form == Form::kReal;
  return number && parameter.unset != nullptr ? std::atof(parameter.unset) : 0;
}

// Arguments of a good call. Tensors have the first dtype and format that atlas-a2 lists, and follow
// each other in `memory`.
inline std::vector<Argument> GoodArguments(const Signature& function, const Extents& extents,
                                           void* memory) {
  std::vector<Argument> arguments;
  char* next = static_cast<char*>(memory);
  for (const Parameter& parameter : function.parameters) {
    Argument& argument = arguments.emplace_back();
    argument.ints = ExtentsOf(parameter, extents);
    // Scales, 1 of axes that stay as they are.
    for (size_t i = 0; i < PartsOf(parameter); ++i) {
      argument.floats.push_back(PartOf(parameter, i) == "1" ? 1 : 2);
    }
    argument.bools.assign(PartsOf(parameter), true);
    argument.word = PartOf(parameter, 0);
    argument.number = NumberOf(parameter, argument.ints);
    if (!IsTensor(parameter.kind)) continue;
    argument.tensor.shape = argument.ints;
    const auto& dtypes = parameter.dtypes == nullptr ? function.traits.dtypes : *parameter.dtypes;
    argument.tensor.dtype = static_cast<aclDataType>(*dtypes.atlas_a2.begin());
    argument.tensor.format = static_cast<aclFormat>(*function.traits.formats.begin());
    argument.tensor.data = next;
    size_t bytes = aclDataTypeSize(argument.tensor.dtype);
    for (const int64_t extent : argument.tensor.shape) bytes *= static_cast<size_t>(extent);
    next += (bytes + 63) / 64 * 64;
  }
  return arguments;
}

// Makes levels of deformable attention one pixel large, so that they fit among the keys (memory
// holds zeros).
inline void FillLevels(const Signature& function, const std::vector<Argument>& arguments) {
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (function.parameters[at].name != std::string_view("spatialShape")) continue;
    const TensorArgs& tensor = arguments[at].tensor;
    const std::vector<int32_t> ones(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]), 1);
    const size_t bytes = ones.size() * sizeof(int32_t);
    EXPECT_EQ(tensor.dtype, ACL_INT32);
    EXPECT_EQ(aclrtMemcpy(tensor.data, bytes, ones.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
}

// The handles of a call's arguments; gives them one after the other with the types of a
// signature.
class Handles {
 public:
  Handles(const Signature& function, const std::vector<Argument>& arguments) {
    for (size_t at = 0; at < arguments.size(); ++at) {
      made_.emplace_back();
      if (!arguments[at].null) Make(function.parameters[at].kind, arguments[at], &made_.back());
    }
  }

  void Rewind() { next_ = 0; }
  template <class T>
  T Next() {
    const Made& made = made_.at(next_++);
    if constexpr (std::is_same_v<T, const aclTensor*> || std::is_same_v<T, aclTensor*>) {
      return made.tensor.get();
    } else if constexpr (std::is_same_v<T, const aclIntArray*>) {
      return made.ints.get();
    } else if constexpr (std::is_same_v<T, const aclFloatArray*>) {
      return made.floats.get();
    } else if constexpr (std::is_same_v<T, const aclBoolArray*>) {
      return made.bools.get();
    } else if constexpr (std::is_same_v<T, const char*>) {
      return made.word;
    } else {
      return static_cast<T>(made.number);
    }
  }

 private:
  struct DestroyFloats {
    void operator()(aclFloatArray* array) const { aclDestroyFloatArray(array); }
  };
  struct Made {
    TensorHandle tensor;
    IntArrayHandle ints;
    BoolArrayHandle bools;
    std::unique_ptr<aclFloatArray, DestroyFloats> floats;
    const char* word = nullptr;
    double number = 0;
  };

  static void Make(Kind kind, const Argument& argument, Made* made) {
    if (IsTensor(kind)) made->tensor = argument.tensor.Make();
    made->number = argument.number;
    if (kind == Kind::kInts) made->ints = MakeInts(argument.ints);
    if (kind == Kind::kWord) made->word = argument.word.c_str();
    if (kind == Kind::kFloats) {
      made->floats.reset(aclCreateFloatArray(argument.floats.data(), argument.floats.size()));
    }
    if (kind == Kind::kBools) {
      const auto values = std::make_unique<bool[]>(argument.bools.size() + 1);
      std::copy(argument.bools.begin(), argument.bools.end(), values.get());
      made->bools.reset(aclCreateBoolArray(values.get(), argument.bools.size()));
    }
  }

  std::vector<Made> made_;
  size_t next_ = 0;
};

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Calls a phase 1 with handles by its types; the last two parameters are the results.
template <class... Parameters>
aclnnStatus CallPhaseOne(aclnnStatus (*phase_one)(Parameters...), Handles& handles,
                         uint64_t* workspace_size, aclOpExecutor** executor) {
  using Types = std::tuple<Parameters...>;
  handles.Rewind();
  return [&]<size_t... i>(std::index_sequence<i...>) {
    // The elements of a braced list are evaluated from the left to the right.
    std::tuple<std::tuple_element_t<i, Types>...> values{
        handles.Next<std::tuple_element_t<i, Types>>()...};
    return phase_one(std::get<i>(values)..., workspace_size, executor);
  }
  (std::make_index_sequence<sizeof...(Parameters) - 2>());
}

struct Phases {
  aclnnStatus (*one)(Handles& handles, uint64_t* workspace_size, aclOpExecutor** executor);
  PhaseTwo two;
};

// In the order of kAclnnFunctions.
inline constexpr Phases kPhases[] = {
#define PORTACL_ACLNN(function, ...)                                                      \
  {[](Handles& handles, uint64_t* workspace_size, aclOpExecutor** executor) {             \
     return CallPhaseOne(&function##GetWorkspaceSize, handles, workspace_size, executor); \
   },                                                                                     \
   function},
#include "src/ops/operator_list.inc"
};

inline const Phases& PhasesOf(const Signature& function) {
  size_t at = 0;
  while (portacl::ops::kAclnnFunctions[at] != &function) ++at;
  return kPhases[at];
}

// A small good call in device memory full of zeros, whose arguments a test may spoil.
class Call {
 public:
  explicit Call(const Signature& function)
      : function_(function),
        memory_(kMemory),
        arguments_(GoodArguments(function, kTiny, memory_.get())) {
    EXPECT_EQ(aclrtMemset(memory_.get(), kMemory, 0, kMemory), ACL_SUCCESS);
    FillLevels(function_, arguments_);
  }

  std::vector<Argument>& arguments() { return arguments_; }
  Argument& operator[](std::string_view name) {
    size_t at = 0;
    while (name != function_.parameters[at].name) ++at;
    return arguments_[at];
  }

  // Phase 1, and where `stream` is not null phase 2 and the wait for it.
  aclnnStatus Run(aclrtStream stream) const {
    const Phases& phases = PhasesOf(function_);
    Handles handles(function_, arguments_);
    Planned planned;
    planned.status = phases.one(handles, &planned.workspace_size, &planned.executor);
    if (planned.status != ACLNN_SUCCESS) return planned.status;
    if (stream == nullptr) return aclDestroyAclOpExecutor(planned.executor);
    const DeviceMemory workspace(planned.workspace_size);
    const aclnnStatus status =
        phases.two(workspace.get(), planned.workspace_size, planned.executor, stream);
    return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream);
  }

 private:
  static constexpr size_t kMemory = size_t{64} << 10;

  const Signature& function_;
  DeviceMemory memory_;
  std::vector<Argument> arguments_;
};

}  // namespace listed
}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_LISTED_CALL_H_
