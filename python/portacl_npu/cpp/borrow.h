// The tensors of one routed call: the device's become CPU tensors on the same memory, and back.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DeviceGuard.h>

#include <optional>
#include <utility>
#include <vector>

#include "memory.h"

namespace portacl_npu {

class Borrowed {
 public:
  // `flat`: tensors have one axis with all their elements. `versions`: the CPU tensors count their
  // versions, for operators that run on other threads than the call.
  explicit Borrowed(const char* operator_name, bool flat = false, bool versions = false)
      : name_(operator_name), flat_(flat), versions_(versions) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  // Arguments: tensors of the device, alone or in lists, become CPU tensors; so does a device.
  void ToCpu(c10::IValue* value);
  at::Tensor ToCpu(const at::Tensor& t);
  // Results: CPU tensors become tensors of the device. One that was an argument becomes that
  // tensor.
  void ToNpu(c10::IValue* value);
  at::Tensor ToNpu(const at::Tensor& t);
  // What the call did to arguments beyond their elements (out= and resizing).
  void FollowSizes();

  // Makes the call's device current until the end of the call: the device of its tensors, else the
  // requested device, else the current one.
  c10::Device EnterDevice();
  // All work on the device's current stream is done.
  void Synchronize() const { SynchronizeStreamOf(*device_); }

  // Whether a CPU tensor other than a number was among the arguments.
  bool has_host_tensors() const { return has_host_tensors_; }
  // Allows tensors of several devices.
  void AllowSeveralDevices() { several_devices_ = true; }

  struct Pair {
    at::Tensor own;
    at::Tensor cpu;
    const void* host_address;  // of the storage
  };
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  struct LentStorage {
    c10::StorageImpl* own;
    c10::Storage cpu;
  };

  const c10::Storage& CpuStorage(const c10::Storage& own);
  void Reserve(size_t more);
  c10::Storage NpuStorage(const at::Tensor& t);
  at::Tensor OnNpu(c10::Storage storage, const at::Tensor& like) const;

  const char* name_;
  const bool flat_;
  const bool versions_;
  bool several_devices_ = false;
  bool has_host_tensors_ = false;
  std::optional<c10::Device> device_;
  std::optional<c10::Device> wanted_;
  std::vector<LentStorage> storages_;
  std::vector<Pair> pairs_;
  std::vector<c10::TensorImpl*> hosts_;  // arguments that were on the CPU
  c10::OptionalDeviceGuard on_;
};

}  // namespace portacl_npu
