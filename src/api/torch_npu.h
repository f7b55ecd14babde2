// Imports the Python package portacl_npu, with which whole torch_npu programs run.
#ifndef PORTACL_API_TORCH_NPU_H_
#define PORTACL_API_TORCH_NPU_H_

namespace portacl::api {

// Called at the end of aclInit. If libtorch_npu.so and a Python interpreter are in the process,
// imports portacl_npu, which registers its operators in PyTorch. Looks in this library's install
// tree, then on Python's path. Does nothing in other processes. The caller must hold no lock of
// this library. A failure becomes a Python warning.
void JoinTorchNpu() noexcept;

}  // namespace portacl::api

#endif  // PORTACL_API_TORCH_NPU_H_
