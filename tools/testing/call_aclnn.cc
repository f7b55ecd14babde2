// Handles from a call's arguments, and the two phases.
#include "tools/testing/call_aclnn.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tools/cli_error.h"
#include "tools/testing/aclnn_signatures.h"
#include "tools/testing/crash_report.h"
#include "tools/testing/device_blocks.h"
#include "tools/testing/fenced_memory.h"
#include "tools/testing/stream_gate.h"

namespace portacl::golden {
namespace {

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

// Functions that every case needs. They are looked up before the first case.
constexpr const char* kNeeded[] = {
    "aclInit",           "aclFinalize",        "aclrtSetDevice",         "aclrtResetDevice",
    "aclrtCreateStream", "aclrtDestroyStream", "aclrtSynchronizeStream", "aclrtMalloc",
    "aclrtFree",         "aclrtMemcpy",        "aclCreateTensor",        "aclDestroyTensor"};
// Functions that kOnTheStream needs.
constexpr const char* kForTheStream[] = {"aclrtLaunchHostFunc", "aclrtMemcpyAsync",
                                         "aclrtMallocHost", "aclrtFreeHost"};

// A single call, as programs make it.
constexpr Hardships kPlain = kDirtyOutputs | kReadAtOnce;
// Where a program's own results may still be on their way.
constexpr std::chrono::milliseconds kAMoment{200};

constexpr const char* kWorkspace = "the workspace";
// What the workspace may be aligned to: as memory that programs allocate for it is.
constexpr size_t kWorkspaceAlignment = 64;

// The word of a mode, for functions that take modes as text. An unknown word if no word has the
// position.
std::string WordAt(const Parameter& mode, int64_t position) {
  const std::vector<std::string> words = ModeWords(mode);
  const bool known = position >= 0 && static_cast<size_t>(position) < words.size();
  return known ? words[static_cast<size_t>(position)] : "unknown";
}

struct Setting {
  const AclnnFunctions& functions;
  aclrtStream stream;
  Hardships hardships;
  DeviceBlocks& blocks;
  bool can_be_watched;
};

// The handles and the device memory of one call.
class Execution {
 public:
  Execution(const Setting& setting, Call& call)
      : setting_(setting), functions_(setting.functions), call_(call) {}
  ~Execution() {
    if (running_) static_cast<void>(EndStream());
    watch_.reset();
    ForgetTensors();
    DestroyHandles();
    if (staged_ != nullptr) PORTACL_FIND(functions_, aclrtFreeHost)(staged_);
    if (repeatable_ != nullptr) PORTACL_FIND(functions_, aclDestroyAclOpExecutor)(repeatable_);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // The library's forbidden act; "" for none.
  std::string Run(const Operation& operation, Timing& timing) {
    const std::string phase1 = std::string(operation.function) + "GetWorkspaceSize";
    void* const plan = functions_.FindOwn(phase1);
    const auto run = reinterpret_cast<Phase2>(functions_.FindOwn(operation.function));
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      handles_.emplace_back();
      Fill(i, handles_.back());
    }
    Phase1Results results;
    const Stopwatch planning;
    functions_.Check(operation.phase1(plan, handles_, results), phase1);
    timing.plan_seconds = planning.Seconds();
    timing.workspace_size = results.workspace_size;
    // Accepted. That is enough: nobody knows what a run of it would do.
    if (call_.source.expect != 0) return "";
    if (Has(kHandlesGone)) DestroyHandles();
    MakeWorkspace(results.workspace_size);
    if (timing.repeat > 1) MakeRepeatable(results.executor);
    WatchMemory();
    WriteInputs();
    timing.Run([&] {
      running_ = true;
      functions_.Check(
          run(workspace_.data, results.workspace_size, results.executor, setting_.stream),
          operation.function);
      functions_.Check(EndStream(), "aclrtSynchronizeStream");
    });
    if (!Has(kReadAtOnce)) std::this_thread::sleep_for(kAMoment);
    LookAround();
    return problems_;
  }

 private:
  bool Has(Hardships hardship) const { return (setting_.hardships & hardship) == hardship; }

  void Blame(const std::string& what) {
    problems_ += fmt::format("{}{}", problems_.empty() ? "" : "; ", what);
  }

  // ---- before phase 1 --------------------------------------------------------------------------

  void Fill(size_t i, Handle& handle) {
    CallArgument& argument = call_.arguments[i];
    device_.emplace_back();
    if (argument.null) return;
    const Role role = call_.op->parameters[i].role;
    handle.real = argument.real;
    if (IsTensor(role)) {
      handle.tensor = MakeTensor(i);
    } else if (role == Role::kInts) {
      static_cast<void>(PORTACL_FIND(functions_, aclDestroyIntArray));
      handle.ints = PORTACL_FIND(functions_, aclCreateIntArray)(argument.integers.data(),
                                                                argument.integers.size());
    } else if (role == Role::kMask) {
      static_cast<void>(PORTACL_FIND(functions_, aclDestroyBoolArray));
      const auto values = std::make_unique<bool[]>(argument.integers.size() + 1);
      for (size_t k = 0; k < argument.integers.size(); ++k) values[k] = argument.integers[k] != 0;
      handle.bools =
          PORTACL_FIND(functions_, aclCreateBoolArray)(values.get(), argument.integers.size());
    } else if (role != Role::kReal) {
      handle.integer = argument.integers.at(0);
      if (role == Role::kMode) handle.word = WordAt(call_.op->parameters[i], handle.integer);
    }
  }

  aclTensor* MakeTensor(size_t i) {
    ViewTensor& tensor = call_.arguments[i].tensor;
    const char* const name = call_.op->parameters[i].name;
    const bool input = call_.op->parameters[i].role == Role::kInput;
    if (input && Has(kDirtySides)) tensor.FillOutside(std::byte{0xFF});
    if (!input && !Has(kDirtyOutputs)) {
      tensor.SetDense(std::vector<std::byte>(tensor.Dense().size(), std::byte{0}));
    }
    const std::vector<std::byte>& bytes = tensor.bytes();
    // An empty tensor has no address.
    if (!bytes.empty()) {
      const Canary canary = !input             ? Canary::kPattern
                            : Has(kDirtySides) ? Canary::kNaN
                                               : Canary::kZero;
      device_[i] =
          setting_.blocks.Take(bytes.size(), std::max<size_t>(tensor.element_size(), 1), canary);
      NoteTensor(name, device_[i].data, bytes.size());
    }
    if (input && Has(kAfterPhase1)) {
      CopyIn(device_[i], std::vector<std::byte>(bytes.size(), std::byte{0xFF}));
    } else {
      CopyIn(device_[i], bytes);
    }
    const int64_t storage = tensor.storage();
    return PORTACL_FIND(functions_, aclCreateTensor)(
        tensor.shape().data(), tensor.shape().size(), static_cast<aclDataType>(tensor.dtype()),
        tensor.strides().data(), tensor.offset(), FormatOf(call_.source.arguments[i].format),
        &storage, 1, device_[i].data);
  }

  void CopyIn(const Fence& fence, const std::vector<std::byte>& bytes) const {
    setting_.blocks.Copy(fence.data, bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  }

  // ---- between the phases ----------------------------------------------------------------------

  void DestroyHandles() {
    for (Handle& handle : handles_) {
      if (handle.tensor != nullptr) PORTACL_FIND(functions_, aclDestroyTensor)(handle.tensor);
      if (handle.ints != nullptr) PORTACL_FIND(functions_, aclDestroyIntArray)(handle.ints);
      if (handle.bools != nullptr) PORTACL_FIND(functions_, aclDestroyBoolArray)(handle.bools);
      handle = {};
    }
  }

  void MakeWorkspace(uint64_t size) {
    if (size == 0) return;
    workspace_ = setting_.blocks.Take(size, kWorkspaceAlignment, Canary::kPattern);
    NoteTensor(kWorkspace, workspace_.data, size);
    CopyIn(workspace_, std::vector<std::byte>(size, std::byte(Has(kDirtyWorkspace) ? 0xFF : 0)));
  }

  void MakeRepeatable(aclOpExecutor* executor) {
    static_cast<void>(PORTACL_FIND(functions_, aclDestroyAclOpExecutor));
    functions_.Check(PORTACL_FIND(functions_, aclSetAclOpExecutorRepeatable)(executor),
                     "aclSetAclOpExecutorRepeatable");
    repeatable_ = executor;
  }

  // Inputs come first, and then the outputs and the workspace.
  void WatchMemory() {
    watched_ = call_.With(Role::kInput);
    inputs_ = watched_.size();
    for (const size_t i : call_.With(Role::kOutput)) watched_.push_back(i);
    std::vector<Fence> fences;
    for (const size_t i : watched_) fences.push_back(device_[i]);
    fences.push_back(workspace_);
    watch_.emplace(fences, Has(kDirtySides), setting_.can_be_watched);
  }

  void WriteInputs() {
    if (Has(kOnTheStream)) return WriteInputsOnTheStream();
    if (Has(kAfterPhase1)) {
      for (const size_t i : call_.With(Role::kInput)) {
        CopyIn(device_[i], call_.arguments[i].tensor.bytes());
      }
    }
    watch_->Freeze(inputs_);
  }

  void WriteInputsOnTheStream() {
    StageInputs();
    const auto launch = [&](aclrtHostFunc function, void* argument) {
      functions_.Check(
          PORTACL_FIND(functions_, aclrtLaunchHostFunc)(setting_.stream, function, argument),
          "aclrtLaunchHostFunc");
    };
    running_ = true;
    launch(StreamGate::Wait, &gate_);
    const auto* from = static_cast<const std::byte*>(staged_);
    for (const size_t i : call_.With(Role::kInput)) {
      const size_t size = device_[i].size;
      if (size == 0) continue;
      functions_.Check(
          PORTACL_FIND(functions_, aclrtMemcpyAsync)(device_[i].data, size, from, size,
                                                     ACL_MEMCPY_HOST_TO_DEVICE, setting_.stream),
          "aclrtMemcpyAsync");
      from += size;
    }
    launch(
        [](void* argument) {
          auto& self = *static_cast<Execution*>(argument);
          self.watch_->Freeze(self.inputs_);
        },
        this);
  }

  // All inputs are staged before the first copy, because the kernel might see this copy before the
  // next input is staged.
  void StageInputs() {
    std::vector<std::byte> all;
    for (const size_t i : call_.With(Role::kInput)) {
      const std::vector<std::byte>& bytes = call_.arguments[i].tensor.bytes();
      if (device_[i].size > 0) all.insert(all.end(), bytes.begin(), bytes.end());
    }
    functions_.Check(
        PORTACL_FIND(functions_, aclrtMallocHost)(&staged_, std::max<size_t>(all.size(), 1)),
        "aclrtMallocHost");
    if (!all.empty()) std::memcpy(staged_, all.data(), all.size());
  }

  // ---- after phase 2 ---------------------------------------------------------------------------

  int32_t EndStream() {
    running_ = false;
    gate_.Open();
    return PORTACL_FIND(functions_, aclrtSynchronizeStream)(setting_.stream);
  }

  // First the touches, as long as they are known, and then the contents.
  void LookAround() {
    const size_t workspace = watched_.size();
    std::vector<Touch> touched(workspace + 1);
    for (size_t k = 0; k <= workspace; ++k) {
      touched[k] = {watch_->FirstTouchBefore(k), watch_->FirstTouchAfter(k)};
    }
    for (size_t k = 0; k < inputs_; ++k) {
      if (const auto byte = watch_->FirstWrite(k)) BlameWrite(watched_[k], *byte);
    }
    watch_.reset();
    for (size_t k = 0; k < workspace; ++k) {
      CopyBack(watched_[k]);
      LookBeside(device_[watched_[k]], call_.op->parameters[watched_[k]].name, touched[k]);
    }
    LookBeside(workspace_, kWorkspace, touched[workspace]);
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

  void CopyBack(size_t i) {
    CallArgument& argument = call_.arguments[i];
    if (device_[i].data == nullptr) return;
    std::vector<std::byte>& host = argument.tensor.bytes();
    const std::vector<std::byte> before = host;
    CopyOut(host, device_[i].data);
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
  }

  void CopyOut(std::vector<std::byte>& bytes, const std::byte* from) const {
    setting_.blocks.Copy(bytes.data(), from, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST);
  }

  // Where the pages beside a tensor were touched first.
  struct Touch {
    std::optional<int64_t> before, after;
  };

  // Memory that was touched and is whole was read.
  void LookBeside(const Fence& fence, const std::string& name, const Touch& touched) {
    if (fence.data == nullptr) return;
    std::vector<std::byte> before(fence.before), after(fence.after);
    CopyOut(before, fence.data - fence.before);
    CopyOut(after, fence.data + fence.size);
    const std::string broken = DescribeBroken(fence, before, after);
    if (!broken.empty()) {
      Blame(name + " " + broken);
    } else if (touched.after) {
      Blame(fmt::format("reads past {}: its end was passed at byte {} of {}", name, *touched.after,
                        fence.size));
    } else if (touched.before) {
      Blame(fmt::format("reads before {}: first at byte {}", name, *touched.before));
    }
  }

  const Setting setting_;
  const AclnnFunctions& functions_;
  Call& call_;
  std::vector<Handle> handles_;
  std::vector<Fence> device_;  // of the arguments
  Fence workspace_;
  std::vector<size_t> watched_;  // arguments: inputs_ inputs, and outputs
  size_t inputs_ = 0;
  std::optional<WatchedMemory> watch_;
  StreamGate gate_;
  void* staged_ = nullptr;  // inputs, in host memory
  bool running_ = false;    // the stream may have work
  aclOpExecutor* repeatable_ = nullptr;
  std::string problems_;
};

AclnnOutcome RunOnce(const Setting& setting, Call& call, Timing& timing) {
  const Operation* const operation = FindOperation(call.op->function);
  if (operation == nullptr) {
    return {-1, "",
            fmt::format("{} is not in the aclnn API", call.op->name)};  // nothing was called
  }
  // Only portacl has profiles.
  if (setting.functions.Has("portaclSetProfile")) {
    setting.functions.Find<int32_t(const char*)>("portaclSetProfile")(
        call.source.profile.empty() ? "open" : call.source.profile.c_str());
  }
  try {
    const std::string problems = Execution(setting, call).Run(*operation, timing);
    if (!problems.empty()) return {0, call.op->function, problems};
  } catch (const Failed& failed) {
    return failed.outcome;
  }
  return {};
}

}  // namespace

AclnnCaller::AclnnCaller(FindFunction find, FindFunction find_own)
    : functions_(std::move(find), std::move(find_own)) {
  std::vector<const char*> missing;
  std::copy_if(std::begin(kNeeded), std::end(kNeeded), std::back_inserter(missing),
               [this](const char* name) { return !functions_.Has(name); });
  if (!missing.empty()) {
    throw cli::RuntimeFailure(fmt::format("the library has no {}", fmt::join(missing, ", ")));
  }
  const auto check = [](int status, const char* call) {
    if (status != 0)
      throw cli::RuntimeFailure(fmt::format("{} failed with status {}", call, status));
  };
  check(PORTACL_FIND(functions_, aclInit)(nullptr), "aclInit");
  check(PORTACL_FIND(functions_, aclrtSetDevice)(0), "aclrtSetDevice");
  check(PORTACL_FIND(functions_, aclrtCreateStream)(&stream_), "aclrtCreateStream");
  constexpr size_t kProbe = 4096;
  void* memory = nullptr;
  check(PORTACL_FIND(functions_, aclrtMalloc)(&memory, kProbe, ACL_MEM_MALLOC_HUGE_FIRST),
        "aclrtMalloc");
  can_be_watched_ = CanBeWatched(memory, kProbe);
  check(PORTACL_FIND(functions_, aclrtFree)(memory), "aclrtFree");
}

AclnnCaller::~AclnnCaller() {
  static_cast<void>(PORTACL_FIND(functions_, aclrtDestroyStream)(stream_));
  static_cast<void>(PORTACL_FIND(functions_, aclrtResetDevice)(0));
  static_cast<void>(PORTACL_FIND(functions_, aclFinalize)());
}

AclnnOutcome AclnnCaller::Run(Call& call, Timing* timing) {
  Timing once;
  DeviceBlocks blocks(functions_, Edge::kBeginning);
  return RunOnce({functions_, stream_, kPlain, blocks, can_be_watched_}, call,
                 timing != nullptr ? *timing : once);
}

std::vector<AclnnOutcome> AclnnCaller::Rehearse(Call& first, Call& second, Hardships hardships) {
  if (!Missing().empty()) hardships &= ~Hardships{kOnTheStream};
  DeviceBlocks blocks(functions_, Edge::kBeginning), others(functions_, Edge::kEnd);
  const bool moves = (hardships & kOtherAddresses) != 0;
  Timing once;
  std::vector<AclnnOutcome> outcomes;
  const auto run = [&](Call& call, DeviceBlocks& memory) {
    outcomes.push_back(
        RunOnce({functions_, stream_, hardships, memory, can_be_watched_}, call, once));
  };
  run(first, blocks);
  if (outcomes[0].status != 0 || (hardships & kSecondCall) == 0) return outcomes;
  blocks.Restart();
  run(second, moves ? others : blocks);
  return outcomes;
}

std::string AclnnCaller::Missing() const {
  std::vector<const char*> missing;
  std::copy_if(std::begin(kForTheStream), std::end(kForTheStream), std::back_inserter(missing),
               [this](const char* name) { return !functions_.Has(name); });
  return fmt::format("{}", fmt::join(missing, ", "));
}

}  // namespace portacl::golden
