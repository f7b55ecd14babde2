// libportacl_aten.so as libportacl.so sees it: loaded when a program first calls a function of the
// table.
#ifndef PORTACL_ATEN_LIBRARY_H_
#define PORTACL_ATEN_LIBRARY_H_

#include <string>

namespace portacl::aten {

struct Backend;

// Null where it cannot be loaded: WhyNone() says why, and what to do.
const Backend* LoadedBackend();
const std::string& WhyNone();

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_LIBRARY_H_
