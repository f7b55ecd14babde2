// A kernel has a name, a test whether this CPU can run it, and a function that plans a call.
// ops/kernels.cc lists kernels, the best first and "ref" last.
#ifndef PORTACL_BASE_KERNEL_H_
#define PORTACL_BASE_KERNEL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace portacl::base {

// A kernel's decisions for one set of parameters, made once. A run only reads it.
template <class Params>
class KernelPlan {
 public:
  virtual ~KernelPlan() = default;
  KernelPlan(const KernelPlan&) = delete;
  KernelPlan& operator=(const KernelPlan&) = delete;

  // Computes. Allocates nothing and throws nothing. Reads only the views; writes only the output
  // views and the workspace. May run many times, with different addresses.
  virtual void Run(const Params& params, void* workspace) const noexcept = 0;

  // The path that the kernel chose, e.g. "x2"; "" if the kernel has only one.
  const char* path() const { return path_; }
  // Bytes of the workspace, which starts at a multiple of 64. Does not depend on values of a grid.
  uint64_t workspace_size() const { return workspace_size_; }

 protected:
  KernelPlan(const char* path, uint64_t workspace_size)
      : path_(path), workspace_size_(workspace_size) {}

 private:
  const char* path_;
  uint64_t workspace_size_;
};

// Which paths a kernel may take. "": every path that pays. "slab": only this one, whatever it
// costs. "-packed-gathered": every path that pays except "packed", without the variant "gathered".
class PathChoice {
 public:
  constexpr PathChoice(std::string_view text) : text_(text) {}  // NOLINT(*-explicit-*): a text
  constexpr bool ByName() const { return !text_.empty() && text_.front() != '-'; }
  // Returns true if `name` is a path or variant behind a '-'.
  constexpr bool LeavesOut(std::string_view name) const {
    return !text_.empty() && !ByName() && Contains(name);
  }
  // Returns true if the kernel may take the path.
  constexpr bool Allows(std::string_view path) const {
    if (text_.empty()) return true;  // in almost all calls
    return ByName() ? path == text_ : !Contains(path);
  }

 private:
  [[gnu::noinline]] constexpr bool Contains(std::string_view name) const {
    for (std::string_view rest = text_; !rest.empty();) {
      rest.remove_prefix(1);  // '-'
      const size_t end = std::min(rest.find('-'), rest.size());
      if (rest.substr(0, end) == name) return true;
      rest.remove_prefix(end);
    }
    return false;
  }

  std::string_view text_;
};

template <class Params>
struct Kernel {
  const char* name;     // in PORTACL_IMPL and `portacl info`: "avx512", "avx2", "ref"
  bool (*available)();  // returns true if this CPU can run the kernel
  std::span<const char* const> paths;  // paths that PORTACL_IMPL may name
  // Returns null if the kernel does not serve the parameters; then the next kernel in the list is
  // asked. Also returns null if no path that `path` (a text of PathChoice) allows serves them. Sees
  // shapes, strides and dtypes; never dereferences the tensors' addresses.
  std::unique_ptr<const KernelPlan<Params>> (*plan)(const Params& params, std::string_view path);
  // Variants of paths that PORTACL_IMPL may leave out.
  std::span<const char* const> variants = {};
};

// A kernel's plan: the path's name, the workspace, and the path's own plan (one of Ways). A kernel
// with paths derives its plan from this struct and hides kPaths and kVariants by its own.
template <class... Ways>
struct PathPlan {
  static constexpr std::array<const char*, 0> kPaths{};
  static constexpr std::array<const char*, 0> kVariants{};
  const char* path = "";
  uint64_t workspace_size = 0;
  std::variant<Ways...> way;
};

// Makes a kernel of two functions:
//
//   std::optional<Plan> MakePlan(const Params& params, std::string_view path);
//   void RunPlan(const Params& params, const Plan& plan, void* workspace);
//
// Plan derives from a PathPlan.
template <auto kMakePlan, auto kRunPlan, class = decltype(kMakePlan)>
class KernelOf;

template <auto kMakePlan, auto kRunPlan, class Plan, class Params>
class KernelOf<kMakePlan, kRunPlan, std::optional<Plan> (*)(const Params&, std::string_view)> {
 public:
  static constexpr Kernel<Params> Make(const char* name, bool (*available)()) {
    return {name, available, Plan::kPaths, MakePlan, Plan::kVariants};
  }

 private:
  class Made final : public KernelPlan<Params> {
   public:
    explicit Made(Plan&& plan)
        : KernelPlan<Params>(plan.path, plan.workspace_size), plan_(std::move(plan)) {}
    void Run(const Params& params, void* workspace) const noexcept override {
      kRunPlan(params, plan_, workspace);
    }

   private:
    Plan plan_;
  };

  static std::unique_ptr<const KernelPlan<Params>> MakePlan(const Params& params,
                                                            std::string_view path) {
    const auto& paths = Plan::kPaths;
    if (PathChoice(path).ByName() && std::find(paths.begin(), paths.end(), path) == paths.end()) {
      return nullptr;
    }
    std::optional<Plan> plan = kMakePlan(params, path);
    if (!plan) return nullptr;
    return std::make_unique<const Made>(*std::move(plan));
  }
};

inline bool OnEveryCpu() { return true; }

// The kernel "ref" with a workspace of kBytes(params). INT64_MAX: "ref" cannot serve the call.
template <class Params, void (*kRun)(const Params&, void*), int64_t (*kBytes)(const Params&)>
class ReferenceIn {
  using Plan = PathPlan<std::monostate>;
  static std::optional<Plan> MakePlan(const Params& params, std::string_view) {
    const int64_t bytes = kBytes(params);
    if (bytes == INT64_MAX) return std::nullopt;
    return Plan{.workspace_size = static_cast<uint64_t>(bytes), .way = {}};
  }
  static void RunPlan(const Params& params, const Plan&, void* workspace) {
    kRun(params, workspace);
  }

 public:
  static constexpr Kernel<Params> Make() {
    return KernelOf<&MakePlan, &RunPlan>::Make("ref", OnEveryCpu);
  }
};

// The kernel "ref" of a function that needs no workspace.
template <class Params, void (*kRun)(const Params&)>
class ReferenceOf {
  static int64_t Bytes(const Params&) { return 0; }
  static void Run(const Params& params, void*) { kRun(params); }

 public:
  static constexpr Kernel<Params> Make() { return ReferenceIn<Params, Run, Bytes>::Make(); }
};

// A path of a kernel. `plan` returns a plan if the path serves the parameters, and if the path pays
// or the user named it. `choice` may leave variants out. `target` holds facts about the kernel.
template <class Params, class Plan, class... Target>
struct PathRow {
  const char* path;
  std::optional<Plan> (*plan)(const Params& params, const PathChoice& choice, Target... target);
};

// Returns the plan of the first path that `choice` allows and that serves the parameters.
template <class Params, class Plan, class... Target, size_t kCount>
std::optional<Plan> FirstPath(const std::array<PathRow<Params, Plan, Target...>, kCount>& rows,
                              const Params& params, const PathChoice& choice, Target... target) {
  for (const auto& row : rows) {
    if (!choice.Allows(row.path)) continue;
    if (std::optional<Plan> plan = row.plan(params, choice, target...)) {
      plan->path = row.path;
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_KERNEL_H_
