// The extension module portacl._core: array objects in, calls of the native API, errors out.
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <portacl/portacl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "array_view.h"
#include "cuda_stream.h"
#include "host_threads.h"
#include "jax/handlers.h"
#include "message.h"
#include "plan_cache.h"
#include "result_pool.h"
#include "torch_kernels.h"

namespace nb = nanobind;

namespace portacl_python {
namespace {

using portacl::ops::Form;
using portacl::ops::Parameter;
using portacl::ops::Signature;

// A planning function of portacl.h with the names of its parameters in Python.
struct Function {
  explicit Function(const Signature& of) : signature(of) {
    for (const Parameter& parameter : of.parameters) names.push_back(PythonName(parameter.name));
  }
  // A result that the caller may not leave out is "out" in messages.
  const char* name_of_result(size_t at) const {
    return signature.parameters[at].unset == nullptr ? "out" : names[at].c_str();
  }
  const Signature& signature;
  std::vector<std::string> names;
};

// Throws the Python exception that fits a code, with the library's message.
void Check(int32_t code) {
  if (code == PORTACL_OK) return;
  const std::string message = Message();
  PyObject* type = PyExc_RuntimeError;
  if (code == PORTACL_ERROR_NULL || code == PORTACL_ERROR_INVALID) {
    type = IsAboutType(message) ? PyExc_TypeError : PyExc_ValueError;
  }
  if (code == PORTACL_ERROR_RUNTIME) type = PyExc_MemoryError;
  if (code == PORTACL_ERROR_NO_KERNEL) type = PyExc_NotImplementedError;
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

// Releases the GIL during its lifetime. Before 3.14, Python ends a daemon thread that asks for the
// GIL after the interpreter's end. Its pthread_exit unwinds the stack, but some frames here let no
// exception pass. So such a thread sleeps until the process is gone, as in 3.14.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      while (true) pause();
    }
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// `threads` as for ThreadsOfCall.
void Run(const Call& call, int32_t threads) {
  int32_t code = PORTACL_OK;
  {
    const GilReleased released;
    const ThreadsOfCall of_call(threads);
    code = RunCall(call);  // the message is this thread's own
  }
  Check(code);
}

// The type that Python passes for a parameter of a form.
template <Form kForm>
struct PythonTypeOf {
  using Type = nb::handle;  // an array
};
template <>
struct PythonTypeOf<Form::kReal> {
  using Type = double;
};
template <>
struct PythonTypeOf<Form::kReals> {
  using Type = std::array<double, 3>;
};
template <>
struct PythonTypeOf<Form::kInteger> {
  using Type = int64_t;
};
template <>
struct PythonTypeOf<Form::kInts> {
  using Type = std::vector<int64_t>;
};
template <>
struct PythonTypeOf<Form::kChoice> {
  using Type = int32_t;
};
template <>
struct PythonTypeOf<Form::kFlag> {
  using Type = int32_t;
};
template <Form kForm>
using PythonType = typename PythonTypeOf<kForm>::Type;

// The parameters of a function one behind the other, for nanobind.
class ArgumentNames {
 public:
  explicit ArgumentNames(const Function& function) : function_(function) {}
  template <Form kForm>
  auto Of() {
    if constexpr (kForm == Form::kRead || kForm == Form::kWritten) {
      return Next().none();  // AddArray() refuses it where there must be an array
    } else {
      return Next();
    }
  }

 private:
  nb::arg Next() { return nb::arg(function_.names[at_++].c_str()); }

  const Function& function_;
  size_t at_ = 0;
};

// The arrays and numbers of one call, in the order of the parameters.
class CallReader {
 public:
  explicit CallReader(const Function& function)
      : function_(function), call_{function.signature.op} {}

  template <Form kForm>
  void Add(const PythonType<kForm>& value) {
    if constexpr (kForm == Form::kRead) {
      AddArray(value, function_.names[at_].c_str(), ArrayView::Access::kRead);
    } else if constexpr (kForm == Form::kWritten) {
      AddArray(value, function_.name_of_result(at_), ArrayView::Access::kWrite);
    } else if constexpr (kForm == Form::kReals) {
      call_.reals = value;
    } else if constexpr (kForm == Form::kReal) {
      call_.reals.at(real_++) = value;
    } else if constexpr (kForm == Form::kInteger) {
      call_.integers.at(integer_++) = value;
    } else if constexpr (kForm == Form::kInts) {
      AddList(value);
    } else if constexpr (kForm == Form::kChoice) {
      call_.choices.at(choice_++) = value;
    } else {
      call_.flags.at(flag_++) = value;
    }
    ++at_;
  }
  void Run(int32_t threads) const { portacl_python::Run(call_, threads); }

 private:
  void AddList(const std::vector<int64_t>& values) {
    const size_t count = PartsOf(function_.signature.parameters[at_]);
    if (values.size() != count) {
      PyErr_Format(PyExc_ValueError, "%s has %zu values, but must have %zu",
                   function_.names[at_].c_str(), values.size(), count);
      throw nb::python_error();
    }
    for (const int64_t value : values) call_.lists.at(list_++) = value;
  }
  void AddArray(nb::handle array, const char* name, ArrayView::Access access) {
    if (!array.is_none() || function_.signature.parameters[at_].unset == nullptr) {
      views_[tensor_].emplace(array, name, access, elements());
      call_.tensors[tensor_] = &views_[tensor_]->tensor();
    }
    ++tensor_;
  }

  // The element types that the arrays of this function may have.
  ArrayView::Elements elements() const {
    using Elements = ArrayView::Elements;
    const Signature& signature = function_.signature;
    if (signature.parameters[at_].dtypes == &portacl::ops::kIndices) return Elements::kIndices;
    return signature.traits.dtypes.open.Has(PORTACL_UINT8) ? Elements::kPictures
                                                           : Elements::kFloats;
  }

  const Function& function_;
  Call call_;
  std::array<std::optional<ArrayView>, kMaxTensors> views_;
  size_t at_ = 0, tensor_ = 0, real_ = 0, integer_ = 0, choice_ = 0, flag_ = 0;
  size_t list_ = 0;
};

nb::tuple Describe(nb::handle array, const char* name, bool pictures) {
  using Elements = ArrayView::Elements;
  const ArrayView view(array, name, ArrayView::Access::kRead,
                       pictures ? Elements::kPictures : Elements::kFloats);
  const portaclTensor& tensor = view.tensor();
  nb::list shape;
  for (int i = 0; i < tensor.rank; ++i) shape.append(tensor.shape[i]);
  return nb::make_tuple(nb::tuple(shape), view.dtype_name());
}

// Memory of one result, from the pool; a Python object with the buffer protocol.
class Block {
 public:
  explicit Block(size_t bytes) : block_(ResultPool::Get().Take(bytes)), bytes_(bytes) {
    if (block_.data != nullptr) return;
    PyErr_Format(PyExc_MemoryError, "no memory for a result of %zu bytes", bytes);
    throw nb::python_error();
  }
  ~Block() { ResultPool::Get().Return(block_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const { return block_.data; }
  size_t bytes() const { return bytes_; }

 private:
  ResultPool::Block block_;
  size_t bytes_;
};

int GetBlockBuffer(PyObject* self, Py_buffer* buffer, int flags) {
  const Block* block = nb::inst_ptr<Block>(self);
  return PyBuffer_FillInfo(buffer, self, block->data(), static_cast<Py_ssize_t>(block->bytes()),
                           /*readonly=*/0, flags);
}

PyType_Slot block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBlockBuffer)},
                             {0, nullptr}};

void SetNumThreads(int32_t threads) {
  int32_t code = PORTACL_OK;
  {
    const GilReleased released;  // waits for calls that run in other threads
    code = portaclSetNumThreads(threads);
  }
  Check(code);
}

void SetImpl(const std::string& name) {
  Check(portaclSetImpl(name.c_str()));
  ClearPlans();
}

template <class Call, class... Arguments>
void Define(nb::module_& m, const Function& function, const Call& call,
            const Arguments&... arguments) {
  m.def(RowOf(function.signature.op).name, call, arguments...,
        "What portacl's function of this name does, into arrays that there are.");
}

bool HasAclnnFunction(portacl::ops::Op op) {
  for (const Signature* const function : portacl::ops::kAclnnFunctions) {
    if (function->op == op) return true;
  }
  return false;
}

// A row of a table of signatures: parameters in order, each with its name, its kind and its
// symbols.
void AddSignature(nb::dict& made, const char* name, const Signature& signature,
                  const std::vector<const char*>& kinds) {
  if (*name == '\0' || made.contains(name)) return;
  nb::list row;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    row.append(nb::make_tuple(parameter.name, kinds[i], parameter.symbols));
  }
  made[name] = row;
}

// The operators by their names in cases, with their parameters. They are the aclnn API's, or
// portacl.h's if the vendor has no function.
nb::dict CaseSignatures() {
  nb::dict made;
#define PORTACL_KIND(Kind, name, ...) #Kind,
#define PORTACL_ACLNN(function, Name, case_name, traits, ...)       \
  AddSignature(made, case_name, portacl::ops::signatures::function, \
               {PORTACL_FOR_EACH(PORTACL_KIND, __VA_ARGS__)});
#include "src/ops/operator_list.inc"
#define PORTACL_NATIVE(function, Name, traits, ...)                                               \
  if (!HasAclnnFunction(portacl::ops::Op::k##Name)) {                                             \
    AddSignature(made, RowOf(portacl::ops::Op::k##Name).name, portacl::ops::signatures::function, \
                 {PORTACL_FOR_EACH(PORTACL_KIND, __VA_ARGS__)});                                  \
  }
#include "src/ops/operator_list.inc"
  return made;
}

// The functions of this module that call an operator, with the parameters that portacl.h gives.
nb::dict NativeSignatures() {
  nb::dict made;
#define PORTACL_NATIVE(function, Name, traits, ...)                                             \
  AddSignature(made, RowOf(portacl::ops::Op::k##Name).name, portacl::ops::signatures::function, \
               {PORTACL_FOR_EACH(PORTACL_KIND, __VA_ARGS__)});
#include "src/ops/operator_list.inc"
#undef PORTACL_KIND
  return made;
}

// One function for each planning function of portacl.h, with its parameters and the threads of this
// call (0: as many as the process has).
void DefineOperators(nb::module_& m) {
#define PORTACL_FORM(kind) FormOf(portacl::ops::Kind::k##kind)
#define PORTACL_DECLARE(kind, name, ...) PythonType<PORTACL_FORM(kind)> name,
#define PORTACL_READ(kind, name, ...) reader.Add<PORTACL_FORM(kind)>(name);
#define PORTACL_ARGUMENT(kind, name, ...) names.Of<PORTACL_FORM(kind)>(),
// The elements of a braced list are evaluated from the left to the right.
#define PORTACL_NATIVE(native, Name, traits, ...)                                            \
  {                                                                                          \
    static const Function function(portacl::ops::signatures::native);                        \
    const auto call = [](PORTACL_FOR_EACH(PORTACL_DECLARE, __VA_ARGS__) int32_t threads) {   \
      CallReader reader(function);                                                           \
      PORTACL_FOR_EACH(PORTACL_READ, __VA_ARGS__)                                            \
      reader.Run(threads);                                                                   \
    };                                                                                       \
    ArgumentNames names(function);                                                           \
    std::apply(                                                                              \
        [&](const auto&... arguments) { Define(m, function, call, arguments...); },          \
        std::tuple{PORTACL_FOR_EACH(PORTACL_ARGUMENT, __VA_ARGS__) nb::arg("threads") = 0}); \
  }
#include "src/ops/operator_list.inc"
#undef PORTACL_DECLARE
#undef PORTACL_READ
#undef PORTACL_ARGUMENT
#undef PORTACL_FORM
  m.def("case_signatures", &CaseSignatures,
        nb::sig("def case_signatures() -> dict[str, list[tuple[str, str, str]]]"),
        "Name, kind and symbols of the parameters of every operator that cases know.");
  m.def("native_signatures", &NativeSignatures,
        nb::sig("def native_signatures() -> dict[str, list[tuple[str, str, str]]]"),
        "The same of every function of this module that calls an operator.");
  m.def("describe", &Describe, nb::arg("array"), nb::arg("name"), nb::arg("pictures") = false,
        nb::sig("def describe(array: object, name: str, pictures: bool = False) -> "
                "tuple[tuple[int, ...], str]"),
        "Shape and dtype name of an array, which may be uint8 if pictures; name is what messages "
        "call it.");
}

void DefineSettings(nb::module_& m) {
  m.def("version", &portaclGetVersion, "Version of the library that is loaded.");
  m.def(
      "info_json", [] { return std::string(portaclGetInfo()); },
      "What the library says of itself, as JSON.");
  m.def("set_num_threads", &SetNumThreads, nb::arg("threads"));
  m.def(
      "get_num_threads",
      [](int32_t threads) {
        const ThreadsOfCall of_call(threads);
        return portaclGetNumThreads();
      },
      nb::arg("threads") = 0, "How many threads a call that says `threads` would use.");
  m.def("lend_openmp_threads", &LendOpenMpThreads, nb::arg("user"), nb::arg("name"),
        "Runs calls on the threads of the libgomp that a loaded library uses; \"\", or why not.");
  m.def(
      "lend_number_of_threads", [](const std::string& name) { Check(LendNumberOfThreads(name)); },
      nb::arg("name"), "Runs calls on the library's threads, as many as each says.");
  m.def(
      "set_cuda_stream",
      [](int32_t device, uintptr_t stream, bool is_captured) {
        CurrentStream() = {device, reinterpret_cast<void*>(stream), is_captured};
      },
      nb::arg("device"), nb::arg("stream"), nb::arg("is_captured") = false,
      "From now on this thread's calls are enqueued on a stream of a GPU, which may be captured in "
      "a graph; device -1: they run on the CPU, as at first.");
  m.def("set_impl", &SetImpl, nb::arg("name"));
  m.def("get_impl", &portaclGetImpl);
  m.attr("POOLED_BYTES") = ResultPool::kPooledBytes;
  m.def(
      "pool_limit", [] { return ResultPool::Get().limit(); },
      "Bytes of result memory that are kept at most.");
  m.def(
      "pool_kept", [] { return ResultPool::Get().kept(); },
      "Bytes of result memory that are kept now.");
  m.def(
      "pool_trim", [] { ResultPool::Get().Trim(); }, "Gives kept memory back to the system.");
}

void DefineTorch(nb::module_& m) {
  m.def("find_torch", &FindTorch, nb::arg("library"),
        "Looks PyTorch's stable C functions up in a loaded library; \"\", or why not.");
  m.def("find_stock_kernels", &FindStockKernels, nb::arg("library"),
        "Looks PyTorch's own kernels up in a loaded library; whether all are there.");
  nb::class_<TorchKernels>(m, "TorchKernels",
                           "Kernels in PyTorch's dispatcher that need no Python, while it lives. "
                           "find_torch must have found everything before.")
      .def(nb::init<const std::vector<std::string>&, const std::string&>(), nb::arg("names"),
           nb::arg("space") = "aten")
      .def_prop_ro("names", &TorchKernels::names, "Operators that use them.")
      .def(
          "stand_aside", &TorchKernels::StandAside, nb::arg("aside"),
          "Whether calls from now on reach PyTorch's own kernels; find_stock_kernels must have "
          "found them. Calls of torchvision's operators reach namespace portacl_torchvision then.");
}

}  // namespace
}  // namespace portacl_python

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);
  m.doc() = "Calls of libportacl on array objects; portacl's public functions stand on it.";
  nb::class_<portacl_python::Block>(m, "Block", nb::type_slots(portacl_python::block_slots),
                                    "Writable memory of a large result (buffer protocol), which "
                                    "goes back to the pool when nothing refers to it.")
      .def(nb::init<size_t>(), nb::arg("nbytes"));
  portacl_python::DefineOperators(m);
  portacl_python::DefineSettings(m);
  portacl_python::DefineTorch(m);
  portacl_python::DefineJaxHandlers(m);
}
