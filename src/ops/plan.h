// A checked call: its tensors, its kernel and its workspace. Immutable once made; any number of
// threads may run it at a time, each with its own addresses and workspace.
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
#include "ops/refusal.h"
#include "ops/settings.h"

namespace portacl::ops {

// The GPU that this thread's call through `surface` is planned for, or cuda::kCpu: devices of the
// ACL API are CPUs.
inline int32_t DeviceOf(Surface surface) {
  return surface == Surface::kNative ? cuda::ThreadDevice() : cuda::kCpu;
}

// A call that CUDA has failed, for another reason than memory.
inline base::Status RefuseCuda(const Refusals& refusals, const char* error) {
  return {ACLNN_ERR_INNER, fmt::format("{}: CUDA: {}", refusals.op(), error)};
}

template <class Params>
class PlannedKernel;

// The most tensors of an operator of this folder; more would cost a call an allocation.
inline constexpr int kMaxTensors = 11;

// One value for each tensor of a call.
template <class T>
class PerTensor {
 public:
  T& operator[](size_t at) { return at < kMaxTensors ? first_[at] : others_[at - kMaxTensors]; }
  const T& operator[](size_t at) const {
    return at < kMaxTensors ? first_[at] : others_[at - kMaxTensors];
  }
  // Makes room for that many. Keeps present values.
  void Grow(int count) {
    if (count > kMaxTensors) others_.resize(static_cast<size_t>(count - kMaxTensors));
  }

 private:
  std::array<T, kMaxTensors> first_{};
  std::vector<T> others_;
};

// Addresses of a call's tensors, inputs first, each once. Callers give addresses of storages, and
// checks see them. Kernels compute from and into addresses of element (0, 0, ...).
struct Storages : PerTensor<void*> {};
struct Elements : PerTensor<void*> {};

// The bytes [begin, end) of a view, counted from its storage's address.
struct ByteSpan {
  int64_t begin = 1;  // behind the end: 64 bits do not hold both
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
  bool active;   // read or written at all; an output that the mask leaves out is not
  bool updated;  // an output that is read as well
  bool nonempty;
  bool dense;                                        // elements in order, without gaps; it has some
  int64_t elements;                                  // -1: more than 64 bits hold
  ByteSpan span{};                                   // if it has elements
  int64_t storage_bytes = -1;                        // -1: negative, or more than 64 bits hold
  std::shared_ptr<base::TensorDesc> found{};         // the caller's view: a run sets its shape
  std::unique_ptr<const base::TensorDesc> packed{};  // the view where `desc` has its bytes

  bool has_elements() const { return nonempty; }
  bool HasAtMost(int64_t most) const { return elements >= 0 && elements <= most; }
};

// A call's arguments except tensors, for the log of calls: by form, in the order of the
// signature.
struct LoggedNumbers {
  explicit LoggedNumbers(const Call& call);
  LoggedNumbers() = default;

  std::array<double, 3> reals{};
  std::array<int64_t, 3> integers{};
  std::array<int64_t, 2> choices{};  // positions of words
  std::array<bool, 2> flags{};
  std::array<std::array<int64_t, 4>, 4> lists{};  // of integers: the last four, behind ones
};

class Plan {
 public:
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Runs this plan, or its parts, as one call of the runtime: one region of threads for all loops.
  // Each part has its own elements. Waits for the result.
  base::Status RunCall(std::span<const Elements> elements, void* workspace) const noexcept;

  // Checks values of tensors, which are known when the work runs. The native API refuses wrong
  // values. In strict mode the stream gets an error; otherwise a warning is logged.
  virtual base::Status CheckContents(const Elements& /*elements*/) const { return {}; }

  // Computes from and into these elements (0, 0, ...). Waits for the result.
  virtual void Run(const Elements& elements, void* workspace) const noexcept = 0;
  // The same for a plan that can fail in its run.
  virtual base::Status TryRun(const Elements& elements, void* workspace) const noexcept {
    Run(elements, workspace);
    return {};
  }

  // For a call on lists: the calls on their members. They run in this order instead of Run(), with
  // the addresses that they were planned with. They need no workspace.
  virtual std::span<const std::shared_ptr<const Plan>> parts() const { return {}; }

  // The aclnn function that names this call in the log, whichever API it came through. Null: the
  // log leaves the call out, or there is no log of calls.
  const Signature* logged() const { return logged_; }
  const LoggedNumbers& logged_numbers() const { return *logged_numbers_; }  // of a logged call

  // The GPU that holds the tensors and computes, or cuda::kCpu.
  int32_t device() const { return device_; }

  const char* op() const { return refusals_.op(); }
  // How a failure of this call is coded and worded.
  const Refusals& refusals() const { return refusals_; }
  const std::string& kernel() const { return kernel_; }
  uint64_t workspace_size() const { return workspace_size_; }
  // So little work that the calling thread does it faster than it can be handed over.
  bool small() const { return small_; }
  int num_tensors() const { return static_cast<int>(tensors_.size()); }
  const TensorSlot& tensor(int index) const { return tensors_[static_cast<size_t>(index)]; }
  // The signature's tensor inputs and outputs, and the tensor of each. A tensor that is updated in
  // place is the first input and the output.
  int num_inputs() const { return num_inputs_ + (in_place_ ? 1 : 0); }
  int num_outputs() const { return num_tensors() - num_inputs_; }
  int input(int index) const {
    if (!in_place_) return index;
    return index == 0 ? num_inputs_ : index - 1;
  }
  int output(int index) const { return num_inputs_ + index; }
  // Shapes, dtype and kernel in one line, for logs and traces.
  std::string Describe() const;

  // The rules on memory (memory_rules.cc), for tensors with other storages than the planned
  // ones.
  base::Status CheckAddresses(const Storages& storages) const;
  // The rules that need only one tensor: not null, and room in a known allocation.
  base::Status CheckAddress(int index, const void* storage) const;
  Storages PlannedStorages() const;
  // Whether a planned address is null that a run needs. It is to come after phase 1.
  bool LacksAddress() const;
  // How a caller's view differs from the planned one, as base::LayoutDifference() says it.
  std::string LayoutDifference(int index, const base::TensorDesc& given) const;
  // Null for a tensor that is not read or written. The storages have passed the checks.
  Elements ElementsAt(const Storages& storages) const;

 protected:
  Plan(const char* op, Surface surface) : refusals_(op, surface), device_(DeviceOf(surface)) {}
  explicit Plan(const Call& call);
  // Inputs first. `updated`: an output that is read as well.
  TensorSlot& AddTensor(const char* name, const base::TensorDesc& desc, bool output, bool active,
                        bool updated = false);
  // Every tensor of the call. A null one is not active.
  void AddTensors(const Call& call);
  // The rules on memory that every operator shares, on the planned addresses: see operators' docs.
  base::Status CheckMemory() const;
  // Chooses the kernel; keeps its name and its workspace. The plan is small if the first tensor and
  // the first output together have at most this many elements. In select_kernel.h.
  template <class Params, class Kernels>
  base::Status Choose(const Kernels& kernels, const Params& params, int64_t small_elements,
                      PlannedKernel<Params>* kernel);
  // Whether no output has an element, and whether no tensor has more than so many.
  bool WritesNothing() const;
  bool HasAtMost(int64_t elements) const;
  // For CheckContents(): text() says what is wrong in a tensor. A call of the native API is
  // refused; a stream gets a warning with `instead` behind the text.
  template <class Text>
  base::Status RefuseContents(const Text& text, const char* instead) const {
    try {
      if (refusals_.surface() == Surface::kNative) {
        return refusals_.Refuse(Rule::kInput, "{}", text());
      }
      return refusals_.Warn(Rule::kInput, text() + instead);
    } catch (const std::bad_alloc&) {
      // Work on a stream goes on without its warning.
      if (Strict() || refusals_.surface() == Surface::kNative) throw;
    }
    return {};
  }

  // A flag of the function that names this call, where the call's own API has none.
  void LogFlag(size_t index, bool value) {
    if (logged_numbers_ != nullptr) logged_numbers_->flags[index] = value;
  }
  // For a call that no function of the aclnn API can repeat.
  void LeaveOutOfTheLog() { logged_ = nullptr; }

  std::string kernel_ = "none";
  uint64_t workspace_size_ = 0;
  bool small_ = true;
  // True if an output may be exactly an input's view: element i is read before it is written, and
  // for no other element.
  bool may_be_input_ = false;
  bool may_alias_ = false;       // outputs may be anywhere in inputs and other outputs
  bool any_address_ = false;     // elements need not lie at multiples of their size
  bool late_addresses_ = false;  // planned addresses may be null, a run's may not
  bool in_place_ = false;        // the output stands in the signature as its first input
  // Runs on the calling thread, because its library has threads of its own.
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

// ---- rules on memory, in memory_rules.cc, for plans of several calls too ------------------------

// Each element of the output called `name` has a place of its own.
base::Status CheckOwnPlaces(const Refusals& refusals, const char* name,
                            const base::TensorDesc& output);

// The output called `name` overlaps `other`.
base::Status OverlapError(const Refusals& refusals, const char* name, const std::string& other);

// Refuses a workspace that is smaller than planned.
base::Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size);

// Also asks the runtime, if it allocated the memory, how much is left behind `workspace`.
base::Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size);

// For APIs that allocate the workspace: null if they could not.
base::Status CheckOwnWorkspace(const Plan& plan, const void* workspace);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PLAN_H_
