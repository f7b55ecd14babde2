// Which results must be equal, and which must be near.
#include "campaign/verdict.h"

#include <cstring>

#include "aclnn/aclnn_base.h"
#include "portacl/portacl.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/nearest_oracle.h"
#include "support/api/thread_pools.h"

namespace portacl_test {
namespace {

std::string Text(const testing::AssertionResult& result) {
  return result ? std::string() : std::string(result.message());
}

std::string Near(Operator op, const Tensor& got, const std::vector<ExactSum>& want) {
  return Text(WithinTolerance(op, got, want));
}

// Compares with a second implementation of the rules: bits if they are part of the contract, else
// exact sums.
std::string AgainstOracle(const CampaignCase& c, const std::vector<Tensor>& got) {
  switch (c.op) {
    case CampaignOp::kNearest:
      return Text(BitIdentical(got[0], NearestForward(c.inputs[0], got[0].shape(), c.scales)));
    case CampaignOp::kNearestBackward:
      return Text(BitIdentical(got[0], NearestBackward(c.inputs[0], got[0].shape(), c.scales)));
    case CampaignOp::kGrid:
      if (!c.finite) return "";
      return Near(Operator::kGridSampler, got[0], GridForward(c.inputs[0], c.inputs[1], c.mode));
    case CampaignOp::kGridBackward:
      break;
  }
  const Tensor* const input_grad = c.want_input_grad ? got.data() : nullptr;
  const Tensor* const grid_grad = c.want_grid_grad ? &got.back() : nullptr;
  if (c.inputs[1].shape()[1] == 0 && grid_grad != nullptr) {  // without channels: 0 at any point
    Tensor zeros(c.element, grid_grad->shape());
    return Text(BitIdentical(*grid_grad, zeros.Fill(0.0)));
  }
  std::string wrong;
  if (c.mode.interpolation != kBicubic) {
    const GridBits bits = GridBackwardBits(c.inputs[0], c.inputs[1], c.inputs[2], c.mode);
    if (input_grad != nullptr) wrong += Text(BitIdentical(*input_grad, bits.input_grad));
    if (grid_grad != nullptr) wrong += Text(BitIdentical(*grid_grad, bits.grid_grad));
  }
  if (!c.finite || !wrong.empty()) return wrong;
  const GridGradients exact = GridBackward(c.inputs[0], c.inputs[1], c.inputs[2], c.mode);
  constexpr Operator kOp = Operator::kGridSamplerBackward;
  if (input_grad != nullptr) wrong += Near(kOp, *input_grad, exact.input_grad);
  if (grid_grad != nullptr) wrong += Near(kOp, *grid_grad, exact.grid_grad);
  return wrong;
}

// The same answer and the same bits, and nothing written beside the outputs.
std::string Compare(const Outcome& got, const Outcome& want) {
  if (got.code != want.code) {
    return "answers " + std::to_string(got.code) + " (" + got.message + "), wanted " +
           std::to_string(want.code);
  }
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    if (!got.outputs[i].GuardsIntact()) return "memory beside output " + std::to_string(i);
    const std::string wrong = Text(BitIdentical(got.outputs[i], want.outputs[i]));
    if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

std::string Prefixed(const std::string& prefix, const std::string& wrong) {
  return wrong.empty() ? wrong : prefix + ": " + wrong;
}

}  // namespace

Judge::Judge() : impls_(AvailableImpls()) {
  portaclSetProfile("open");
  portaclSetNumThreads(1);
  if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream_) != ACL_SUCCESS) {
    stream_ = nullptr;
  }
}

Judge::~Judge() {
  aclrtDestroyStream(stream_);
  aclrtResetDevice(0);
}

Outcome Judge::Run(Entry entry, const CampaignCase& c) {
  ++runs_;
  return RunEntry(entry, c, stream_);
}

std::string Judge::Try(const CampaignCase& c) {
  if (c.overlaps) return TryOverlap(c);
  const Outcome want = Run(Entry::kNative, c);
  if (want.code != PORTACL_OK) {
    return "native: answers " + std::to_string(want.code) + ": " + want.message;
  }
  for (const Tensor& output : want.outputs) {
    if (!output.GuardsIntact()) return "native: memory beside an output is written";
  }
  ++accepted_[NameOf(Entry::kNative)];
  std::string wrong = Prefixed("native", AgainstOracle(c, want.outputs));
  if (wrong.empty()) wrong = TryKernels(c, want);
  if (wrong.empty()) wrong = TryPools(c, want);
  if (wrong.empty()) wrong = TryEntries(c, want);
  return wrong;
}

// An output over an input is refused and nothing is written.
std::string Judge::TryOverlap(const CampaignCase& c) {
  for (const Tensor& output : c.outputs) {
    if (output.size() == 0 || c.inputs[0].size() == 0) return "";
  }
  const bool reads_first =
      c.op != CampaignOp::kGridBackward || c.want_input_grad || c.mode.interpolation != kNearest;
  if (c.outputs.empty() || !reads_first) return "";
  const LineBytes before = c.inputs[0].bytes();
  const Outcome outcome = Run(Entry::kNative, c);
  if (outcome.code != PORTACL_ERROR_INVALID) {
    return "an output over an input: answers " + std::to_string(outcome.code);
  }
  return before == c.inputs[0].bytes() ? "" : "a refused call has written";
}

std::string Judge::TryEntries(const CampaignCase& c, const Outcome& want) {
  for (const Entry entry : {Entry::kAclnn, Entry::kByName}) {
    if (!CanExpress(entry, c)) continue;
    const Outcome got = Run(entry, c);
    // The two-phase API has limits of its own: a refusal is no other result.
    if (entry == Entry::kAclnn && got.code == ACLNN_ERR_PARAM_INVALID) continue;
    ++accepted_[NameOf(entry)];
    const std::string wrong = Compare(got, want);
    if (!wrong.empty()) return Prefixed(NameOf(entry), wrong);
  }
  return "";
}

std::string Judge::TryKernels(const CampaignCase& c, const Outcome& want) {
  std::string wrong;
  for (const std::string& impl : impls_) {
    portaclSetImpl(impl.c_str());
    for (const int threads : {1, 2, 3, 7}) {
      portaclSetNumThreads(threads);
      const Outcome got = Run(Entry::kNative, c);
      if (got.code == PORTACL_ERROR_NO_KERNEL) continue;  // of a family that does not do it
      wrong = Prefixed(impl + ", " + std::to_string(threads) + " threads", Compare(got, want));
      if (!wrong.empty()) break;
    }
    if (!wrong.empty()) break;
  }
  portaclSetImpl(nullptr);
  portaclSetNumThreads(1);
  return wrong;
}

std::string Judge::TryPools(const CampaignCase& c, const Outcome& want) {
  portaclSetNumThreads(0);
  OneThreadPool backwards(5);
  OddOrderPool odd(3);
  std::string wrong;
  static_cast<void>(portacl::set_thread_pool(backwards));
  wrong = Prefixed("a pool of one thread", Compare(Run(Entry::kNative, c), want));
  if (wrong.empty() && runs_ % 4 == 0) {  // it makes a thread for every task
    static_cast<void>(portacl::set_thread_pool(odd));
    wrong = Prefixed("a pool in odd order", Compare(Run(Entry::kNative, c), want));
  }
  static_cast<void>(portacl::reset_thread_pool());
  portaclSetNumThreads(1);
  return wrong;
}

}  // namespace portacl_test
