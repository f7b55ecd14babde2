// portacl's kernels in PyTorch's dispatcher, called without Python: a call on small tensors costs
// little more than its computation. They use the C functions of PyTorch's stable ABI, which are
// looked up in the process: nothing here is compiled or linked against PyTorch.
#ifndef PORTACL_PYTHON_TORCH_KERNELS_H_
#define PORTACL_PYTHON_TORCH_KERNELS_H_

#include <string>
#include <vector>

namespace portacl_python {

// Looks for PyTorch's stable C functions in the loaded library of that file name. Returns "", or
// why they cannot be used (an older PyTorch). Must be "" before a TorchKernels is made.
std::string FindTorch(const std::string& library);

// Looks for PyTorch's own kernels in that library; false: TorchKernels cannot stand aside.
bool FindStockKernels(const std::string& library);

// During its lifetime, the operators `names` of namespace `space` use this file's kernels on the
// CPU, if it has them. One object at a time for each name. Namespaces: aten, and torchvision if the
// kernels in Python are in namespace portacl_torchvision.
//
// PyTorch removes a kernel from its dispatcher even while threads call it. So a kernel that must
// end meanwhile hands its calls back instead.
class TorchKernels {
 public:
  // Throws std::runtime_error if PyTorch refuses.
  TorchKernels(const std::vector<std::string>& names, const std::string& space);
  ~TorchKernels();
  TorchKernels(const TorchKernels&) = delete;
  TorchKernels& operator=(const TorchKernels&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  // True: from now on calls reach PyTorch's own kernels (see FindStockKernels), and calls of
  // torchvision's operators the kernels in Python. False (the default): they reach portacl's
  // kernels.
  void StandAside(bool aside);

 private:
  void* library_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_TORCH_KERNELS_H_
