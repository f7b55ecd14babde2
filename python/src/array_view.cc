// Conversions behind array_view.h, fastest first.
#include "array_view.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cuda_stream.h"
#include "dlpack.h"

namespace nb = nanobind;

namespace portacl_python {
namespace {

struct DType {
  const char* name;
  int32_t code;
  int64_t bytes;
  dlpack::TypeCode dlpack_code;
  const char* buffer_formats;  // letters of the buffer protocol; "": it has none
  ArrayView::Elements group = ArrayView::Elements::kFloats;

  bool IsOneOf(ArrayView::Elements wanted) const {
    using Elements = ArrayView::Elements;
    return group == wanted || (wanted == Elements::kPictures && group == Elements::kFloats);
  }
};

constexpr std::array<DType, 7> kDTypes = {{
    {"float32", PORTACL_FLOAT32, 4, dlpack::kFloat, "f"},
    {"float16", PORTACL_FLOAT16, 2, dlpack::kFloat, "e"},
    {"float64", PORTACL_FLOAT64, 8, dlpack::kFloat, "d"},
    {"bfloat16", PORTACL_BFLOAT16, 2, dlpack::kBfloat, ""},
    {"int32", PORTACL_INT32, 4, dlpack::kInt, "i", ArrayView::Elements::kIndices},
    {"int64", PORTACL_INT64, 8, dlpack::kInt, "lq", ArrayView::Elements::kIndices},
    {"uint8", PORTACL_UINT8, 1, dlpack::kUInt, "B", ArrayView::Elements::kPictures},
}};

const DType& FindDType(int32_t code) {
  for (const DType& dtype : kDTypes) {
    if (dtype.code == code) return dtype;
  }
  return kDTypes[0];
}

bool Supported(const nb::object& name, ArrayView::Elements elements) {
  return std::any_of(kDTypes.begin(), kDTypes.end(), [&](const DType& dtype) {
    return dtype.IsOneOf(elements) && name.equal(nb::str(dtype.name));
  });
}

template <class... Args>
[[noreturn]] void ThrowValueError(const char* format, Args... args) {
  PyErr_Format(PyExc_ValueError, format, args...);
  throw nb::python_error();
}

template <class... Args>
[[noreturn]] void ThrowTypeError(const char* format, Args... args) {
  PyErr_Format(PyExc_TypeError, format, args...);
  throw nb::python_error();
}

// str(object); never null, as nb::str's own text is if an exception is pending.
std::string Text(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  const char* characters = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (characters != nullptr) return characters;
  PyErr_Clear();
  return "(without a name)";
}

// The exporter's own refusal, with the parameter's name; it stays visible as the cause.
[[noreturn]] void ThrowUnreadable(const char* name, nb::python_error& cause) {
  const std::string type = Text(nb::getattr(cause.type(), "__name__", nb::str("")));
  if (type == "TracerArrayConversionError" || type == "ConcretizationTypeError") {
    nb::raise_from(cause, PyExc_ValueError,
                   "%s is traced by JAX and has no values yet: inside jit, grad and vmap the "
                   "functions are those of portacl.jax",
                   name);
  }
  std::string text = Text(cause.value());
  text.resize(std::min(text.find('\n'), text.size()));  // PyTorch's have a backtrace
  nb::raise_from(cause, PyExc_ValueError, "%s cannot be read as an array: %s", name, text.c_str());
}

// The same of the error that is set.
[[noreturn]] void ThrowUnreadable(const char* name) {
  nb::python_error cause;
  ThrowUnreadable(name, cause);
}

[[noreturn]] void ThrowDType(const char* name, ArrayView::Elements elements,
                             const std::string& got) {
  constexpr std::array kWanted = {"float16, bfloat16, float32 or float64", "int32 or int64",
                                  "float16, bfloat16, float32, float64 or uint8"};
  ThrowTypeError("%s has dtype %s, but must be %s", name, got.c_str(),
                 kWanted[static_cast<size_t>(elements)]);
}

std::string Describe(dlpack::DataType type) {
  static constexpr std::array<const char*, 7> kCodes = {"int",    "uint",    "float", "opaque",
                                                        "bfloat", "complex", "bool"};
  // Whole names: the bits of exponent and mantissa say more than the size.
  static constexpr std::array<const char*, 11> kNarrow = {
      "float8_e3m4",     "float8_e4m3",   "float8_e4m3b11fnuz", "float8_e4m3fn",
      "float8_e4m3fnuz", "float8_e5m2",   "float8_e5m2fnuz",    "float8_e8m0fnu",
      "float6_e2m3fn",   "float6_e3m2fn", "float4_e2m1fn"};
  const size_t narrow = type.code - kCodes.size();
  std::string name;
  if (type.code < kCodes.size()) {
    name = kCodes[type.code];
    if (name != "bool") name += std::to_string(type.bits);
  } else {
    name = narrow < kNarrow.size() ? kNarrow[narrow]
                                   : "number " + std::to_string(type.code) + " of DLPack";
  }
  return name + (type.lanes == 1 ? "" : " with " + std::to_string(type.lanes) + " lanes");
}

// Refuses an array that this thread's calls cannot reach.
void CheckDevice(const char* name, const dlpack::Device& device) {
  const CudaStream& current = CurrentStream();
  const auto type = device.device_type;
  // The library finds out for each address whether a GPU reaches this machine's memory.
  if (type == dlpack::kCpu || type == dlpack::kCudaHost) return;
  const bool on_gpu = type == dlpack::kCuda || type == dlpack::kCudaManaged;
  if (!on_gpu || !current.on_gpu()) {
    ThrowValueError("%s is on a device (DLPack type %d), but must be in this machine's memory",
                    name, static_cast<int>(type));
  }
  if (device.device_id != current.device) {
    ThrowValueError("%s is on GPU %d, but the call is on GPU %d", name,
                    static_cast<int>(device.device_id), static_cast<int>(current.device));
  }
}

// Returns the result of `call`, which runs an array's own Python code. If the interpreter ends
// meanwhile, a daemon thread sleeps until the process is gone: see GilReleased in module.cc.
template <class Call>
nb::object CallPython(const Call& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}

// The result of __dlpack__.
nb::object Export(const nb::object& method) {
  const nb::object version = nb::make_tuple(1, 3);
  try {
    if (CurrentStream().on_gpu()) {  // the caller has put its streams in order
      return CallPython(
          [&] { return method(nb::arg("max_version") = version, nb::arg("stream") = -1); });
    }
    return CallPython([&] { return method(nb::arg("max_version") = version); });
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return CallPython([&] { return method(); });  // older than DLPack 1.0
}

// The exchange table of a type, or null. The newest answer is kept, because successive calls use
// one kind of array. Its type is kept alive too, because after a type's death another type could
// get its address.
const dlpack::ExchangeApi* FindExchangeApi(nb::handle type) {
  static PyObject* last_type = nullptr;
  static const dlpack::ExchangeApi* last_api = nullptr;
  if (type.ptr() == last_type) return last_api;
  const dlpack::ExchangeApi* api = nullptr;
  nb::object capsule = nb::steal(PyObject_GetAttrString(type.ptr(), "__dlpack_c_exchange_api__"));
  if (capsule.is_valid() && PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (api != nullptr && api->version.major > 1) api = api->older;
    if (api != nullptr && (api->version.major != 1 || api->tensor_from_py_object == nullptr)) {
      api = nullptr;
    }
  }
  PyErr_Clear();
  if (api != nullptr) {
    const nb::object old = nb::steal(std::exchange(last_type, type.inc_ref().ptr()));
    last_api = api;  // before `old` goes, which may run Python
  }
  return api;
}

}  // namespace

ArrayView::ArrayView(nb::handle object, const char* name, Access access, Elements elements)
    : name_(name), elements_(elements) {
  if (!FromExchangeApi(object) && !FromBuffer(object) && !FromCapsule(object) &&
      !FromNumpyBfloat16(object)) {
    if (refused_) ThrowUnreadable(name_, *refused_);
    ThrowTypeError(
        "%s is of type %s, but must be an array (NumPy, PyTorch, JAX or any with __dlpack__)",
        name_, nb::str(object.type().attr("__name__")).c_str());
  }
  CheckAlignment();
  if (access == Access::kWrite && read_only_) ThrowValueError("%s is read-only", name_);
}

ArrayView::~ArrayView() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
}

const char* ArrayView::dtype_name() const { return FindDType(tensor_.dtype).name; }

bool ArrayView::FromExchangeApi(nb::handle object) {
  const dlpack::ExchangeApi* api = FindExchangeApi(object.type());
  if (api == nullptr) return false;
  dlpack::Tensor tensor{};
  if (api->tensor_from_py_object(object.ptr(), &tensor) != 0) ThrowUnreadable(name_);
  SetTensor(tensor);
  owner_ = nb::borrow(object);
  return true;
}

bool ArrayView::FromBuffer(nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    PyErr_Clear();  // bfloat16 of NumPy and JAX has no format
    buffer_.obj = nullptr;
    return false;
  }
  const char* format = buffer_.format == nullptr ? "B" : buffer_.format;
  const bool prefixed = *format == '<' || *format == '=' || *format == '@';
  for (const DType& dtype : kDTypes) {
    const char* letter = prefixed ? format + 1 : format;
    const bool is_letter = letter[0] != '\0' && letter[1] == '\0' &&
                           std::strchr(dtype.buffer_formats, letter[0]) != nullptr;
    if (dtype.IsOneOf(elements_) && is_letter) {
      SetBuffer(dtype.code);
      return true;
    }
  }
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  ThrowDType(name_, elements_, dtype.is_none() ? std::string(format) : Text(dtype));
}

bool ArrayView::FromNumpyBfloat16(nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr()) || !nb::hasattr(object, "dtype")) return false;
  const nb::object dtype = object.attr("dtype");
  const nb::object name = nb::getattr(dtype, "name", nb::none());
  if (!name.equal(nb::str("bfloat16"))) {
    if (refused_ && Supported(name, elements_)) ThrowUnreadable(name_, *refused_);
    ThrowDType(name_, elements_, Text(dtype));
  }
  const nb::object bits = object.attr("view")("uint16");
  if (PyObject_GetBuffer(bits.ptr(), &buffer_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    buffer_.obj = nullptr;
    throw nb::python_error();
  }
  SetBuffer(PORTACL_BFLOAT16);
  return true;
}

bool ArrayView::FromCapsule(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  // PyTorch before 2.10 has no exchange table, and refuses to export a tensor that requires grad.
  // Earlier checks make sure that no gradient is lost (describe() in _arrays.py, autograd's
  // formulas).
  nb::object detached = nb::borrow(object);
  if (nb::getattr(object, "requires_grad", nb::none()).is(Py_True)) {
    const nb::object method = object.attr("detach");
    detached = CallPython([&] { return method(); });
  }
  const nb::object method = detached.attr("__dlpack__");
  nb::object capsule;
  try {
    capsule = Export(method);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) {
      std::string dtype = Text(nb::getattr(object, "dtype", nb::str("")));
      dtype.erase(0, dtype.rfind('.') + 1);  // "torch.quint8"
      if (!dtype.empty() && !Supported(nb::str(dtype.c_str()), elements_))
        ThrowDType(name_, elements_, dtype);
      ThrowUnreadable(name_, error);
    }
    refused_.emplace(error);  // perhaps a dtype that DLPack does not know
    return false;
  }
  // The capsule is never marked as used: its own destructor frees its contents.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    const auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != 1) {
      ThrowTypeError("%s comes with DLPack %u, but 1.x is understood", name_,
                     static_cast<unsigned>(managed->version.major));
    }
    read_only_ = (managed->flags & dlpack::kReadOnly) != 0;
    SetTensor(managed->tensor);
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    SetTensor(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))
                  ->tensor);
  } else {
    ThrowTypeError("%s: __dlpack__ did not return a DLPack capsule", name_);
  }
  owner_ = std::move(capsule);
  return true;
}

template <class Tensor>
void ArrayView::SetTensor(const Tensor& tensor) {
  CheckDevice(name_, tensor.device);
  const DType* found = nullptr;
  for (const DType& dtype : kDTypes) {
    if (dtype.IsOneOf(elements_) && tensor.dtype.code == dtype.dlpack_code &&
        tensor.dtype.bits == 8 * dtype.bytes && tensor.dtype.lanes == 1) {
      found = &dtype;
    }
  }
  if (found == nullptr) ThrowDType(name_, elements_, Describe(tensor.dtype));
  SetRank(tensor.ndim);
  tensor_.dtype = found->code;
  tensor_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  int64_t next = 1;
  for (int i = tensor_.rank; i-- > 0;) {
    tensor_.shape[i] = tensor.shape[i];
    tensor_.strides[i] = tensor.strides != nullptr ? tensor.strides[i] : next;
    next *= tensor.shape[i];
  }
}

void ArrayView::SetBuffer(int32_t dtype) {
  const int64_t bytes = FindDType(dtype).bytes;
  SetRank(buffer_.ndim);
  tensor_.dtype = dtype;
  tensor_.data = buffer_.buf;
  read_only_ = buffer_.readonly != 0;
  for (int i = 0; i < tensor_.rank; ++i) {
    tensor_.shape[i] = buffer_.shape[i];
    if (buffer_.strides[i] % bytes != 0) {
      ThrowValueError(
          "%s has a stride of %zd bytes, but strides must be whole elements of %d bytes", name_,
          buffer_.strides[i], static_cast<int>(bytes));
    }
    tensor_.strides[i] = buffer_.strides[i] / bytes;
  }
}

void ArrayView::SetRank(int64_t rank) {
  if (rank < 1 || rank > PORTACL_MAX_RANK) {
    ThrowValueError("%s has rank %d, but must have 1 to %d", name_, static_cast<int>(rank),
                    static_cast<int>(PORTACL_MAX_RANK));
  }
  tensor_.rank = static_cast<int32_t>(rank);
}

void ArrayView::CheckAlignment() const {
  const auto bytes = static_cast<uintptr_t>(FindDType(tensor_.dtype).bytes);
  if (reinterpret_cast<uintptr_t>(tensor_.data) % bytes != 0) {
    ThrowValueError("%s starts in the middle of an element: its address must be a multiple of %d",
                    name_, static_cast<int>(bytes));
  }
}

}  // namespace portacl_python
