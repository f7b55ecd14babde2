// Looking PyTorch's functions up, and its tensors' memory, behind torch_abi.h.
#include "torch_abi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "host_threads.h"
#include "message.h"
#include "result_pool.h"

namespace portacl_python::torch_abi {
namespace {

Functions functions = {};  // set once, before a kernel that uses it is registered

constexpr int32_t kNoIndex = -1;  // of the device

struct DType {
  int32_t torch;
  int32_t portacl;
  int64_t bytes;
};

// PyTorch's numbers, asked for once: see `functions`.
std::array<DType, 5> dtypes = {};
int32_t cpu = 0;

void AskForNumbers() {
  const Functions& f = functions;
  dtypes = {{{f.float32(), PORTACL_FLOAT32, 4},
             {f.float16(), PORTACL_FLOAT16, 2},
             {f.float64(), PORTACL_FLOAT64, 8},
             {f.bfloat16(), PORTACL_BFLOAT16, 2},
             {f.uint8(), PORTACL_UINT8, 1}}};
  cpu = f.cpu();
}

// The last type is for pictures alone.
const DType* FindDType(int32_t torch, bool pictures) {
  const DType* const end = dtypes.end() - (pictures ? 0 : 1);
  const DType* const begin = dtypes.begin();
  const DType* const found =
      std::find_if(begin, end, [&](const DType& type) { return type.torch == torch; });
  return found == end ? nullptr : found;
}

DType DTypeOf(int32_t portacl) {
  for (const DType& type : dtypes) {
    if (type.portacl == portacl) return type;
  }
  return dtypes[0];
}

portaclTensor Describe(const Extents& shape, int32_t dtype, bool channels_last) {
  portaclTensor view = {};
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(shape.size());
  int64_t next = 1;
  const auto step = [&](size_t axis) {
    view.shape[axis] = shape[axis];
    view.strides[axis] = next;
    // As PyTorch counts; BytesOf() refuses sizes that do not fit.
    if (__builtin_mul_overflow(next, std::max<int64_t>(shape[axis], 1), &next)) next = 0;
  };
  if (channels_last) {
    step(1);
    for (size_t axis = shape.size() - 1; axis > 1; --axis) step(axis);
    step(0);
  } else {
    for (size_t axis = shape.size(); axis-- > 0;) step(axis);
  }
  return view;
}

int64_t BytesOf(const Extents& shape, int64_t element) {
  for (const int64_t extent : shape) {
    if (extent < 0) {
      throw std::runtime_error("a result of shape " + ToText(shape) + " has a negative extent");
    }
  }
  int64_t bytes = element;
  bool fits = true;
  for (const int64_t extent : shape) {
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes);
  }
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  if (!fits) {
    throw std::runtime_error("a result of shape " + ToText(shape) +
                             " has more bytes than 64 bits can count");
  }
  return bytes;
}

[[noreturn]] void ThrowNoMemory(int64_t bytes) {
  throw std::runtime_error("no memory for a result of " + std::to_string(bytes) + " bytes");
}

void ReturnBlock(void* /*data*/, void* context) {
  const std::unique_ptr<ResultPool::Block> block(static_cast<ResultPool::Block*>(context));
  ResultPool::Get().Return(*block);
}

void FreeMemory(void* data, void* /*context*/) { std::free(data); }

// Gives a tensor's memory back, once: if PyTorch makes no tensor, it may do it or not.
struct Owner {
  void (*deleter)(void*, void*);
  void* context;
  bool* gone;  // of the call that makes the tensor, then null

  static void Release(void* data, void* owner) {
    const std::unique_ptr<Owner> self(static_cast<Owner*>(owner));
    if (self->gone != nullptr) *self->gone = true;
    self->deleter(data, self->context);
  }
};

// A tensor on `view.data`, which `deleter` gives back, at once if this fails.
Handle NewOnMemory(const portaclTensor& view, int32_t dtype, void (*deleter)(void*, void*),
                   void* context) {
  Handle handle = nullptr;
  const Functions& f = functions;
  bool gone = false;
  auto* const owner = new (std::nothrow) Owner{deleter, context, &gone};
  if (owner == nullptr) {
    deleter(view.data, context);
    throw std::runtime_error("no memory for a result");
  }
  if (f.new_on_memory(view.data, view.rank, view.shape, view.strides, 0, dtype, cpu, kNoIndex,
                      &handle, f.strided(), nullptr, 0, Owner::Release, owner) != 0) {
    if (!gone) Owner::Release(view.data, owner);
    throw std::runtime_error(f.get_error());
  }
  owner->gone = nullptr;
  return handle;
}

}  // namespace

const Functions& Torch() { return functions; }

std::string Find(const std::string& library) {
  const Library loaded(library);
  if (!loaded.is_loaded()) return library + " is not loaded";
  Functions f = {};
  const bool found = loaded.Find("aoti_torch_library_init_impl", &f.new_library) &&
                     loaded.Find("aoti_torch_delete_library_object", &f.delete_library) &&
                     loaded.Find("torch_library_impl", &f.implement) &&
                     loaded.Find("aoti_torch_new_uninitialized_tensor", &f.new_undefined) &&
                     loaded.Find("aoti_torch_empty_strided", &f.new_strided) &&
                     loaded.Find("torch_from_blob", &f.new_on_memory) &&
                     loaded.Find("aoti_torch_delete_tensor_object", &f.delete_tensor) &&
                     loaded.Find("aoti_torch_get_dim", &f.get_rank) &&
                     loaded.Find("aoti_torch_get_sizes", &f.get_shape) &&
                     loaded.Find("aoti_torch_get_strides", &f.get_strides) &&
                     loaded.Find("aoti_torch_get_dtype", &f.get_dtype) &&
                     loaded.Find("aoti_torch_get_device_type", &f.get_device) &&
                     loaded.Find("torch_get_const_data_ptr", &f.get_const_data) &&
                     loaded.Find("torch_list_size", &f.get_list_size) &&
                     loaded.Find("torch_list_get_item", &f.get_list_item) &&
                     loaded.Find("torch_delete_list", &f.delete_list) &&
                     loaded.Find("torch_delete_stable_ivalue", &f.delete_value) &&
                     loaded.Find("torch_get_num_threads", &f.get_num_threads) &&
                     loaded.Find("torch_call_dispatcher", &f.call) &&
                     loaded.Find("torch_exception_get_what_without_backtrace", &f.get_error) &&
                     loaded.Find("aoti_torch_dtype_float32", &f.float32) &&
                     loaded.Find("aoti_torch_dtype_float16", &f.float16) &&
                     loaded.Find("aoti_torch_dtype_float64", &f.float64) &&
                     loaded.Find("aoti_torch_dtype_bfloat16", &f.bfloat16) &&
                     loaded.Find("aoti_torch_dtype_uint8", &f.uint8) &&
                     loaded.Find("aoti_torch_device_type_cpu", &f.cpu) &&
                     loaded.Find("aoti_torch_layout_strided", &f.strided);
  if (!found) return "PyTorch is older than 2.13";
  functions = f;
  AskForNumbers();
  return "";
}

void Check(Error error) {
  if (error != 0) throw std::runtime_error(functions.get_error());
}

bool HasPictureDType(Value tensor) {
  int32_t dtype = 0;
  Check(functions.get_dtype(reinterpret_cast<Handle>(tensor), &dtype));
  return FindDType(dtype, true) != nullptr;
}

bool HasWideDType(Value tensor) {
  int32_t dtype = 0;
  Check(functions.get_dtype(reinterpret_cast<Handle>(tensor), &dtype));
  return dtype == functions.float32() || dtype == functions.float64();
}

bool HasKnownDType(Value tensor) {
  int32_t dtype = 0;
  Check(functions.get_dtype(reinterpret_cast<Handle>(tensor), &dtype));
  return FindDType(dtype, false) != nullptr;
}

void Run(const Call& call) {
  uint32_t threads = 1;
  Check(functions.get_num_threads(&threads));
  const ThreadsOfCall of_call(static_cast<int32_t>(threads));
  if (RunCall(call) != PORTACL_OK) throw std::runtime_error(Message());
}

std::string ToText(const Extents& values) {
  std::string text = "[";
  for (const int64_t value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

Tensor Tensor::Empty(const Extents& shape, int32_t dtype, bool channels_last) {
  const DType type = DTypeOf(dtype);
  const int64_t bytes = BytesOf(shape, type.bytes);
  portaclTensor view = Describe(shape, dtype, channels_last);
  const auto wanted = static_cast<size_t>(bytes);
  if (wanted >= ResultPool::kPooledBytes && ResultPool::Get().limit() > 0) {
    auto block = std::make_unique<ResultPool::Block>();
    *block = ResultPool::Get().Take(wanted);
    if (block->data == nullptr) ThrowNoMemory(bytes);
    view.data = block->data;
    return Tensor(NewOnMemory(view, type.torch, ReturnBlock, block.release()), view);
  }
  Handle handle = nullptr;
  const Functions& f = functions;
  if (f.new_strided(view.rank, view.shape, view.strides, type.torch, cpu, kNoIndex, &handle) != 0) {
    ThrowNoMemory(bytes);
  }
  Tensor result(handle, view);
  const void* data = nullptr;
  Check(f.get_const_data(handle, &data));
  result.view_.data = const_cast<void*>(data);
  return result;
}

Tensor Tensor::Zeros(const Extents& shape, int32_t dtype) {
  const DType type = DTypeOf(dtype);
  const int64_t bytes = BytesOf(shape, type.bytes);
  portaclTensor view = Describe(shape, dtype, false);
  view.data = std::calloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)), 1);
  if (view.data == nullptr) ThrowNoMemory(bytes);
  return Tensor(NewOnMemory(view, type.torch, FreeMemory, nullptr), view);
}

Tensor Tensor::Undefined() {
  Handle handle = nullptr;
  Check(functions.new_undefined(&handle));
  return Tensor(handle, portaclTensor{});
}

std::string Describe(Value tensor, const Known& taken, portaclTensor* view) {
  const Functions& f = functions;
  const auto handle = reinterpret_cast<Handle>(tensor);
  int64_t rank = 0;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;
  int32_t dtype = 0;
  int32_t device = 0;
  Check(f.get_rank(handle, &rank));
  Check(f.get_device(handle, &device));
  Check(f.get_dtype(handle, &dtype));
  if (device != cpu) return "must be on the CPU";
  if (rank < taken.least_rank || rank > PORTACL_MAX_RANK) {
    return "has rank " + std::to_string(rank) + ", but must have 3, 4 or 5";
  }
  const DType* const known = FindDType(dtype, taken.pictures);
  if (known == nullptr) return "must have dtype float16, bfloat16, float32 or float64";
  Check(f.get_shape(handle, &shape));
  Check(f.get_strides(handle, &strides));
  view->dtype = known->portacl;
  view->rank = static_cast<int32_t>(rank);
  std::copy(shape, shape + rank, view->shape);
  std::copy(strides, strides + rank, view->strides);
  const void* data = nullptr;
  Check(f.get_const_data(handle, &data));
  view->data = const_cast<void*>(data);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(known->bytes) != 0) {
    return "starts in the middle of an element";
  }
  return "";
}

void Tensor::Read(const char* name, bool pictures) {
  const std::string why_not = Describe(reinterpret_cast<Value>(handle_), {pictures}, &view_);
  if (!why_not.empty()) throw std::runtime_error(std::string(name) + " " + why_not);
}

Extents TakeList(Value argument) {
  const Functions& f = functions;
  const auto list = reinterpret_cast<Handle>(argument);
  // Out of memory or not, the list goes.
  const std::unique_ptr<std::remove_pointer_t<Handle>, decltype(f.delete_list)> owner(
      list, f.delete_list);
  return ListOf(argument);
}

Extents ListOf(Value argument) {
  const Functions& f = functions;
  const auto list = reinterpret_cast<Handle>(argument);
  size_t size = 0;
  Check(f.get_list_size(list, &size));
  Extents values;
  for (size_t i = 0; i < std::min(size, Extents::kMost); ++i) {
    Value value = 0;
    Check(f.get_list_item(list, i, &value));
    values.Append(static_cast<int64_t>(value));
  }
  return values;
}

Extents ShapeOf(Value tensor) {
  const auto handle = reinterpret_cast<Handle>(tensor);
  int64_t rank = 0;
  int64_t* shape = nullptr;
  Check(functions.get_rank(handle, &rank));
  Check(functions.get_shape(handle, &shape));
  return Extents(shape, shape + std::min<int64_t>(rank, Extents::kMost));
}

void CheckLength(const Extents& list, size_t least) {
  constexpr size_t kMost = 8;  // leaves room for what a caller adds
  if (list.size() >= least && list.size() <= kMost) return;
  throw std::runtime_error("a list has " + std::to_string(list.size()) +
                           " numbers, but must have " + std::to_string(least) + " to " +
                           std::to_string(kMost));
}

double TakeScale(Value argument) {
  if (argument == 0) return 0;
  auto* const value = reinterpret_cast<Value*>(argument);
  double scale = 0;
  std::memcpy(&scale, value, sizeof scale);
  Check(functions.delete_value(value));
  return scale;
}

}  // namespace portacl_python::torch_abi
