// A checked call: its tensors, its kernel and its workspace. A plan does not change once it is
// made. Many threads may run it at a time, each with its own addresses and workspace. CallTimer
// measures how plans are made and run.
#ifndef PORTACL_OPS_PLAN_H_
#define PORTACL_OPS_PLAN_H_

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "base/kernel.h"
#include "base/status.h"
#include "base/tensor_desc.h"
#include "cuda/library.h"
#include "ops/call.h"
#include "ops/settings.h"
#include "runtime/observers.h"
#include "runtime/trace.h"

namespace portacl::ops {

// Returns the GPU that computes this thread's call through `surface`, or cuda::kCpu. Devices of the
// ACL API are CPUs.
inline int32_t DeviceOf(Surface surface) {
  return surface == Surface::kNative ? cuda::ThreadDevice() : cuda::kCpu;
}

// Refuses a call because CUDA reported an error (other than too little memory).
inline base::Status RefuseCuda(const Refusals& refusals, const char* error) {
  return {ACLNN_ERR_INNER, fmt::format("{}: CUDA: {}", refusals.op(), error)};
}

template <class Params>
class PlannedKernel;

// The most tensors of an operator in src/ops. Calls with more tensors cost an allocation.
inline constexpr int kMaxTensors = 11;

// One value for each tensor of a call.
template <class T>
class PerTensor {
 public:
  T& operator[](size_t at) { return at < kMaxTensors ? first_[at] : others_[at - kMaxTensors]; }
  const T& operator[](size_t at) const {
    return at < kMaxTensors ? first_[at] : others_[at - kMaxTensors];
  }
  // Makes room for `count` values and keeps the present ones.
  void Grow(int count) {
    if (count > kMaxTensors) others_.resize(static_cast<size_t>(count - kMaxTensors));
  }

 private:
  std::array<T, kMaxTensors> first_{};
  std::vector<T> others_;
};

// Addresses of a call's tensors, inputs first. Storages: the starts of storages, as callers give
// them and checks use them. Elements: element (0, 0, ...) of each tensor, as kernels use it.
struct Storages : PerTensor<void*> {};
struct Elements : PerTensor<void*> {};

// The bytes [begin, end) of a view, counted from the start of its storage.
struct ByteSpan {
  int64_t begin = 1;  // begin > end: 64 bits do not hold the span
  int64_t end = 0;
  bool known() const { return begin <= end; }
};

// One tensor parameter of a call.
struct TensorSlot {
  TensorSlot(const char* its_name, const base::TensorDesc& its_desc, bool is_output, bool is_active,
             bool is_updated);

  const char* name;
  base::TensorDesc desc;
  bool output;
  bool active;   // false: neither read nor written, e.g. masked out
  bool updated;  // an output that is also read
  bool nonempty;
  bool dense;                                        // has elements, in order and without gaps
  int64_t elements;                                  // -1: 64 bits do not hold the number
  ByteSpan span{};                                   // only if it has elements
  int64_t storage_bytes = -1;                        // -1: negative, or above 64 bits
  std::shared_ptr<base::TensorDesc> found{};         // caller's view; a run sets its shape
  std::unique_ptr<const base::TensorDesc> packed{};  // caller's view if `desc` views it as bytes

  bool has_elements() const { return nonempty; }
  bool HasAtMost(int64_t most) const { return elements >= 0 && elements <= most; }
};

// A call's arguments except tensors, for the log of calls. Arguments of one form are in the order
// of the signature.
struct LoggedNumbers {
  explicit LoggedNumbers(const Call& call);
  LoggedNumbers() = default;

  std::array<double, 3> reals{};
  std::array<int64_t, 3> integers{};
  std::array<int64_t, 2> choices{};  // positions of the words
  std::array<bool, 2> flags{};
  std::array<std::array<int64_t, 4>, 4> lists{};  // of integers: the last four; missing ones are 1
};

class Plan {
 public:
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Runs this plan, or its parts, as one call of the runtime: one team of threads runs all loops.
  // Each part has its own elements. Returns when the result is there.
  base::Status RunCall(std::span<const Elements> elements, void* workspace) const noexcept;

  // Checks values of tensors, which are known only when the work runs. The native API refuses wrong
  // values. On a stream, wrong values give an error in strict mode, else a warning in the log.
  virtual base::Status CheckContents(const Elements& /*elements*/) const { return {}; }

  // Computes with these elements. Returns when the result is there.
  virtual void Run(const Elements& elements, void* workspace) const noexcept = 0;
  // Like Run(), for plans that can fail while they run.
  virtual base::Status TryRun(const Elements& elements, void* workspace) const noexcept {
    Run(elements, workspace);
    return {};
  }

  // Returns the plans of a call on lists of tensors, one per member; empty for other calls. They
  // run in this order instead of Run(), at their planned addresses, and need no workspace.
  virtual std::span<const std::shared_ptr<const Plan>> parts() const { return {}; }

  // The aclnn function that names this call in the log of calls, whichever API was called. Null if
  // the log leaves the call out, or if there is no log of calls.
  const Signature* logged() const { return logged_; }
  const LoggedNumbers& logged_numbers() const { return *logged_numbers_; }  // if logged()

  // The GPU that has the tensors and computes, or cuda::kCpu.
  int32_t device() const { return device_; }

  const char* op() const { return refusals_.op(); }
  // Makes codes and messages of this call's failures.
  const Refusals& refusals() const { return refusals_; }
  const std::string& kernel() const { return kernel_; }
  uint64_t workspace_size() const { return workspace_size_; }
  // True if the calling thread does the work faster than it can hand the work over.
  bool small() const { return small_; }
  int num_tensors() const { return static_cast<int>(tensors_.size()); }
  const TensorSlot& tensor(int index) const { return tensors_[static_cast<size_t>(index)]; }
  // The tensor inputs and outputs of the signature, and the index of each in tensor(). A tensor
  // that is updated in place is the first input and the first output.
  int num_inputs() const { return num_inputs_ + (in_place_ ? 1 : 0); }
  int num_outputs() const { return num_tensors() - num_inputs_; }
  int input(int index) const {
    if (!in_place_) return index;
    return index == 0 ? num_inputs_ : index - 1;
  }
  int output(int index) const { return num_inputs_ + index; }
  // Shapes, dtype and kernel in one line, for logs and traces.
  std::string Describe() const;

  // Checks the rules on memory for other storages than the planned ones.
  // Views are checked already.
  base::Status CheckAddresses(const Storages& storages) const;
  // Checks the rules that concern one tensor only: not null, and room in a known allocation.
  base::Status CheckAddress(int index, const void* storage) const;
  Storages PlannedStorages() const;
  // Returns true if a planned address is null and a run needs it. The caller must set it later.
  bool LacksAddress() const;
  // Says how a caller's view differs from the planned view, in words of base::LayoutDifference().
  std::string LayoutDifference(int index, const base::TensorDesc& given) const;
  // Returns null for a tensor that is neither read nor written. The storages must be checked.
  Elements ElementsAt(const Storages& storages) const;

 protected:
  Plan(const char* op, Surface surface) : refusals_(op, surface), device_(DeviceOf(surface)) {}
  explicit Plan(const Call& call);
  // Adds a tensor; inputs come first. `updated`: an output that is also read.
  TensorSlot& AddTensor(const char* name, const base::TensorDesc& desc, bool output, bool active,
                        bool updated = false);
  // Adds every tensor of the call. Null tensors are not active.
  void AddTensors(const Call& call);
  // Checks the rules on memory that all operators share, at the planned addresses.
  base::Status CheckMemory() const;
  // Chooses the kernel and keeps its name and workspace. The plan is small if the first tensor and
  // the first output together have at most `small_elements` elements. Defined in kernels.h.
  template <class Params, class Kernels>
  base::Status Choose(const Kernels& kernels, const Params& params, int64_t small_elements,
                      PlannedKernel<Params>* kernel);
  // True if no output has an element; true if no tensor has more than `elements` elements.
  bool WritesNothing() const;
  bool HasAtMost(int64_t elements) const;
  // For CheckContents(): text() says what is wrong in a tensor. The native API refuses the call. On
  // a stream it gives a warning: the text, then `instead` (what happens instead).
  template <class Text>
  base::Status RefuseContents(const Text& text, const char* instead) const {
    try {
      if (refusals_.surface() == Surface::kNative) {
        return refusals_.Refuse(Rule::kInput, "{}", text());
      }
      return refusals_.Warn(Rule::kInput, text() + instead);
    } catch (const std::bad_alloc&) {
      // On a stream, the work goes on without its warning.
      if (Strict() || refusals_.surface() == Surface::kNative) throw;
    }
    return {};
  }

  // Sets a flag of the logged function that the called API does not have.
  void LogFlag(size_t index, bool value) {
    if (logged_numbers_ != nullptr) logged_numbers_->flags[index] = value;
  }
  // Keeps a call out of the log that no function of the aclnn API can repeat.
  void LeaveOutOfTheLog() { logged_ = nullptr; }

  std::string kernel_ = "none";
  uint64_t workspace_size_ = 0;
  bool small_ = true;
  // An output may have exactly an input's view: the kernel reads element i before it writes it, and
  // reads it for no other element.
  bool may_be_input_ = false;
  bool may_alias_ = false;       // outputs may overlap inputs and other outputs
  bool any_address_ = false;     // addresses need not be multiples of the element size
  bool late_addresses_ = false;  // planned addresses may be null; a run's addresses may not
  bool in_place_ = false;        // the signature's first input is also the output
  // Runs on the calling thread, because the library that computes has its own threads.
  bool own_threads_ = false;

 private:
  template <class Check>
  base::Status ForTensors(const Check& check) const;
  template <class StorageOf>
  base::Status CheckOverlap(const StorageOf& storage) const;
  base::Status CheckPlace(int index, const void* storage) const;
  uint64_t Kind() const;

  const Refusals refusals_;
  const int32_t device_;
  const Signature* logged_ = nullptr;
  std::unique_ptr<LoggedNumbers> logged_numbers_;
  int num_inputs_ = 0;
  std::vector<TensorSlot> tensors_;
};

// ---- rules on memory, also for plans of several calls -------------------------------------------

// Refuses an output with two indices for one place in memory. `name` is the output's name.
base::Status CheckOwnPlaces(const Refusals& refusals, const char* name,
                            const base::TensorDesc& output);

// Returns the refusal of an output called `name` that overlaps `other`.
base::Status OverlapError(const Refusals& refusals, const char* name, const std::string& other);

// Refuses a workspace that is smaller than planned.
base::Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size);

// Checks the workspace's address and size, and how much of its allocation follows (if known).
base::Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size);

// Refuses null, which means no memory. For APIs that allocate the workspace themselves.
base::Status CheckOwnWorkspace(const Plan& plan, const void* workspace);

// ---- times of the phases ------------------------------------------------------------------------

// Measures a phase of a call for the log (level debug), for the log of calls and for the timeline
// (PORTACL_TRACE). Constructed at the beginning of a phase; gets the plan at the end.
class CallTimer {
 public:
  CallTimer() {
    if (runtime::Observed()) Begin();
  }
  // Reports phase 1 on the calling thread's row of the timeline. `kept`: the plan was made before.
  void Planned(const Plan& plan, bool kept = false) const {
    End("plan", plan, {.trace = trace_}, kept ? " (kept)" : "");
  }
  void Ran(const Plan& plan) const { End("kernel", plan, {.trace = trace_, .call = calls_}); }
  // Reports phase 2. The runtime itself writes phase 2 into the timeline, on the stream's row.
  void RanOnStream(const Plan& plan) const { End("kernel", plan, {.call = calls_}); }

 private:
  // Reports that this phase makes besides the debug log.
  struct Wanted {
    bool trace = false, call = false;
  };
  void Begin();
  void End(const char* phase, const Plan& plan, Wanted wanted,
           const char* note = "") const noexcept;

  bool log_ = false;
  bool calls_ = false;
  bool trace_ = false;
  runtime::TraceTime begin_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PLAN_H_
