// Tensors there and back, without copies: storages change hands.
#include "borrow.h"

#include <torch/csrc/api/include/torch/version.h>

// PyTorch before 2.13 has names of axes. A test for the header would be wrong: the compiler also
// finds the header of another PyTorch in /usr/include, such as Debian's libtorch-dev.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
#include <ATen/NamedTensorUtils.h>
#define PORTACL_NAMED_AXES
#endif
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace portacl_npu {
namespace {

using c10::IValue;
using c10::Storage;
using c10::StorageImpl;

constexpr int kMaxDevices = 64;

bool IsTensorLists(const IValue& value) {
  return value.isList() && !value.toListRef().empty() && value.toListRef()[0].isTensorList();
}

size_t BytesOf(const at::Tensor& t, int64_t offset) {
  return at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.itemsize(), offset);
}

// An empty tensor from the plugin, for each device, and for inference mode. Results are copies of
// it, which costs less than asking the plugin each time.
const at::Tensor& Model(c10::Device device) {
  static auto& models = *new std::array<std::array<at::Tensor, kMaxDevices>, 2>;
  static std::mutex mutex;
  const bool inference = c10::InferenceMode::is_enabled();
  at::Tensor& model = models[inference][static_cast<size_t>(device.index())];
  const std::lock_guard<std::mutex> lock(mutex);
  if (C10_UNLIKELY(!model.defined())) {
    model = at::empty_strided({0}, {1}, at::TensorOptions().device(device));
  }
  return model;
}

void CopyNames([[maybe_unused]] const at::Tensor& from, [[maybe_unused]] const at::Tensor& to) {
#ifdef PORTACL_NAMED_AXES
  if (C10_LIKELY(!from.has_names())) return;
  at::impl::internal_set_names_inplace(to.unsafeGetTensorImpl(), from.names(),
                                       /*validate_names=*/false);
#endif
}

}  // namespace

c10::Device Borrowed::EnterDevice() {
  const c10::Device current = c10::impl::getDeviceGuardImpl(kNpu)->getDevice();
  if (!device_) device_ = wanted_ && wanted_->has_index() ? *wanted_ : current;
  if (*device_ != current) on_.reset_device(*device_);
  return *device_;
}

const Storage& Borrowed::CpuStorage(const Storage& own) {
  for (const LentStorage& each : storages_) {
    if (each.own == own.unsafeGetStorageImpl()) return each.cpu;
  }
  void* const address = HostAddress(own.mutable_data(), own.nbytes());
  auto impl = c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), own.nbytes(),
                                               HoldStorage(address, own, c10::Device(c10::kCPU)),
                                               LendingAllocator(), /*resizable=*/true);
  storages_.push_back({own.unsafeGetStorageImpl(), Storage(std::move(impl))});
  return storages_.back().cpu;
}

at::Tensor Borrowed::ToCpu(const at::Tensor& t) {
  if (!t.defined()) return t;
  if (t.device().type() != kNpu) {
    has_host_tensors_ |= t.dim() > 0;
    hosts_.push_back(t.unsafeGetTensorImpl());
    return t;
  }
  if (device_ && *device_ != t.device()) {
    TORCH_CHECK(several_devices_,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                *device_, " and ", t.device(), "! (", name_, ")");
    SynchronizeStreamOf(*device_);
  }
  device_ = t.device();
  const Storage& storage = CpuStorage(t.storage());
  const void* const address = storage.data();
  // As a view it has no version, which would be one more allocation, and nothing for autograd.
  constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);
  at::Tensor result =
      versions_ ? at::detail::make_tensor<c10::TensorImpl>(Storage(storage), kCpu, t.dtype())
                : at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, Storage(storage),
                                                           kCpu, t.dtype());
  auto* const impl = result.unsafeGetTensorImpl();
  if (flat_) {
    impl->set_sizes_and_strides(std::array<int64_t, 1>{t.numel()}, std::array<int64_t, 1>{1},
                                t.storage_offset());
  } else {
    impl->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  }
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (t.is_conj()) impl->_set_conj(true);
  if (t.is_neg()) impl->_set_neg(true);
  CopyNames(t, result);
  pairs_.push_back({t, result, address});
  return result;
}

// Room for the tensors of a list.
void Borrowed::Reserve(size_t more) {
  pairs_.reserve(pairs_.size() + more);
  storages_.reserve(storages_.size() + more);
}

void Borrowed::ToCpu(IValue* value) {
  if (value->isTensor()) {
    *value = ToCpu(value->toTensor());
  } else if (value->isTensorList()) {
    const auto own = value->toListRef();
    c10::List<at::Tensor> list;
    list.reserve(own.size());
    Reserve(own.size());
    for (const IValue& each : own) list.push_back(ToCpu(each.toTensor()));
    *value = std::move(list);
  } else if (value->isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& t : value->toOptionalTensorVector()) {
      list.push_back(t && t->defined() ? std::optional<at::Tensor>(ToCpu(*t)) : t);
    }
    *value = std::move(list);
  } else if (IsTensorLists(*value)) {
    c10::List<c10::List<at::Tensor>> lists;
    for (IValue each : value->toListRef()) {
      ToCpu(&each);
      lists.push_back(each.toTensorList());
    }
    *value = std::move(lists);
  } else if (value->isDevice() && value->toDevice().type() == kNpu) {
    wanted_ = value->toDevice();
    *value = c10::Device(c10::kCPU);
  }
}

at::Tensor Borrowed::OnNpu(Storage storage, const at::Tensor& like) const {
  at::Tensor result(Model(*device_).unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
  result.unsafeGetTensorImpl()->set_storage_and_dtype(storage, like.dtype());
  // The plugin's own, which keeps what it knows of the storage's format.
  result.set_(std::move(storage), like.storage_offset(), like.sizes(), like.strides());
  if (like.is_conj()) result._set_conj(true);
  if (like.is_neg()) result._set_neg(true);
  CopyNames(like, result);
  return result;
}

// The storage of the device for one that a CPU kernel made.
Storage Borrowed::NpuStorage(const at::Tensor& t) {
  auto* const impl = t.storage().unsafeGetStorageImpl();
  auto& data = impl->_mutable_data_ptr_no_checks();
  const size_t bytes = impl->nbytes();
  c10::DataPtr ours;
  if (data.get() == nullptr) {
    ours = c10::GetAllocator(kNpu)->allocate(0);
  } else if (!IsLent(data)) {
    ours = AllocateForHost(bytes);
    std::memcpy(HostAddress(ours.get(), bytes), data.get(), bytes);
  } else if (t.storage().use_count() == 1) {
    ours = TakeLent(data);
  } else {  // somebody else holds the storage as well: it lives on behind the new one
    ours = HoldStorage(DeviceAddressOfLent(data), t.storage(), *device_);
  }
  return Storage(c10::make_storage_impl(StorageImpl::use_byte_size_t(), bytes, std::move(ours),
                                        c10::GetAllocator(kNpu), /*resizable=*/true, device_));
}

at::Tensor Borrowed::ToNpu(const at::Tensor& t) {
  if (!t.defined() || t.device().type() != c10::kCPU || !t.has_storage()) return t;
  for (const Pair& pair : pairs_) {
    if (!pair.cpu.is_same(t)) continue;
    CopyNames(t, pair.own);
    return pair.own;
  }
  if (std::find(hosts_.begin(), hosts_.end(), t.unsafeGetTensorImpl()) != hosts_.end()) return t;
  if (C10_UNLIKELY(t._is_zerotensor())) return at::zeros(t.sizes(), t.options().device(*device_));
  auto* const impl = t.storage().unsafeGetStorageImpl();
  for (const LentStorage& each : storages_) {
    if (each.cpu.unsafeGetStorageImpl() == impl) {
      return OnNpu(Storage(c10::intrusive_ptr<StorageImpl>::reclaim_copy(each.own)), t);
    }
  }
  Storage storage = NpuStorage(t);
  storages_.push_back({storage.unsafeGetStorageImpl(), t.storage()});
  return OnNpu(std::move(storage), t);
}

void Borrowed::ToNpu(IValue* value) {
  // The value's own reference must be gone before owners of a storage are counted.
  if (value->isTensor()) {
    const at::Tensor t = std::move(*value).toTensor();
    *value = ToNpu(t);
  } else if (value->isTensorList()) {
    const std::vector<at::Tensor> tensors = value->toTensorVector();
    *value = IValue();
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : tensors) list.push_back(ToNpu(t));
    *value = std::move(list);
  } else if (IsTensorLists(*value)) {
    c10::List<c10::List<at::Tensor>> lists;
    for (IValue each : value->toListRef()) {
      ToNpu(&each);
      lists.push_back(each.toTensorList());
    }
    *value = std::move(lists);
  }
}

void Borrowed::FollowSizes() {
  if (flat_) return;
  for (const Pair& pair : pairs_) {
    const at::Tensor& own = pair.own;
    const at::Tensor& cpu = pair.cpu;
    const bool moved = cpu.storage().data() != pair.host_address;
    if (C10_LIKELY(!moved && cpu.sizes() == own.sizes() && cpu.strides() == own.strides() &&
                   cpu.storage_offset() == own.storage_offset())) {
      continue;
    }
    const auto bytes = static_cast<int64_t>(BytesOf(cpu, cpu.storage_offset()));
    own.resize_({bytes / static_cast<int64_t>(cpu.itemsize())});
    own.as_strided_(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    Synchronize();
    if (moved && bytes > 0) {
      auto& storage = own.storage();
      std::memcpy(HostAddress(storage.mutable_data(), static_cast<size_t>(bytes)),
                  cpu.storage().data(), static_cast<size_t>(bytes));
    }
  }
}

}  // namespace portacl_npu
