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
#include "host_threads.h"
#include "jax/handlers.h"
#include "plan_cache.h"
#include "result_pool.h"
#include "torch_kernels.h"

namespace nb = nanobind;

namespace portacl_python {
namespace {

using Scales = std::array<double, 3>;

// Throws the Python exception that fits a code, with the library's message.
void Check(int32_t code) {
  if (code == PORTACL_OK) return;
  PyObject* type = PyExc_RuntimeError;
  if (code == PORTACL_ERROR_NULL || code == PORTACL_ERROR_INVALID) type = PyExc_ValueError;
  if (code == PORTACL_ERROR_RUNTIME) type = PyExc_MemoryError;
  if (code == PORTACL_ERROR_NO_KERNEL) type = PyExc_NotImplementedError;
  PyErr_SetString(type, portaclGetErrorMessage());
  throw nb::python_error();
}

// Lets other threads have the GIL while it lives. Before 3.14, Python ends a daemon thread that
// asks for the GIL when the interpreter has ended: pthread_exit unwinds the stack, and would meet
// frames that let nothing out. Such a thread sleeps until the process is gone, as 3.14 has it.
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

// A call that reads one array and writes another; messages name the first `name`.
void RunOnTwo(Call call, nb::handle from, const char* name, nb::handle to, int32_t threads) {
  const ArrayView from_view(from, name, ArrayView::Access::kRead);
  const ArrayView to_view(to, "out", ArrayView::Access::kWrite);
  call.tensors = {&from_view.tensor(), &to_view.tensor()};
  Run(call, threads);
}

constexpr bool IsBackward(Op op) {
  return op == Op::kUpsampleNearestExactBackward || op == Op::kUpsampleNearestBackward ||
         op == Op::kUpsampleLinearBackward || op == Op::kUpsampleCubicBackward;
}

// Nearest and nearest-exact, in either direction.
template <Op op>
void UpsampleNearest(nb::handle from, nb::handle to, Scales scales, int32_t threads) {
  Call call{op};
  call.scales = scales;
  RunOnTwo(call, from, IsBackward(op) ? "grad_output" : "input", to, threads);
}

// Linear and cubic, in either direction.
template <Op op>
void Upsample(nb::handle from, nb::handle to, Scales scales, bool align_corners, bool antialias,
              int32_t threads) {
  Call call{op};
  call.scales = scales;
  call.align_corners = align_corners;
  call.antialias = antialias;
  RunOnTwo(call, from, IsBackward(op) ? "grad_output" : "input", to, threads);
}

template <Op op>
void AffineGrid(nb::handle from, nb::handle to, bool align_corners, int32_t threads) {
  Call call{op};
  call.align_corners = align_corners;
  RunOnTwo(call, from, op == Op::kAffineGrid ? "theta" : "grid_grad", to, threads);
}

// Of images or, where `op` says so, of volumes.
template <Op op>
void GridSampler(nb::handle input, nb::handle grid, nb::handle output, int32_t interpolation,
                 int32_t padding, bool align_corners, int32_t threads) {
  const ArrayView input_view(input, "input", ArrayView::Access::kRead);
  const ArrayView grid_view(grid, "grid", ArrayView::Access::kRead);
  const ArrayView output_view(output, "out", ArrayView::Access::kWrite);
  Call call{op};
  call.tensors = {&input_view.tensor(), &grid_view.tensor(), &output_view.tensor()};
  call.interpolation = interpolation;
  call.padding = padding;
  call.align_corners = align_corners;
  Run(call, threads);
}

template <Op op>
void GridSamplerBackward(nb::handle grad_output, nb::handle input, nb::handle grid,
                         nb::handle input_grad, nb::handle grid_grad, int32_t interpolation,
                         int32_t padding, bool align_corners, int32_t threads) {
  const ArrayView grad_output_view(grad_output, "grad_output", ArrayView::Access::kRead);
  const ArrayView input_view(input, "input", ArrayView::Access::kRead);
  const ArrayView grid_view(grid, "grid", ArrayView::Access::kRead);
  std::optional<ArrayView> input_grad_view;
  std::optional<ArrayView> grid_grad_view;
  Call call{op};
  call.tensors = {&grad_output_view.tensor(), &input_view.tensor(), &grid_view.tensor()};
  if (!input_grad.is_none()) {
    input_grad_view.emplace(input_grad, "input_grad", ArrayView::Access::kWrite);
    call.tensors[3] = &input_grad_view->tensor();
  }
  if (!grid_grad.is_none()) {
    grid_grad_view.emplace(grid_grad, "grid_grad", ArrayView::Access::kWrite);
    call.tensors[4] = &grid_grad_view->tensor();
  }
  call.interpolation = interpolation;
  call.padding = padding;
  call.align_corners = align_corners;
  Run(call, threads);
}

nb::tuple Describe(nb::handle array, const char* name) {
  const ArrayView view(array, name, ArrayView::Access::kRead);
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

void DefineOperators(nb::module_& m) {
  const auto threads_argument = nb::arg("threads") = 0;  // of this call; 0: what the process has
  const auto nearest = [&](const char* name, auto* function, const char* from, const char* to) {
    m.def(name, function, nb::arg(from), nb::arg(to), nb::arg("scales"), threads_argument,
          "Resizes, or sums what resizing has copied; a scale of 0: from the sizes.");
  };
  nearest("upsample_nearest_exact", &UpsampleNearest<Op::kUpsampleNearestExact>, "input", "output");
  nearest("upsample_nearest_exact_backward", &UpsampleNearest<Op::kUpsampleNearestExactBackward>,
          "grad_output", "grad_input");
  nearest("upsample_nearest", &UpsampleNearest<Op::kUpsampleNearest>, "input", "output");
  nearest("upsample_nearest_backward", &UpsampleNearest<Op::kUpsampleNearestBackward>,
          "grad_output", "grad_input");
  const auto resize = [&](const char* name, auto* function, const char* from, const char* to) {
    m.def(name, function, nb::arg(from), nb::arg(to), nb::arg("scales"), nb::arg("align_corners"),
          nb::arg("antialias"), threads_argument,
          "Resizes, or applies the transpose; a scale of 0: from the sizes.");
  };
  resize("upsample_linear", &Upsample<Op::kUpsampleLinear>, "input", "output");
  resize("upsample_linear_backward", &Upsample<Op::kUpsampleLinearBackward>, "grad_output",
         "grad_input");
  resize("upsample_cubic", &Upsample<Op::kUpsampleCubic>, "input", "output");
  resize("upsample_cubic_backward", &Upsample<Op::kUpsampleCubicBackward>, "grad_output",
         "grad_input");
  m.def("affine_grid", &AffineGrid<Op::kAffineGrid>, nb::arg("theta"), nb::arg("grid"),
        nb::arg("align_corners"), threads_argument, "The grid of affine maps.");
  m.def("affine_grid_backward", &AffineGrid<Op::kAffineGridBackward>, nb::arg("grid_grad"),
        nb::arg("theta_grad"), nb::arg("align_corners"), threads_argument,
        "The gradient of affine maps from that of their grid.");
  const auto forward = [&](const char* name, auto* function) {
    m.def(name, function, nb::arg("input"), nb::arg("grid"), nb::arg("output"),
          nb::arg("interpolation"), nb::arg("padding"), nb::arg("align_corners"), threads_argument,
          "Samples input at the points of grid into output.");
  };
  forward("grid_sampler_2d", &GridSampler<Op::kGridSampler2D>);
  forward("grid_sampler_3d", &GridSampler<Op::kGridSampler3D>);
  const auto backward = [&](const char* name, auto* function) {
    m.def(name, function, nb::arg("grad_output"), nb::arg("input"), nb::arg("grid"),
          nb::arg("input_grad").none(), nb::arg("grid_grad").none(), nb::arg("interpolation"),
          nb::arg("padding"), nb::arg("align_corners"), threads_argument,
          "Gradients of sampling; None for one that is not wanted.");
  };
  backward("grid_sampler_2d_backward", &GridSamplerBackward<Op::kGridSampler2DBackward>);
  backward("grid_sampler_3d_backward", &GridSamplerBackward<Op::kGridSampler3DBackward>);
  m.def("describe", &Describe, nb::arg("array"), nb::arg("name"),
        nb::sig("def describe(array: object, name: str) -> tuple[tuple[int, ...], str]"),
        "Shape and dtype name of an array; name is what messages call it.");
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
      .def(nb::init<const std::vector<std::string>&>(), nb::arg("names"))
      .def_prop_ro("names", &TorchKernels::names, "Operators of aten that use them.")
      .def("stand_aside", &TorchKernels::StandAside, nb::arg("aside"),
           "Whether calls from now on reach PyTorch's own kernels; find_stock_kernels must have "
           "found them.");
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
