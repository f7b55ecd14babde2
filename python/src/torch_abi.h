// The used part of PyTorch's stable C ABI (torch/csrc/stable/c/shim.h and the header it includes):
// pointers to functions that are looked up, and tensors on it.
#ifndef PORTACL_PYTHON_TORCH_ABI_H_
#define PORTACL_PYTHON_TORCH_ABI_H_

#include <dlfcn.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "plan_cache.h"

namespace portacl_python::torch_abi {

// An argument or result: a number in its lowest bytes, or a handle that its receiver owns.
using Value = uint64_t;
using Handle = void*;
using Error = int32_t;  // 0: none
using Kernel = void (*)(Value* stack, uint64_t arguments, uint64_t results);

// Only the lowest byte of a bool counts.
inline bool ToBool(Value value) { return (value & 0xFF) != 0; }

// The release with these conventions: 2.13, the first with all functions below.
inline constexpr uint64_t kVersion = (uint64_t{2} << 56) | (uint64_t{13} << 48);

struct Functions {
  Error (*new_library)(const char* ns, const char* key, const char* file, uint32_t line, Handle*);
  Error (*delete_library)(Handle);
  Error (*implement)(Handle library, const char* name, Kernel, uint64_t version);
  Error (*new_undefined)(Handle*);
  Error (*new_strided)(int64_t rank, const int64_t* shape, const int64_t* strides, int32_t dtype,
                       int32_t device, int32_t device_index, Handle*);
  Error (*new_on_memory)(void* data, int64_t rank, const int64_t* shape, const int64_t* strides,
                         int64_t offset, int32_t dtype, int32_t device, int32_t device_index,
                         Handle*, int32_t layout, const uint8_t* metadata, int64_t metadata_bytes,
                         void (*deleter)(void* data, void* context), void* context);
  Error (*delete_tensor)(Handle);
  Error (*get_rank)(Handle, int64_t*);
  Error (*get_shape)(Handle, int64_t**);
  Error (*get_strides)(Handle, int64_t**);
  Error (*get_dtype)(Handle, int32_t*);
  Error (*get_device)(Handle, int32_t*);
  Error (*get_const_data)(Handle, const void**);
  Error (*get_list_size)(Handle, size_t*);
  Error (*get_list_item)(Handle, size_t, Value*);
  Error (*delete_list)(Handle);
  Error (*delete_value)(Value*);
  Error (*get_num_threads)(uint32_t*);
  // Arguments and results as a Kernel has them.
  Error (*call)(const char* name, const char* overload, Value* stack, uint64_t version);
  const char* (*get_error)();
  int32_t (*float32)();
  int32_t (*float16)();
  int32_t (*float64)();
  int32_t (*bfloat16)();
  int32_t (*uint8)();
  int32_t (*cpu)();
  int32_t (*strided)();
};

// The functions that Find() found.
const Functions& Torch();

// "", or why the functions cannot be used.
std::string Find(const std::string& library);

// A library that is in the process. Never closed: kernels call its functions until the process
// ends.
class Library {
 public:
  explicit Library(const std::string& name)
      : loaded_(dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {}
  bool is_loaded() const { return loaded_ != nullptr; }

  template <class Function>
  bool Find(const char* name, Function* function) const {
    void* const found = is_loaded() ? dlsym(loaded_, name) : nullptr;
    std::memcpy(function, &found, sizeof found);
    return found != nullptr;
  }

 private:
  void* loaded_;
};

// Whether a tensor argument has one of portacl's floating types or, as a picture, uint8. The
// argument stays on the stack.
bool HasKnownDType(Value tensor);
bool HasPictureDType(Value tensor);
// Or float32 or float64.
bool HasWideDType(Value tensor);

// Which tensors portacl's operators know.
struct Known {
  bool pictures = false;  // uint8 too
  int64_t least_rank = 3;
};

// Reads shape, strides, dtype and address of a tensor argument, which stays on the stack. Returns
// "", or why portacl's operators do not take the tensor.
std::string Describe(Value tensor, const Known& known, portaclTensor* view);

// Throws PyTorch's own words as std::runtime_error, which it makes its users' RuntimeError.
void Check(Error error);

// Runs a call on as many threads as PyTorch would use; throws std::runtime_error if it is
// refused.
void Run(const Call& call);

// A few numbers: the extents of a tensor, a mask. In place, because small calls are all overhead.
class Extents {
 public:
  static constexpr size_t kMost = 16;

  Extents() = default;
  Extents(std::initializer_list<int64_t> values) : Extents(values.begin(), values.end()) {}
  Extents(const int64_t* first, const int64_t* last) {
    for (; first != last; ++first) Append(*first);
  }
  void Append(int64_t value) { values_.at(size_++) = value; }

  size_t size() const { return size_; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  int64_t operator[](size_t i) const { return values_[i]; }
  bool operator==(const Extents& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  size_t size_ = 0;
  std::array<int64_t, kMost> values_{};
};

// As Python writes a list.
std::string ToText(const Extents& values);

// Owns a tensor.
class Tensor {
 public:
  // Takes an argument over.
  explicit Tensor(Value argument) : handle_(reinterpret_cast<Handle>(argument)) {}
  ~Tensor() {
    if (handle_ != nullptr) Torch().delete_tensor(handle_);
  }
  Tensor(Tensor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), view_(other.view_) {}
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  // A result with undefined contents; from 1 MiB on in the pool's memory. Throws if there is
  // none.
  static Tensor Empty(const Extents& shape, int32_t dtype, bool channels_last);
  // Row-major; of large ones no memory is touched.
  static Tensor Zeros(const Extents& shape, int32_t dtype);
  static Tensor Undefined();

  // Reads shape, strides, dtype and address of an argument. Throws if portacl's operators do not
  // know the argument; `name` is the parameter's name in messages.
  void Read(const char* name, bool pictures = false);
  const portaclTensor& view() const { return view_; }
  Handle handle() const { return handle_; }
  Extents shape() const { return Extents(view_.shape, view_.shape + view_.rank); }

  // Hands the tensor over as a result.
  Value Release() { return reinterpret_cast<Value>(std::exchange(handle_, nullptr)); }

 private:
  Tensor(Handle handle, const portaclTensor& view) : handle_(handle), view_(view) {}

  Handle handle_;
  portaclTensor view_{};
};

// The numbers of a list argument, which it frees; of a long list the first ones, see CheckLength.
Extents TakeList(Value argument);

// The same of a list that stays on the stack, and the extents of such a tensor.
Extents ListOf(Value argument);
Extents ShapeOf(Value tensor);

// Throws if a list has not `least` to 8 numbers. After all arguments were taken: they are freed.
void CheckLength(const Extents& list, size_t least);

// A float argument that may be None, then 0; frees it.
double TakeScale(Value argument);

}  // namespace portacl_python::torch_abi

#endif  // PORTACL_PYTHON_TORCH_ABI_H_
