// Any array object of Python as a portaclTensor: DLPack, the buffer protocol, bfloat16 of NumPy.
#ifndef PORTACL_PYTHON_ARRAY_VIEW_H_
#define PORTACL_PYTHON_ARRAY_VIEW_H_

#include <nanobind/nanobind.h>
#include <portacl/portacl.h>

#include <optional>
#include <string>

namespace portacl_python {

// Keeps the memory alive while it lives. Needs the GIL to be made and destroyed.
class ArrayView {
 public:
  enum class Access { kRead, kWrite };
  // float16, bfloat16, float32, float64; int32, int64; the first four and uint8.
  enum class Elements { kFloats, kIndices, kPictures };

  // `name` is the parameter's name in messages. Throws TypeError if `object` is no array, or
  // `elements` does not have its dtype. Throws ValueError if it is not in this machine's memory, no
  // operator takes its rank, or it is read-only and Access is kWrite.
  ArrayView(nanobind::handle object, const char* name, Access access,
            Elements elements = Elements::kFloats);
  ~ArrayView();
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  const portaclTensor& tensor() const { return tensor_; }
  // "float32", ...
  const char* dtype_name() const;

 private:
  bool FromExchangeApi(nanobind::handle object);
  bool FromBuffer(nanobind::handle object);
  bool FromCapsule(nanobind::handle object);
  bool FromNumpyBfloat16(nanobind::handle object);
  template <class Tensor>
  void SetTensor(const Tensor& tensor);
  void SetBuffer(int32_t dtype);
  void SetRank(int64_t rank);
  void CheckAlignment() const;

  portaclTensor tensor_{};
  const char* name_;
  Elements elements_;
  bool read_only_ = false;
  nanobind::object owner_;
  std::optional<nanobind::python_error> refused_;  // an exporter's own BufferError
  Py_buffer buffer_{};                             // its obj is null if it is not in use
};

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_ARRAY_VIEW_H_
