// Calls of functions that PyTorch's kernels compute: equal calls share a plan, and calls that
// differ in one word do not. The timeline says which plans were kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_bucketize.h"
#include "aclnnop/aclnn_clamp.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_group_norm_backward.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_softmax.h"
#include "support/api/child_process.h"
#include "support/api/companion_call.h"

namespace portacl_test {
namespace {

// Makes tensors at addresses that no earlier call had.
class Addresses {
 public:
  TensorHandle Make(TensorArgs args) {
    args.data = static_cast<char*>(memory_.get()) + 128 * next_++;
    return args.Make();
  }

 private:
  DeviceMemory memory_{1 << 20};
  size_t next_ = 0;
};

// Phase 1 of a call.
using Phase1 = std::function<aclnnStatus(Addresses*, uint64_t*, aclOpExecutor**)>;

Phase1 Exp(const TensorArgs& self) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle from = at->Make(self);
    const TensorHandle out = at->Make({{2, 2}});
    return aclnnExpGetWorkspaceSize(from.get(), out.get(), size, executor);
  };
}

struct Limit {
  double value = 0;
  Element element = Element::kFloat;
};

Phase1 Clamp(std::optional<Limit> least, std::optional<Limit> most) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const auto scalar = [](const std::optional<Limit>& limit) {
      return limit ? MakeScalar(limit->value, limit->element) : nullptr;
    };
    const TensorHandle self = at->Make({{4}});
    const TensorHandle out = at->Make({{4}});
    const ScalarHandle limits[] = {scalar(least), scalar(most)};
    return aclnnClampGetWorkspaceSize(self.get(), limits[0].get(), limits[1].get(), out.get(), size,
                                      executor);
  };
}

Phase1 Amax(const std::vector<int64_t>& axes, int64_t rows = 4) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle self = at->Make({{rows, 4}});
    const TensorHandle out = at->Make({{4}});
    const IntArrayHandle dims(aclCreateIntArray(axes.data(), axes.size()));
    return aclnnAmaxGetWorkspaceSize(self.get(), dims.get(), false, out.get(), size, executor);
  };
}

Phase1 GroupNormBackward(bool bias) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle image[] = {at->Make({{1, 2, 2}}), at->Make({{1, 2, 2}}),
                                  at->Make({{1, 2, 2}})};
    const TensorHandle group[] = {at->Make({{1, 1}}), at->Make({{1, 1}})};
    const TensorHandle channel[] = {at->Make({{2}}), at->Make({{2}}), at->Make({{2}})};
    const bool wanted[] = {true, true, bias};
    const BoolArrayHandle mask(aclCreateBoolArray(wanted, 3));
    return aclnnGroupNormBackwardGetWorkspaceSize(
        image[0].get(), image[1].get(), group[0].get(), group[1].get(), channel[0].get(), 1, 2, 2,
        1, mask.get(), image[2].get(), channel[1].get(), channel[2].get(), size, executor);
  };
}

Phase1 Bucketize(bool right) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle self = at->Make({{4}});
    const TensorHandle boundaries = at->Make({{3}});
    const TensorHandle out = at->Make({{4}, ACL_INT64});
    return aclnnBucketizeGetWorkspaceSize(self.get(), boundaries.get(), false, right, out.get(),
                                          size, executor);
  };
}

Phase1 Softmax(int64_t axis) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle self = at->Make({{4, 4}});
    const TensorHandle out = at->Make({{4, 4}});
    return aclnnSoftmaxGetWorkspaceSize(self.get(), axis, out.get(), size, executor);
  };
}

Phase1 LayerNorm(double eps, bool weighted) {
  return [=](Addresses* at, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle self = at->Make({{2, 4}});
    const TensorHandle out = at->Make({{2, 4}});
    const TensorHandle weight = weighted ? at->Make({{4}}) : nullptr;
    const int64_t four = 4;
    const IntArrayHandle shape(aclCreateIntArray(&four, 1));
    return aclnnLayerNormGetWorkspaceSize(self.get(), shape.get(), weight.get(), nullptr, eps,
                                          out.get(), nullptr, nullptr, size, executor);
  };
}

// Two calls that differ in one word.
struct Pair {
  const char* word;
  Phase1 one;
  Phase1 other;
};

std::vector<Pair> Pairs() {
  const TensorArgs plain{.shape = {2, 2}, .strides = Shape{2, 1}, .storage = Shape{6}};
  const auto changed = [&](auto&& change) {
    TensorArgs args = plain;
    change(args);
    return Exp(args);
  };
  return {
      {"shape", Amax({0}), Amax({0}, 5)},
      {"dtype", Exp(plain), changed([](TensorArgs& args) { args.dtype = ACL_FLOAT16; })},
      {"strides", Exp(plain), changed([](TensorArgs& args) {
         args.strides = {1, 2};
       })},
      {"offset", Exp(plain), changed([](TensorArgs& args) { args.offset = 1; })},
      {"storage", Exp(plain), changed([](TensorArgs& args) { args.storage = {7}; })},
      {"format", Exp(plain), changed([](TensorArgs& args) { args.format = ACL_FORMAT_NCHW; })},
      {"value of a scalar", Clamp(Limit{0}, Limit{1}), Clamp(Limit{0.5}, Limit{1})},
      {"type of a scalar", Clamp(Limit{0}, Limit{1}), Clamp(Limit{0, Element::kInt64}, Limit{1})},
      {"scalar or none", Clamp(Limit{1}, std::nullopt), Clamp(std::nullopt, Limit{1})},
      {"tensor or none", LayerNorm(1e-5, false), LayerNorm(1e-5, true)},
      {"integers", Amax({0}), Amax({1})},
      {"booleans", GroupNormBackward(true), GroupNormBackward(false)},
      {"flag", Bucketize(false), Bucketize(true)},
      {"integer", Softmax(0), Softmax(1)},
      {"double", LayerNorm(1e-5, false), LayerNorm(1e-6, false)},
  };
}

// After `one` twice its plan is kept. `other` comes three times.
constexpr size_t kCallsOfAPair = 5;

void PlanPairs() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  Addresses at;
  for (const Pair& pair : Pairs()) {
    SCOPED_TRACE(pair.word);
    for (size_t i = 0; i < kCallsOfAPair; ++i) {
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      ASSERT_EQ((i < 2 ? pair.one : pair.other)(&at, &size, &executor), ACLNN_SUCCESS)
          << TakeMessage();
      ASSERT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    }
  }
}

TEST(AtenRecentPlansChild, AreOfCallsThatAreEqualInEveryWord) {
  const std::string path = PathForChildren("aten_plans.json");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}}), PlanPairs());
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(trace.is_discarded());
  std::vector<bool> kept;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (!event.contains("cat") || event["cat"] != "plan") continue;
    kept.push_back(event["args"]["detail"].get<std::string>().ends_with(" (kept)"));
  }
  const std::vector<Pair> pairs = Pairs();
  ASSERT_EQ(kept.size(), pairs.size() * kCallsOfAPair);
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(pairs[i].word);
    const auto first = kept.begin() + static_cast<ptrdiff_t>(i * kCallsOfAPair);
    EXPECT_THAT(std::vector<bool>(first + 2, first + kCallsOfAPair),
                testing::ElementsAre(false, false, true));
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace portacl_test
