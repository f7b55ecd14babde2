// The list of operators, function by function: the smallest good call runs; the common refusals
// name each parameter; the common part of phase 2; the profiles. Each operator's own test has its
// special rules.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/api/acl_fixture.h"
#include "support/api/listed_call.h"
#include "support/api/native.h"

namespace portacl_test {
namespace {

using listed::Argument;
using listed::IsTensor;
using listed::Kind;
using listed::Parameter;
using portacl::ops::kAclnnFunctions;
using testing::HasSubstr;
using testing::StartsWith;

class OperatorList : public AclTest {
 protected:
  using Spoil = std::function<void(Argument& argument)>;

  // Spoils, one at a time, each argument with a kind for which `of` is true. The call is refused;
  // the message begins with the function and the parameter's name, and has `words`. `sized`: only
  // parameters with extents in the list. `only`: parameters to take.
  static void EachIsRefused(bool (*of)(Kind), const Spoil& spoil, aclnnStatus code,
                            const std::string& words, bool sized = false,
                            const std::function<bool(const Parameter&)>& only = {}) {
    int spoiled = 0;
    for (const auto* const function : kAclnnFunctions) {
      for (size_t at = 0; at < function->parameters.size(); ++at) {
        const Parameter& parameter = function->parameters[at];
        if (!of(parameter.kind) || (sized && *parameter.symbols == '\0')) continue;
        if (code == ACLNN_ERR_PARAM_NULLPTR && parameter.unset != nullptr) continue;
        if (only && !only(parameter)) continue;
        listed::Call call(*function);
        spoil(call.arguments()[at]);
        const std::string where = std::string(function->name) + " " + parameter.name;
        EXPECT_EQ(call.Run(nullptr), code) << where;
        EXPECT_THAT(TakeMessage(),
                    testing::AllOf(StartsWith(std::string(function->name) + ": " + parameter.name),
                                   HasSubstr(words)));
        ++spoiled;
      }
    }
    EXPECT_GT(spoiled, 0);
  }
};

TEST_F(OperatorList, TheSmallestGoodCallOfEveryFunctionRuns) {
  std::vector<std::string> names;
  for (const auto* const function : kAclnnFunctions) {
    names.emplace_back(function->name);
    EXPECT_EQ(listed::Call(*function).Run(stream_), ACLNN_SUCCESS)
        << function->name << ": " << TakeMessage();
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, ListedNames("aclnn")) << "the library was built from another list";
}

TEST_F(OperatorList, EveryNullIsRefusedByName) {
  const auto is_pointer = [](Kind kind) {
    return IsTensor(kind) || kind == Kind::kInts || kind == Kind::kFloats || kind == Kind::kBools ||
           kind == Kind::kWord;
  };
  EachIsRefused(
      is_pointer, [](Argument& argument) { argument.null = true; }, ACLNN_ERR_PARAM_NULLPTR,
      "is null");
}

TEST_F(OperatorList, EveryTensorOfAnotherDtypeIsRefused) {
  EachIsRefused(
      IsTensor, [](Argument& argument) { argument.tensor.dtype = ACL_INT16; },
      ACLNN_ERR_PARAM_INVALID, "has dtype INT16, but must be ");
}

TEST_F(OperatorList, EveryTensorOfAnotherRankIsRefused) {
  EachIsRefused(
      IsTensor, [](Argument& argument) { argument.tensor.shape.push_back(1); },
      ACLNN_ERR_PARAM_INVALID, "but must have rank", true);
}

TEST_F(OperatorList, EveryTensorOfAnUnlistedFormatIsRefused) {
  EachIsRefused(
      IsTensor, [](Argument& argument) { argument.tensor.format = ACL_FORMAT_FRACTAL_Z; },
      ACLNN_ERR_PARAM_INVALID, "has format FRACTAL_Z, but must be ");
}

TEST_F(OperatorList, EveryListOfAnotherLengthOrWithANegativeElementIsRefused) {
  const auto is_ints = [](Kind kind) { return kind == Kind::kInts; };
  EachIsRefused(
      is_ints, [](Argument& argument) { argument.ints.push_back(1); }, ACLNN_ERR_PARAM_INVALID,
      "elements, but must have", true);
  // Channels and padding may be 0.
  const auto least = [](const Parameter& parameter) {
    const std::string symbols = parameter.symbols;
    const std::string last = symbols.substr(symbols.rfind(',') + 1);
    return last == "C" || last.starts_with('P') ? 0 : 1;
  };
  for (const int value : {0, 1}) {
    EachIsRefused(
        is_ints, [](Argument& argument) { argument.ints.back() = -1; }, ACLNN_ERR_PARAM_INVALID,
        "] is -1, but must be at least " + std::to_string(value), true,
        [&](const Parameter& parameter) { return least(parameter) == value; });
  }
  EachIsRefused([](Kind kind) { return kind == Kind::kBools; },
                [](Argument& argument) { argument.bools.push_back(true); }, ACLNN_ERR_PARAM_INVALID,
                "elements, but must have");
}

TEST_F(OperatorList, PhaseTwoWithoutAnExecutorAnswers) {
  for (const std::string& name : ListedNames("aclnn")) {
    const auto phase_two = reinterpret_cast<listed::PhaseTwo>(dlsym(RTLD_DEFAULT, name.c_str()));
    ASSERT_NE(phase_two, nullptr) << name;
    EXPECT_EQ(phase_two(nullptr, 0, nullptr, stream_), ACLNN_ERR_PARAM_NULLPTR) << name;
    EXPECT_EQ(TakeMessage(), name + ": executor is null");
  }
}

TEST_F(OperatorList, AProfileWithoutAnOperatorSaysWhichHaveIt) {
  portaclSetProfile("atlas-training");
  for (const auto* const function : kAclnnFunctions) {
    const auto& dtypes = function->traits.dtypes;
    listed::Call call(*function);
    for (size_t at = 0; at < function->parameters.size(); ++at) {
      Argument& argument = call.arguments()[at];
      if (!dtypes.atlas_training.empty() && function->parameters[at].dtypes == nullptr) {
        argument.tensor.dtype = static_cast<aclDataType>(*dtypes.atlas_training.begin());
      }
    }
    const bool has = !dtypes.atlas_training.empty();
    EXPECT_EQ(call.Run(stream_), has ? ACLNN_SUCCESS : ACLNN_ERR_PARAM_INVALID) << function->name;
    if (!has) {
      EXPECT_THAT(TakeMessage(),
                  testing::AllOf(HasSubstr("atlas-a2, atlas-a3, "), HasSubstr("open")));
    }
  }
}

TEST_F(OperatorList, EveryNameIsListedOnce) {
  for (const char* kind : {"aclnn", "graph", "native"}) {
    const std::vector<std::string> names = ListedNames(kind);
    EXPECT_FALSE(names.empty()) << kind;
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << kind;
  }
}

}  // namespace
}  // namespace portacl_test
