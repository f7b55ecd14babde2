// Reads arguments, and makes tensors of views.
#include "aten/torch/values.h"

#include <ATen/ATen.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "aten/torch/torch_version.h"

namespace portacl::aten {
namespace {

constexpr int32_t kInt4 = 29;

// aclDataType -> PyTorch's type.
constexpr std::pair<int32_t, std::optional<at::ScalarType>> kTypes[] = {
    {0, at::kFloat},
    {1, at::kHalf},
    {2, at::kChar},
    {3, at::kInt},
    {4, at::kByte},
    {6, at::kShort},
    {7, kUInt16},
    {8, kUInt32},
    {9, at::kLong},
    {10, kUInt64},
    {11, at::kDouble},
    {12, at::kBool},
    {16, at::kComplexFloat},
    {17, at::kComplexDouble},
    {27, at::kBFloat16},
    {kInt4, at::kChar},  // unpacked
    {33, at::kComplexHalf},
};

std::optional<at::ScalarType> TypeOf(int32_t dtype) {
  for (const auto& [number, type] : kTypes) {
    if (number == dtype) return type;
  }
  return std::nullopt;
}

View ReadView(const Parameter& parameter, const base::TensorDesc& desc) {
  const auto dtype = static_cast<int32_t>(desc.dtype);
  const auto type = TypeOf(dtype);
  TORCH_CHECK(type.has_value(), parameter.name, " has data type ", dtype,
              ", which PyTorch's operators do not have");
  View view;
  view.type = *type;
  view.packed = dtype == kInt4;
  view.first = desc.offset & 1;
  const auto rank = static_cast<size_t>(desc.shape.rank());
  view.sizes.assign(desc.shape.data(), desc.shape.data() + rank);
  view.strides.assign(desc.strides.data(), desc.strides.data() + rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    TORCH_CHECK(view.strides[axis] >= 0 || view.sizes[axis] <= 1, parameter.name,
                " has the strides ", c10::IntArrayRef(view.strides),
                ", but PyTorch's operators need strides of at least 0");
    if (view.sizes[axis] <= 1 && view.strides[axis] < 0) view.strides[axis] = 0;
  }
  TORCH_CHECK(!view.packed || !parameter.output(), parameter.name,
              " has data type INT4, which no output can have");
  TORCH_CHECK(view.count() >= 0, parameter.name, " has shape ", c10::IntArrayRef(view.sizes),
              ", more elements than 64 bits can count");
  return view;
}

template <class T>
T Load(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

at::Scalar ReadScalar(const Parameter& parameter, const ScalarValue& scalar) {
  const auto type = TypeOf(scalar.dtype);
  TORCH_CHECK(type.has_value() && scalar.dtype != kInt4, parameter.name, " has data type ",
              scalar.dtype, ", which PyTorch's operators do not have");
  switch (*type) {
    case at::kFloat:
      return Load<float>(scalar.bytes);
    case at::kDouble:
      return Load<double>(scalar.bytes);
    case at::kInt:
      return Load<int32_t>(scalar.bytes);
    case at::kLong:
      return Load<int64_t>(scalar.bytes);
    case at::kBool:
      return Load<uint8_t>(scalar.bytes) != 0;
    default:  // PyTorch can read every type
      return at::from_blob(const_cast<void*>(scalar.bytes), {}, at::TensorOptions().dtype(*type))
          .item();
  }
}

// True for parameters by which PyTorch divides unchecked: convolutions, group norms, "unfold".
bool IsDivisor(std::string_view parameter) {
  return parameter == "group" || parameter == "groups" || parameter == "step";
}

c10::IValue ReadPlain(const Parameter& parameter, const Value& value) {
  switch (parameter.kind[0]) {
    case 'i':
      TORCH_CHECK(value.integer > 0 || !IsDivisor(parameter.name), parameter.name, " is ",
                  value.integer, ", but must be at least 1");
      return value.integer;
    case 'b':
      return value.integer;
    case 'd':
    case 'f':
      return value.number;
    case 's':
      return std::string(value.text);
    case 'D': {
      const auto type = TypeOf(static_cast<int32_t>(value.integer));
      return type ? c10::IValue(static_cast<int64_t>(*type)) : c10::IValue();
    }
    case 'S': {
      if (!parameter.list()) return ReadScalar(parameter, value.scalars[0]);
      c10::List<at::Scalar> list;
      for (const ScalarValue& scalar : value.scalars) list.push_back(ReadScalar(parameter, scalar));
      return list;
    }
    case 'I':
      return std::vector<int64_t>(value.ints.begin(), value.ints.end());
    case 'F':
      return std::vector<double>(value.doubles.begin(), value.doubles.end());
    case 'B': {
      c10::List<bool> list;
      for (const int64_t one : value.ints) list.push_back(one != 0);
      return list;
    }
    default:
      TORCH_CHECK(false, parameter.name, " has a kind that is not read: ", parameter.kind);
  }
}

// Unpacks into a contiguous tensor with one byte per element.
at::Tensor Unpack(const View& view, const char* bytes) {
  at::Tensor out = at::empty(view.sizes, at::kChar);
  auto* const to = out.data_ptr<int8_t>();
  std::vector<int64_t> index(view.sizes.size());
  for (int64_t n = 0; n < out.numel(); ++n) {
    int64_t at = view.first;
    for (size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * view.strides[axis];
    const int byte = static_cast<uint8_t>(bytes[at / 2]);
    const int nibble = at % 2 == 0 ? byte & 15 : byte >> 4;
    to[n] = static_cast<int8_t>(nibble >= 8 ? nibble - 16 : nibble);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.sizes[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

bool IsAligned(const View& view, const void* first) {
  return reinterpret_cast<uintptr_t>(first) % c10::elementSize(view.type) == 0;
}

// More bytes are worth PyTorch's threads.
constexpr size_t kMostBytes = 1 << 16;

bool IsContiguous(const View& view) {
  int64_t stride = 1;
  for (size_t axis = view.sizes.size(); axis-- > 0;) {
    if (view.sizes[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.sizes[axis];
  }
  return true;
}

// Views the elements as bytes, with one more axis: bytes need no alignment.
at::Tensor BytesOf(const View& view, void* first) {
  const auto size = static_cast<int64_t>(c10::elementSize(view.type));
  std::vector<int64_t> sizes = view.sizes, strides = view.strides;
  for (int64_t& stride : strides) stride *= size;
  sizes.push_back(size);
  strides.push_back(1);
  return at::from_blob(first, sizes, strides, at::TensorOptions().dtype(at::kByte));
}

class Key {
 public:
  template <class T>
  void Add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void AddAll(const T* values, size_t count) {
    Add(count);
    bytes_.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

int64_t View::count() const {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    if (__builtin_mul_overflow(count, size, &count)) count = -1;
    if (count < 0) break;
  }
  return count;
}

Argument ReadArgument(const Parameter& parameter, const Value& value) {
  Argument argument;
  argument.given = value.given;
  if (!value.given) return argument;
  if (!parameter.tensor()) {
    argument.plain = ReadPlain(parameter, value);
    return argument;
  }
  argument.views.reserve(value.tensors.size());
  for (const base::TensorDesc* const desc : value.tensors) {
    argument.views.push_back(ReadView(parameter, *desc));
  }
  return argument;
}

at::Tensor MakeTensor(const View& view, Memory memory, void* first) {
  const auto options = at::TensorOptions().dtype(view.type);
  switch (memory) {
    case Memory::kMeta:
      if (view.packed) return at::empty(view.sizes, options.device(at::kMeta));
      return at::empty_strided(view.sizes, view.strides, options.device(at::kMeta));
    case Memory::kOnes:
      // An integer may be an index, so it is 0.
      return at::full({}, c10::isIntegralType(view.type, true) ? 0 : 1, options).expand(view.sizes);
    case Memory::kReal:
      break;
  }
  if (view.packed) return Unpack(view, static_cast<const char*>(first));
  if (first == nullptr) return at::empty_strided(view.sizes, view.strides, options);
  if (IsAligned(view, first)) return at::from_blob(first, view.sizes, view.strides, options);
  return BytesOf(view, first).clone(at::MemoryFormat::Contiguous).view(view.type).squeeze(-1);
}

void Write(const at::Tensor& result, const View& view, void* first) {
  if (result.numel() == 0) return;
  if (result.scalar_type() == view.type && result.nbytes() <= kMostBytes && !result.is_conj() &&
      !result.is_neg() && result.is_contiguous() && IsContiguous(view)) {
    std::memcpy(first, result.data_ptr(), result.nbytes());
    return;
  }
  if (IsAligned(view, first)) {
    at::from_blob(first, view.sizes, view.strides, at::TensorOptions().dtype(view.type))
        .copy_(result);
    return;
  }
  const at::Tensor converted = result.to(view.type).resolve_conj().resolve_neg().contiguous();
  BytesOf(view, first).copy_(converted.unsqueeze(-1).view(at::kByte));
}

std::string KeyOf(const Row& row, std::span<const Value> values) {
  Key key;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    key.Add(value.given);
    key.Add(value.integer);
    key.Add(value.number);
    key.Add(value.tensors.size());
    for (const base::TensorDesc* const desc : value.tensors) {
      key.Add(desc->dtype);
      key.AddAll(desc->shape.data(), static_cast<size_t>(desc->shape.rank()));
      key.AddAll(desc->strides.data(), static_cast<size_t>(desc->shape.rank()));
    }
    for (const ScalarValue& scalar : value.scalars) {
      key.Add(scalar.dtype);
      key.AddAll(static_cast<const char*>(scalar.bytes), 16);
    }
    key.AddAll(value.ints.data(), value.ints.size());
    key.AddAll(value.doubles.data(), value.doubles.size());
    if (row.parameters[i].kind[0] == 's' && value.text != nullptr) {
      key.AddAll(value.text, std::strlen(value.text));
    }
  }
  return key.Take();
}

}  // namespace portacl::aten
