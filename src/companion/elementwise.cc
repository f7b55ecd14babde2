// Plans calls that compute element by element.
#include "companion/elementwise.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "companion/functions.h"
#include "companion/loop.h"
#include "companion/promote.h"
#include "runtime/parallel.h"

namespace portacl::companion {
namespace {

using base::DType;
using base::Status;
using base::TensorDesc;

constexpr int64_t kPiece = 8;  // bytes that are copied as one number

struct alignas(64) Row {
  std::array<std::byte, kBlock * sizeof(double)> bytes;
};

class ElementwisePlan final : public ops::Plan {
 public:
  ElementwisePlan(const Call& call, DType common) : Plan(call.op, call.surface) {
    may_be_input_ = true;
    in_place_ = call.in_place;
    kernel_ = "companion";
    late_addresses_ = call.surface == ops::Surface::kAclnn;
    const TensorDesc& out = *call.out.tensor;
    const bool bits = MovesBits(call);
    const DType stored = bits ? BitsOf(out.dtype) : out.dtype;
    if (bits) common = stored;
    compute_ = ComputeOf(common);
    function_ = BlockFunctionOf(call.function, compute_);
    loop_ = Loop(out.shape);
    num_inputs_read_ = static_cast<int>(call.inputs.size());
    for (int i = 0; i < num_inputs_read_; ++i) AddInput(call, i, bits);
    out_slot_ = num_tensors();
    AddTensor(call.out.name, out, true, true);
    if (call.reads_out) inputs_[0].slot = out_slot_;
    loop_.Add(out);
    loop_.FollowLast();
    loop_.Coalesce();
    out_size_ = base::DTypeSize(out.dtype);
    store_ = StorerOf(compute_, stored);
    if (stored != common && compute_ == Compute::kInteger && call.function != Function::kCopy) {
      wrap_ = StorerOf(compute_, common);
      unwrap_ = LoaderOf(common, compute_);
      wrap_size_ = base::DTypeSize(common);
    }
    if (bits) pieces_ = (out_size_ + kPiece - 1) / kPiece;
    whole_rows_ =
        bits && inputs_[0].slot >= 0 && loop_.IsRow(0, out_size_) && loop_.IsRow(1, out_size_);
    SetFactor(call);
    small_ = loop_.count() <= kSmall;
  }

  Status Make() const { return CheckMemory(); }

  void Run(const ops::Elements& elements, void* /*workspace*/) const noexcept override {
    runtime::ParallelFor(loop_.count(), kGrain,
                         [&](int64_t begin, int64_t end) { RunRange(elements, begin, end); });
  }

 private:
  struct Input {
    int slot = -1;  // -1: a scalar
    Loader load = nullptr;
    std::array<std::byte, 16> value{};  // a scalar's value
  };

  void AddInput(const Call& call, int index, bool bits) {
    const Operand& operand = call.inputs[static_cast<size_t>(index)];
    Input& input = inputs_[static_cast<size_t>(index)];
    if (operand.scalar != nullptr) {
      const auto size = static_cast<size_t>(base::DTypeSize(operand.scalar->dtype));
      std::memcpy(input.value.data(), operand.scalar->value, size);
      const DType dtype = operand.scalar->dtype;
      input.load = LoaderOf(bits ? BitsOf(dtype) : dtype, compute_);
      TensorDesc zero_dim;
      zero_dim.dtype = dtype;
      loop_.Add(zero_dim);
      return;
    }
    input.slot = num_tensors();
    if (!(call.reads_out && index == 0)) AddTensor(operand.name, *operand.tensor, false, true);
    const DType dtype = bits ? BitsOf(operand.tensor->dtype) : operand.tensor->dtype;
    input.load = LoaderOf(dtype, compute_);
    loop_.Add(*operand.tensor);
  }

  // Sets the factor, rounded to the compute type first, as PyTorch does with scalars.
  void SetFactor(const Call& call) {
    double factor = 1;
    if (call.function == Function::kMseLossBackward) {
      factor = call.reduction == 1 ? 2.0 / static_cast<double>(loop_.count()) : 2.0;
      LoaderOf(DType::kDouble, compute_)(&factor, 0, 1, factor_.data());
      return;
    }
    if (!call.alpha) return;
    const Scalar& alpha = *call.alpha->scalar;
    LoaderOf(alpha.dtype, compute_)(alpha.value, 0, 1, factor_.data());
    if (call.function != Function::kSub) return;
    alignas(8) const auto positive = factor_;
    const Block negated{1, {positive.data(), nullptr, nullptr}, positive.data(), factor_.data()};
    BlockFunctionOf(Function::kNeg, compute_)(negated);
  }

  void RunRange(const ops::Elements& elements, int64_t begin, int64_t end) const noexcept {
    const auto address = [&](int slot) {
      return static_cast<char*>(elements[static_cast<size_t>(slot)]);
    };
    if (whole_rows_) {
      std::memmove(address(out_slot_) + begin * out_size_,
                   address(inputs_[0].slot) + begin * out_size_,
                   static_cast<size_t>((end - begin) * out_size_));
      return;
    }
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      ops::Elements moved = elements;
      for (int slot = 0; slot < num_tensors(); ++slot) {
        moved[static_cast<size_t>(slot)] = address(slot) + piece * kPiece;
      }
      RunPiece(moved, piece, begin, end);
    }
  }

  // Computes elements [begin, end), or copies one piece of each. `elements` points to this piece.
  void RunPiece(const ops::Elements& elements, int64_t piece, int64_t begin,
                int64_t end) const noexcept {
    std::array<Row, kMaxInputs> rows;
    for (int i = 0; i < num_inputs_read_; ++i) {
      const Input& input = inputs_[static_cast<size_t>(i)];
      if (input.slot >= 0) continue;
      input.load(input.value.data() + piece * kPiece, 0, kBlock,
                 rows[static_cast<size_t>(i)].bytes.data());
    }
    Row result;
    Row wrapped;
    Block block{};
    block.factor = factor_.data();
    block.out = result.bytes.data();
    for (int64_t at = begin; at < end; at += kBlock) {
      block.count = std::min(kBlock, end - at);
      for (int i = 0; i < num_inputs_read_; ++i) {
        block.in[static_cast<size_t>(i)] = Fetch(i, elements, at, block.count, &rows);
      }
      function_(block);
      if (wrap_ != nullptr) {
        wrap_(result.bytes.data(), wrapped.bytes.data(), wrap_size_, block.count);
        unwrap_(wrapped.bytes.data(), wrap_size_, block.count, result.bytes.data());
      }
      loop_.Scatter(num_inputs_read_, elements[static_cast<size_t>(out_slot_)], store_, compute_,
                    at, block.count, result.bytes.data());
    }
  }

  // Reads elements [at, at + count) of an input in the compute type. Rows of scalars are full.
  const void* Fetch(int index, const ops::Elements& elements, int64_t at, int64_t count,
                    std::array<Row, kMaxInputs>* rows) const noexcept {
    const Input& input = inputs_[static_cast<size_t>(index)];
    std::byte* const row = (*rows)[static_cast<size_t>(index)].bytes.data();
    if (input.slot < 0) return row;
    const void* const from = elements[static_cast<size_t>(input.slot)];
    loop_.Gather(index, from, input.load, compute_, at, count, row);
    return row;
  }

  Compute compute_ = Compute::kFloat;
  BlockFunction function_ = nullptr;
  Loop loop_;
  int num_inputs_read_ = 0;
  std::array<Input, kMaxInputs> inputs_;
  int out_slot_ = 0;
  int64_t out_size_ = 0;
  Storer store_ = nullptr;
  Storer wrap_ = nullptr;  // if the output is wider: to the common type and back
  Loader unwrap_ = nullptr;
  int64_t wrap_size_ = 0;
  int64_t pieces_ = 1;       // pieces per element
  bool whole_rows_ = false;  // copies bits between dense rows
  alignas(8) std::array<std::byte, 8> factor_{};
};

}  // namespace

bool MovesBits(const Call& call) {
  if (call.function != Function::kCopy) return false;
  const DType out = call.out.tensor->dtype;
  const Operand& from = call.inputs[0];
  if (from.tensor != nullptr) return from.tensor->dtype == out;
  return from.scalar->dtype == out && !IsConvertible(out);
}

Status PlanElementwise(const Call& call, DType common, std::shared_ptr<const ops::Plan>* plan) {
  auto made = std::make_shared<ElementwisePlan>(call, common);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::companion
