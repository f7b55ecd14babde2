// Handles from a call's arguments, and the two phases by the types of each function's signature.
#include "tools/testing/call_aclnn.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_grid_sampler2d.h>
#include <aclnnop/aclnn_grid_sampler2d_backward.h>
#include <aclnnop/aclnn_grid_sampler3d.h>
#include <aclnnop/aclnn_grid_sampler3d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact1d.h>
#include <aclnnop/aclnn_upsample_nearest_exact1d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact3d.h>
#include <aclnnop/aclnn_upsample_nearest_exact3d_backward.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "tools/cli_error.h"

namespace portacl::golden {
namespace {

// What a call of one argument becomes.
struct Handle {
  aclTensor* tensor = nullptr;
  aclIntArray* ints = nullptr;
  aclBoolArray* bools = nullptr;
  double real = 0;
  int64_t integer = 0;
};

struct Phase1Results {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
};

template <class T>
T ArgumentAs(const Handle& handle) {
  if constexpr (std::is_same_v<T, double>) {
    return handle.real;
  } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) {
    return static_cast<T>(handle.integer);
  } else if constexpr (std::is_same_v<T, const aclIntArray*>) {
    return handle.ints;
  } else if constexpr (std::is_same_v<T, const aclBoolArray*>) {
    return handle.bools;
  } else {
    static_assert(std::is_same_v<T, const aclTensor*> || std::is_same_v<T, aclTensor*>);
    return handle.tensor;
  }
}

// Calls a phase 1 whose address is `function` with the handles in the signature's order; the last
// two parameters are the results.
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

using CallPhase1 = aclnnStatus (*)(void*, const std::vector<Handle>&, Phase1Results&);
struct Operation {
  const char* function;
  CallPhase1 call;
};
// Only the types of the functions are used: nothing here is linked.
constexpr Operation kOperations[] = {
#define PORTACL_ACLNN(name, ...) \
  {#name, &decltype(SignatureOf(std::declval<decltype(&name##GetWorkspaceSize)>()))::Call},
#include "src/ops/operator_list.inc"
};

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

aclFormat FormatOf(const std::optional<std::string>& name) {
  if (!name || *name == "ND") return ACL_FORMAT_ND;
  static constexpr std::pair<const char*, aclFormat> kFormats[] = {{"NCHW", ACL_FORMAT_NCHW},
                                                                   {"NHWC", ACL_FORMAT_NHWC},
                                                                   {"NCL", ACL_FORMAT_NCL},
                                                                   {"NCDHW", ACL_FORMAT_NCDHW},
                                                                   {"NDHWC", ACL_FORMAT_NDHWC}};
  for (const auto& [word, format] : kFormats) {
    if (*name == word) return format;
  }
  return ACL_FORMAT_UNDEFINED;
}

// Looks a function up as often as it is called: a few lookups a case cost less than the case. A
// destructor asks only for what is known to be there: kNeeded, and what Fill found before.
template <class Function>
Function* Find(const FindFunction& find, const char* name) {
  void* const address = find(name);
  if (address == nullptr) throw cli::RuntimeFailure(fmt::format("the library has no {}", name));
  return reinterpret_cast<Function*>(address);
}
#define PORTACL_FIND(name) Find<decltype(name)>(find_, #name)

// What every case needs: looked up before the first, so that none begins without it.
constexpr const char* kNeeded[] = {
    "aclInit",           "aclFinalize",        "aclrtSetDevice",         "aclrtResetDevice",
    "aclrtCreateStream", "aclrtDestroyStream", "aclrtSynchronizeStream", "aclrtMalloc",
    "aclrtFree",         "aclrtMemcpy",        "aclCreateTensor",        "aclDestroyTensor"};

// Thrown where a call fails; its outcome is the case's.
struct Failed {
  AclnnOutcome outcome;
};

// The handles and the device memory of one call.
class Execution {
 public:
  Execution(const FindFunction& find, aclrtStream stream, Call& call)
      : find_(find), stream_(stream), call_(call) {}
  ~Execution() {
    for (const Handle& handle : handles_) {
      if (handle.tensor != nullptr) PORTACL_FIND(aclDestroyTensor)(handle.tensor);
      if (handle.ints != nullptr) PORTACL_FIND(aclDestroyIntArray)(handle.ints);
      if (handle.bools != nullptr) PORTACL_FIND(aclDestroyBoolArray)(handle.bools);
    }
    for (void* const memory : memory_) PORTACL_FIND(aclrtFree)(memory);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void Run(const Operation& operation) {
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      handles_.emplace_back();
      Fill(i, handles_.back());
    }
    const std::string phase1 = std::string(operation.function) + "GetWorkspaceSize";
    Phase1Results results;
    Check(operation.call(reinterpret_cast<void*>(Find<void()>(find_, phase1.c_str())), handles_,
                         results),
          phase1);
    // Accepted: that is all there is to know, and nobody knows what a run of it would do.
    if (call_.source.expect != 0) return;
    void* const workspace = Allocate(results.workspace_size);
    const auto phase2 = reinterpret_cast<Phase2>(find_(operation.function));
    if (phase2 == nullptr)
      throw cli::RuntimeFailure(fmt::format("the library has no {}", operation.function));
    Check(phase2(workspace, results.workspace_size, results.executor, stream_), operation.function);
    Check(PORTACL_FIND(aclrtSynchronizeStream)(stream_), "aclrtSynchronizeStream");
    for (size_t i = 0; i < call_.arguments.size(); ++i) CopyBack(i);
  }

 private:
  void Check(int32_t status, const std::string& function) const {
    if (status == 0) return;
    const auto message =
        reinterpret_cast<decltype(&aclGetRecentErrMsg)>(find_("aclGetRecentErrMsg"));
    const char* const text = message != nullptr ? message() : nullptr;
    throw Failed{{status, function, text != nullptr ? text : ""}};
  }

  [[noreturn]] void Blame(size_t i, const char* what) const {
    throw Failed{{0, call_.op->function, fmt::format("{} {}", call_.op->parameters[i].name, what)}};
  }

  void* Allocate(size_t size) {
    void* memory = nullptr;
    if (size == 0) return memory;
    Check(PORTACL_FIND(aclrtMalloc)(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    memory_.push_back(memory);
    return memory;
  }

  void Fill(size_t i, Handle& handle) {
    CallArgument& argument = call_.arguments[i];
    device_.push_back(nullptr);
    if (argument.null) return;
    const Role role = call_.op->parameters[i].role;
    handle.real = argument.real;
    if (IsTensor(role)) {
      handle.tensor = MakeTensor(i);
    } else if (role == Role::kInts) {
      static_cast<void>(PORTACL_FIND(aclDestroyIntArray));
      handle.ints =
          PORTACL_FIND(aclCreateIntArray)(argument.integers.data(), argument.integers.size());
    } else if (role == Role::kMask) {
      static_cast<void>(PORTACL_FIND(aclDestroyBoolArray));
      const auto values = std::make_unique<bool[]>(argument.integers.size() + 1);
      for (size_t k = 0; k < argument.integers.size(); ++k) values[k] = argument.integers[k] != 0;
      handle.bools = PORTACL_FIND(aclCreateBoolArray)(values.get(), argument.integers.size());
    } else if (role != Role::kReal) {
      handle.integer = argument.integers.at(0);
    }
  }

  aclTensor* MakeTensor(size_t i) {
    ViewTensor& tensor = call_.arguments[i].tensor;
    const std::vector<std::byte>& bytes = tensor.bytes();
    device_[i] = Allocate(bytes.size());
    if (!bytes.empty()) {
      Check(PORTACL_FIND(aclrtMemcpy)(device_[i], bytes.size(), bytes.data(), bytes.size(),
                                      ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
    }
    const int64_t storage = tensor.storage();
    return PORTACL_FIND(aclCreateTensor)(
        tensor.shape().data(), tensor.shape().size(), static_cast<aclDataType>(tensor.dtype()),
        tensor.strides().data(), tensor.offset(), FormatOf(call_.source.arguments[i].format),
        &storage, 1, device_[i]);
  }

  void CopyBack(size_t i) {
    CallArgument& argument = call_.arguments[i];
    if (device_[i] == nullptr) return;
    std::vector<std::byte>& host = argument.tensor.bytes();
    const std::vector<std::byte> before = host;
    Check(PORTACL_FIND(aclrtMemcpy)(host.data(), host.size(), device_[i], host.size(),
                                    ACL_MEMCPY_DEVICE_TO_HOST),
          "aclrtMemcpy");
    const bool output = call_.op->parameters[i].role == Role::kOutput;
    if (!output && host != before) Blame(i, "is an input, but was written");
    if (!argument.wanted && host != before) Blame(i, "is left out by the mask, but was written");
    if (output && !argument.tensor.OutsideIsIntact()) Blame(i, "was written outside its view");
  }

  const FindFunction& find_;
  aclrtStream stream_;
  Call& call_;
  std::vector<Handle> handles_;
  std::vector<void*> device_, memory_;
};

}  // namespace

AclnnCaller::AclnnCaller(FindFunction find) : find_(std::move(find)) {
  std::vector<const char*> missing;
  std::copy_if(std::begin(kNeeded), std::end(kNeeded), std::back_inserter(missing),
               [this](const char* name) { return find_(name) == nullptr; });
  if (!missing.empty()) {
    throw cli::RuntimeFailure(fmt::format("the library has no {}", fmt::join(missing, ", ")));
  }
  const auto check = [](int status, const char* call) {
    if (status != 0)
      throw cli::RuntimeFailure(fmt::format("{} failed with status {}", call, status));
  };
  check(PORTACL_FIND(aclInit)(nullptr), "aclInit");
  check(PORTACL_FIND(aclrtSetDevice)(0), "aclrtSetDevice");
  check(PORTACL_FIND(aclrtCreateStream)(&stream_), "aclrtCreateStream");
}

AclnnCaller::~AclnnCaller() {
  static_cast<void>(PORTACL_FIND(aclrtDestroyStream)(stream_));
  static_cast<void>(PORTACL_FIND(aclrtResetDevice)(0));
  static_cast<void>(PORTACL_FIND(aclFinalize)());
}

AclnnOutcome AclnnCaller::Run(Call& call) {
  const auto* const operation = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& o) { return std::strcmp(o.function, call.op->function) == 0; });
  // Only portacl has profiles.
  using SetProfile = int32_t(const char*);
  if (void* const set = find_("portaclSetProfile")) {
    reinterpret_cast<SetProfile*>(set)(call.source.profile.empty() ? "open"
                                                                   : call.source.profile.c_str());
  }
  try {
    Execution(find_, stream_, call).Run(*operation);
  } catch (const Failed& failed) {
    return failed.outcome;
  }
  return {};
}

}  // namespace portacl::golden
