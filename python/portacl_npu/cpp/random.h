// Random numbers of the device, drawn by PyTorch's CPU kernels.
//
// The device's generator gives its position (seed and offset), and a CPU kernel draws from a
// generator that is seeded with this pair. So torch.npu.manual_seed and the generator's states work
// as usual. PORTACL_NPU_RANDOM=cpu: PyTorch's CPU generator instead, so that a program has the
// numbers of the same program on the CPU.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <mutex>
#include <optional>

namespace portacl_npu {

// The generator that torch.npu.default_generators holds for a device.
void SetDefaultGenerator(int device, c10::GeneratorImpl* generator);

// A CPU generator for the next numbers of a generator of the device.
at::Generator NextNumbers(at::Generator generator);

// The same of the device's default generator; none where the CPU's own is wanted.
std::optional<at::Generator> NextDefaultNumbers(c10::Device device);

// For kernels that take no generator: while one lives, the CPU's default generator draws the next
// numbers of the device; one call at a time.
class BorrowedDefaultGenerator {
 public:
  explicit BorrowedDefaultGenerator(c10::Device device);
  ~BorrowedDefaultGenerator();
  BorrowedDefaultGenerator(const BorrowedDefaultGenerator&) = delete;
  BorrowedDefaultGenerator& operator=(const BorrowedDefaultGenerator&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  at::Tensor saved_;
};

}  // namespace portacl_npu
