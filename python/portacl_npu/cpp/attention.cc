// PyTorch asks a function of the device which kernel an attention gets. Without this function an
// attention would be products, copies and a softmax. Each would be a routed call, with as many
// again for the gradient.
#include "attention.h"

#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>

namespace portacl_npu {
namespace {

template <class... Args>
int64_t AsOnCpu(Args... args) {
  const c10::DispatchKeySet cpu(c10::DispatchKey::CPU);  // looks at shapes and types alone
  return at::_ops::_fused_sdp_choice::redispatch(cpu, args...);
}

}  // namespace

void ChooseAttentionAsOnCpu() {
  const at::native::fused_sdp_choice_fn choose = &AsOnCpu;
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(choose);
}

}  // namespace portacl_npu
