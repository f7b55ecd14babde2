// Loads libportacl_aten.so when a program first calls a function that PyTorch's kernels
// compute.
#ifndef PORTACL_ATEN_LIBRARY_H_
#define PORTACL_ATEN_LIBRARY_H_

#include <string>

namespace portacl::aten {

struct Backend;

// Returns null if it cannot be loaded. WhyNone() says why, and what to do.
const Backend* LoadedBackend();
const std::string& WhyNone();

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_LIBRARY_H_
