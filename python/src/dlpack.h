// The part of the DLPack 1.x ABI that an importer of arrays of the CPU and of GPUs needs, after the
// specification https://dmlc.github.io/dlpack/latest/. Names and layouts are the specification's.
#ifndef PORTACL_PYTHON_DLPACK_H_
#define PORTACL_PYTHON_DLPACK_H_

#include <cstdint>

namespace portacl_python::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4 };

struct Device {
  int32_t device_type;
  int32_t device_id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means contiguous (before version 1.2)
  uint64_t byte_offset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

// The contents of a capsule named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

inline constexpr uint64_t kReadOnly = 1;

// The contents of a capsule named "dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// Table behind the capsule type.__dlpack_c_exchange_api__ ("dlpack_exchange_api", DLPack 1.3):
// conversion without Python calls. Functions that are not used here are declared as plain pointers.
struct ExchangeApi {
  Version version;
  ExchangeApi* older;
  void* managed_tensor_allocator;
  void* managed_tensor_from_py_object;
  void* managed_tensor_to_py_object;
  // Describes a tensor that stays owned by its Python object; -1 with a Python error set.
  int (*tensor_from_py_object)(void* object, Tensor* out);
  void* current_work_stream;
};

}  // namespace portacl_python::dlpack

#endif  // PORTACL_PYTHON_DLPACK_H_
