// Plans reductions. Floating-point values are summed in double, in chunks. Element i of a chunk is
// added to lane i mod 16; a tree joins the lanes; then the chunks are added in ascending order. The
// sum is rounded once.
#include "companion/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "companion/functions.h"
#include "companion/loop.h"
#include "runtime/parallel.h"

namespace portacl::companion {
namespace {

using base::Dims;
using base::DType;
using base::Status;

constexpr int64_t kChunk = 16 * kBlock;  // elements that one task sums
constexpr int kLanes = 16;

struct Sum {
  template <class A>
  static constexpr A kStart = 0;
  static double Join(double a, double b) { return a + b; }
  static int64_t Join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
template <class A>
bool IsNan(A value) {
  if constexpr (std::is_floating_point_v<A>) {
    return std::isnan(value);
  } else {
    return false;
  }
}
// The maximum; NaN wins.
struct Largest {
  template <class A>
  static constexpr A kStart = std::is_integral_v<A> ? std::numeric_limits<A>::min()
                                                    : -std::numeric_limits<A>::infinity();
  template <class A>
  static A Join(A a, A b) {
    return b > a || IsNan(b) ? b : a;
  }
};
struct Smallest {
  template <class A>
  static constexpr A kStart = std::is_integral_v<A> ? std::numeric_limits<A>::max()
                                                    : std::numeric_limits<A>::infinity();
  template <class A>
  static A Join(A a, A b) {
    return b < a || IsNan(b) ? b : a;
  }
};

class ReductionPlan final : public ops::Plan {
 public:
  ReductionPlan(const Call& call, const Dims& shape, const std::vector<bool>& reduced, DType common)
      : Plan(call.op, call.surface),
        function_(call.function),
        inputs_(Loop(shape)),
        outputs_(Loop(call.out.tensor->shape)) {
    kernel_ = "companion";
    late_addresses_ = call.surface == ops::Surface::kAclnn;
    const bool loss = function_ == Function::kMseLoss;
    truth_ = function_ == Function::kSum && common == DType::kBool;
    integer_ = !loss && !truth_ && ComputeOf(common) == Compute::kInteger;
    compute_ = loss ? ComputeOf(common) : sum_compute();
    if (loss) difference_ = BlockFunctionOf(function_, compute_);
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      AddTensor(call.inputs[i].name, *call.inputs[i].tensor, false, true);
      load_[i] = LoaderOf(call.inputs[i].tensor->dtype, compute_);
      inputs_.Add(*call.inputs[i].tensor);
    }
    AddTensor(call.out.name, *call.out.tensor, true, true);
    outputs_.Add(*call.out.tensor);
    store_ = StorerOf(sum_compute(), call.out.tensor->dtype);
    if (function_ == Function::kSum && !IsFloating(common) && call.out.tensor->dtype != common) {
      wrap_ = StorerOf(sum_compute(), common);
      unwrap_ = LoaderOf(common, sum_compute());
    }
    PutReducedLast(shape, reduced);
    const bool mean = function_ == Function::kMean || (loss && call.reduction == 1);
    divisor_ = mean ? static_cast<double>(terms_) : 1;
    chunks_ = std::max<int64_t>(1, (terms_ + kChunk - 1) / kChunk);
    if (chunks_ > 1) {
      workspace_size_ = static_cast<uint64_t>(outputs_.count() * chunks_ + 1) * sizeof(double);
    }
    small_ = inputs_.count() <= kSmall;
  }

  Status Make() const { return CheckMemory(); }

  void Run(const ops::Elements& elements, void* workspace) const noexcept override {
    switch (function_) {
      case Function::kMax:
        return integer_ ? RunAs<Largest, int64_t>(elements, workspace)
                        : RunAs<Largest, double>(elements, workspace);
      case Function::kMin:
        return integer_ ? RunAs<Smallest, int64_t>(elements, workspace)
                        : RunAs<Smallest, double>(elements, workspace);
      default:
        return integer_ ? RunAs<Sum, int64_t>(elements, workspace)
                        : RunAs<Sum, double>(elements, workspace);
    }
  }

 private:
  Compute sum_compute() const { return integer_ ? Compute::kInteger : Compute::kDouble; }

  void PutReducedLast(const Dims& shape, const std::vector<bool>& reduced) {
    Dims order = shape;
    base::TensorDesc terms;
    terms.shape = shape;
    int next = 0;
    for (const bool last : {false, true}) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const bool own = reduced[static_cast<size_t>(axis)];
        if (last && !own) terms.shape[axis] = 1;
        if (own == last) order[next++] = axis;
      }
    }
    // Without outputs there is nothing to do, and the number of terms may exceed 64 bits.
    terms_ = outputs_.count() == 0 ? 0 : terms.NumElements();
    inputs_.Permute(order);
    inputs_.Coalesce();
    outputs_.Coalesce();
  }

  // Each task computes one chunk of one output.
  template <class Join, class A>
  void RunAs(const ops::Elements& elements, void* workspace) const noexcept {
    const auto address = (reinterpret_cast<uintptr_t>(workspace) + 7) / 8 * 8;
    A* const partial = reinterpret_cast<A*>(address);
    const int64_t grain = std::max<int64_t>(1, kGrain / std::clamp<int64_t>(terms_, 1, kChunk));
    runtime::ParallelFor(outputs_.count() * chunks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t output = task / chunks_;
        const int64_t first = task % chunks_ * kChunk;
        const A value =
            OfChunk<Join, A>(elements, output * terms_ + first, std::min(kChunk, terms_ - first));
        if (chunks_ == 1) {
          Put(elements, output, value);
        } else {
          partial[task] = value;
        }
      }
    });
    if (chunks_ == 1) return;
    runtime::ParallelFor(outputs_.count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t output = begin; output < end; ++output) {
        A total = Join::template kStart<A>;
        for (int64_t k = 0; k < chunks_; ++k) {
          total = Join::Join(total, partial[output * chunks_ + k]);
        }
        Put(elements, output, total);
      }
    });
  }

  template <class Join, class A>
  A OfChunk(const ops::Elements& elements, int64_t start, int64_t count) const noexcept {
    alignas(64) std::array<A, kBlock> values;
    std::array<A, kLanes> lanes;
    lanes.fill(Join::template kStart<A>);
    for (int64_t at = 0; at < count; at += kBlock) {
      const int64_t n = std::min(kBlock, count - at);
      Fetch(elements, start + at, n, values.data());
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = Join::Join(lanes[lane], values[static_cast<size_t>(i) + lane]);
        }
      }
      for (size_t lane = 0; i < n; ++i, ++lane) {
        lanes[lane] = Join::Join(lanes[lane], values[static_cast<size_t>(i)]);
      }
    }
    for (size_t width = kLanes / 2; width > 0; width /= 2) {
      for (size_t lane = 0; lane < width; ++lane) {
        lanes[lane] = Join::Join(lanes[lane], lanes[lane + width]);
      }
    }
    return lanes[0];
  }

  // Reads terms [start, start + count) in the type of the sum.
  template <class A>
  void Fetch(const ops::Elements& elements, int64_t start, int64_t count,
             A* values) const noexcept {
    if (difference_ == nullptr) {
      inputs_.Gather(0, elements[0], load_[0], compute_, start, count, values);
      if (truth_) {
        std::transform(values, values + count, values, [](A value) -> A { return value != 0; });
      }
      return;
    }
    alignas(64) std::array<std::array<std::byte, kBlock * sizeof(double)>, 3> rows;
    for (int i = 0; i < 2; ++i) {
      const auto k = static_cast<size_t>(i);
      inputs_.Gather(i, elements[k], load_[k], compute_, start, count, rows[k].data());
    }
    constexpr double kUnused = 0;
    difference_({count, {rows[0].data(), rows[1].data(), nullptr}, &kUnused, rows[2].data()});
    const bool wide = compute_ == Compute::kDouble;
    LoaderOf(wide ? DType::kDouble : DType::kFloat, sum_compute())(rows[2].data(), SizeOf(compute_),
                                                                   count, values);
  }

  template <class A>
  void Put(const ops::Elements& elements, int64_t output, A value) const noexcept {
    if constexpr (!std::is_integral_v<A>) value /= divisor_;
    if (wrap_ != nullptr) {
      alignas(A) std::array<std::byte, sizeof(A)> wrapped;
      wrap_(&value, wrapped.data(), sizeof wrapped, 1);
      unwrap_(wrapped.data(), sizeof wrapped, 1, &value);
    }
    outputs_.Scatter(0, elements[static_cast<size_t>(num_tensors() - 1)], store_, sum_compute(),
                     output, 1, &value);
  }

  Function function_;
  Loop inputs_;  // kept axes first, then reduced axes
  Loop outputs_;
  bool truth_ = false;                 // true: is any term not 0?
  bool integer_ = false;               // true: sums INT64; false: sums double
  Compute compute_ = Compute::kFloat;  // type of the terms
  BlockFunction difference_ = nullptr;
  std::array<Loader, 2> load_{};
  Storer store_ = nullptr;
  Storer wrap_ = nullptr;  // if out has another type: to the requested type and back
  Loader unwrap_ = nullptr;
  int64_t terms_ = 1;  // terms per output
  int64_t chunks_ = 1;
  double divisor_ = 1;
};

}  // namespace

Status PlanReduction(const Call& call, const Dims& shape, const std::vector<bool>& reduced,
                     DType common, std::shared_ptr<const ops::Plan>* plan) {
  auto made = std::make_shared<ReductionPlan>(call, shape, reduced, common);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::companion
