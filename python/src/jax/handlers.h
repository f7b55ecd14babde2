// The operators as custom calls of XLA's FFI. Compiled if the building Python has JAX.
#ifndef PORTACL_PYTHON_JAX_HANDLERS_H_
#define PORTACL_PYTHON_JAX_HANDLERS_H_

#include <nanobind/nanobind.h>

namespace portacl_python {

// jax_handlers(): target name -> capsule, for jax.ffi.register_ffi_target.
void DefineJaxHandlers(nanobind::module_& m);

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_JAX_HANDLERS_H_
