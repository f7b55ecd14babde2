// Handles from a call's arguments, and the two phases by the types of each function's signature.
#include "tools/testing/call_aclnn.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "every_aclnnop.h"
#include "tools/cli_error.h"
#include "tools/testing/fenced_memory.h"

namespace portacl::golden {
namespace {

// What a call of one argument becomes.
struct Handle {
  aclTensor* tensor = nullptr;
  aclIntArray* ints = nullptr;
  aclBoolArray* bools = nullptr;
  double real = 0;
  int64_t integer = 0;
  std::string word;
};

struct Phase1Results {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
};

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

// The library's own function of an operator, by FindFunction as AclnnCaller has it.
void* FindOwn(const FindFunction& find, const std::string& name) {
  if (void* const address = find(name.c_str())) return address;
  throw cli::RuntimeFailure(fmt::format("the library has no {}", name));
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

// Of functions that take a mode as text; an unknown one for a position that no word has.
std::string WordAt(const Parameter& mode, int64_t position) {
  const std::vector<std::string> words = ModeWords(mode);
  const bool known = position >= 0 && static_cast<size_t>(position) < words.size();
  return known ? words[static_cast<size_t>(position)] : "unknown";
}

// The handles and the device memory of one call.
class Execution {
 public:
  Execution(const FindFunction& find, const FindFunction& find_own, aclrtStream stream, Call& call)
      : find_(find), find_own_(find_own), stream_(stream), call_(call) {}
  ~Execution() {
    for (const Handle& handle : handles_) {
      if (handle.tensor != nullptr) PORTACL_FIND(aclDestroyTensor)(handle.tensor);
      if (handle.ints != nullptr) PORTACL_FIND(aclDestroyIntArray)(handle.ints);
      if (handle.bools != nullptr) PORTACL_FIND(aclDestroyBoolArray)(handle.bools);
    }
    for (void* const memory : memory_) PORTACL_FIND(aclrtFree)(memory);
    if (repeatable_ != nullptr) PORTACL_FIND(aclDestroyAclOpExecutor)(repeatable_);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // What the library did that it must not; "" for nothing.
  std::string Run(const Operation& operation, Timing& timing) {
    const std::string phase1 = std::string(operation.function) + "GetWorkspaceSize";
    void* const plan = FindOwn(find_own_, phase1);
    const auto run = reinterpret_cast<Phase2>(FindOwn(find_own_, operation.function));
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      handles_.emplace_back();
      Fill(i, handles_.back());
    }
    Phase1Results results;
    const Stopwatch planning;
    Check(operation.call(plan, handles_, results), phase1);
    timing.plan_seconds = planning.Seconds();
    timing.workspace_size = results.workspace_size;
    // Accepted: that is all there is to know, and nobody knows what a run of it would do.
    if (call_.source.expect != 0) return "";
    const Fence workspace = results.workspace_size > 0 ? Allocate(results.workspace_size) : Fence();
    if (timing.repeat > 1) {
      static_cast<void>(PORTACL_FIND(aclDestroyAclOpExecutor));
      Check(PORTACL_FIND(aclSetAclOpExecutorRepeatable)(results.executor),
            "aclSetAclOpExecutorRepeatable");
      repeatable_ = results.executor;
    }
    const std::vector<size_t> inputs = call_.With(Role::kInput);
    std::vector<Fence> kept;
    for (const size_t i : inputs) kept.push_back(device_[i]);
    {
      const ReadOnlyMemory read_only(kept);
      timing.Run([&] {
        Check(run(workspace.data, results.workspace_size, results.executor, stream_),
              operation.function);
        Check(PORTACL_FIND(aclrtSynchronizeStream)(stream_), "aclrtSynchronizeStream");
      });
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (const auto byte = read_only.FirstWrite(k)) BlameWrite(inputs[k], *byte);
      }
    }
    for (size_t i = 0; i < call_.arguments.size(); ++i) CopyBack(i);
    LookBeside(workspace, "the workspace");
    return problems_;
  }

 private:
  void Check(int32_t status, const std::string& function) const {
    if (status == 0) return;
    const auto message =
        reinterpret_cast<decltype(&aclGetRecentErrMsg)>(find_("aclGetRecentErrMsg"));
    const char* const text = message != nullptr ? message() : nullptr;
    throw Failed{{status, function, text != nullptr ? text : ""}};
  }

  void Blame(const std::string& what) {
    problems_ += fmt::format("{}{}", problems_.empty() ? "" : "; ", what);
  }

  void BlameWrite(size_t i, int64_t byte) {
    const char* const name = call_.op->parameters[i].name;
    const std::string known = fmt::format("{} is an input, but", name);
    if (problems_.find(known) != std::string::npos) return;  // noticed by its page already
    if (byte < 0 || byte >= static_cast<int64_t>(device_[i].size)) {
      Blame(known + " memory beside it was written");  // LookBeside() says where
      return;
    }
    Blame(fmt::format("{} byte {} of it was written (element {} of its storage)", known, byte,
                      byte / static_cast<int64_t>(
                                 std::max<size_t>(call_.arguments[i].tensor.element_size(), 1))));
  }

  void Copy(void* to, const void* from, size_t size, aclrtMemcpyKind kind) const {
    if (size > 0) Check(PORTACL_FIND(aclrtMemcpy)(to, size, from, size, kind), "aclrtMemcpy");
  }

  // Between canaries; of size 0 too, of which nobody may write a byte.
  Fence Allocate(size_t size) {
    void* memory = nullptr;
    Check(PORTACL_FIND(aclrtMalloc)(&memory, FencedBytes(size), ACL_MEM_MALLOC_HUGE_FIRST),
          "aclrtMalloc");
    memory_.push_back(memory);
    const Fence fence = FenceIn(memory, size);
    const std::vector<std::byte> before = Canaries(fence.before), after = Canaries(fence.after);
    Copy(fence.data - fence.before, before.data(), before.size(), ACL_MEMCPY_HOST_TO_DEVICE);
    Copy(fence.data + fence.size, after.data(), after.size(), ACL_MEMCPY_HOST_TO_DEVICE);
    return fence;
  }

  void LookBeside(const Fence& fence, const std::string& name) {
    if (fence.data == nullptr) return;
    std::vector<std::byte> before(fence.before), after(fence.after);
    Copy(before.data(), fence.data - fence.before, before.size(), ACL_MEMCPY_DEVICE_TO_HOST);
    Copy(after.data(), fence.data + fence.size, after.size(), ACL_MEMCPY_DEVICE_TO_HOST);
    const std::string broken = DescribeBroken(fence, before, after);
    if (!broken.empty()) Blame(name + " " + broken);
  }

  void Fill(size_t i, Handle& handle) {
    CallArgument& argument = call_.arguments[i];
    device_.emplace_back();
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
      if (role == Role::kMode) handle.word = WordAt(call_.op->parameters[i], handle.integer);
    }
  }

  aclTensor* MakeTensor(size_t i) {
    ViewTensor& tensor = call_.arguments[i].tensor;
    const std::vector<std::byte>& bytes = tensor.bytes();
    // An empty tensor has no address.
    if (!bytes.empty()) device_[i] = Allocate(bytes.size());
    Copy(device_[i].data, bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE);
    const int64_t storage = tensor.storage();
    return PORTACL_FIND(aclCreateTensor)(
        tensor.shape().data(), tensor.shape().size(), static_cast<aclDataType>(tensor.dtype()),
        tensor.strides().data(), tensor.offset(), FormatOf(call_.source.arguments[i].format),
        &storage, 1, device_[i].data);
  }

  void CopyBack(size_t i) {
    CallArgument& argument = call_.arguments[i];
    if (device_[i].data == nullptr) return;
    std::vector<std::byte>& host = argument.tensor.bytes();
    const std::vector<std::byte> before = host;
    Copy(host.data(), device_[i].data, host.size(), ACL_MEMCPY_DEVICE_TO_HOST);
    const std::string name = call_.op->parameters[i].name;
    const auto changed =
        std::mismatch(host.begin(), host.end(), before.begin()).first - host.begin();
    const bool written = changed < static_cast<std::ptrdiff_t>(host.size());
    if (call_.op->parameters[i].role == Role::kInput) {
      if (written) BlameWrite(i, changed);
    } else if (!argument.wanted) {
      if (written) Blame(name + " is left out by the mask, but was written");
    } else if (const auto outside = argument.tensor.FirstWrittenOutside()) {
      Blame(fmt::format("{} was written outside its view: byte {} of its storage", name, *outside));
    }
    LookBeside(device_[i], name);
  }

  const FindFunction& find_;
  const FindFunction& find_own_;
  aclrtStream stream_;
  Call& call_;
  std::vector<Handle> handles_;
  std::vector<Fence> device_;  // of the arguments
  std::vector<void*> memory_;
  aclOpExecutor* repeatable_ = nullptr;
  std::string problems_;
};

}  // namespace

AclnnCaller::AclnnCaller(FindFunction find, FindFunction find_own)
    : find_(std::move(find)), find_own_(find_own ? std::move(find_own) : find_) {
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

AclnnOutcome AclnnCaller::Run(Call& call, Timing* timing) {
  Timing once;
  const auto* const operation = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& o) { return std::strcmp(o.function, call.op->function) == 0; });
  if (operation == std::end(kOperations)) {
    return {-1, "",
            fmt::format("{} is not in the aclnn API", call.op->name)};  // nothing was called
  }
  // Only portacl has profiles.
  using SetProfile = int32_t(const char*);
  if (void* const set = find_("portaclSetProfile")) {
    reinterpret_cast<SetProfile*>(set)(call.source.profile.empty() ? "open"
                                                                   : call.source.profile.c_str());
  }
  try {
    const std::string problems = Execution(find_, find_own_, stream_, call)
                                     .Run(*operation, timing != nullptr ? *timing : once);
    if (!problems.empty()) return {0, call.op->function, problems};
  } catch (const Failed& failed) {
    return failed.outcome;
  }
  return {};
}

}  // namespace portacl::golden
