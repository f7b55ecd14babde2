// A step of the build: asks libportacl_aten.so for what each row of src/aten/functions.txt calls.
//
//   portacl_aten_rows LIBRARY LACKING VERSION...
//
// LACKING is src/aten/lacking.txt: PyTorch must lack the operators of its rows, and all other rows
// must be accepted. Mistakes end the build if PyTorch has one of the versions; else they are
// warnings.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>

#include "aten/backend.h"
#include "aten/row.h"

namespace {

using portacl::aten::Backend;
using portacl::aten::Parameter;
using portacl::aten::Row;

#include "aten_rows.inc"

// What the file has below "## PyTorch <version>".
std::set<std::string> Lacking(const char* path, const std::string& version) {
  std::ifstream file(path);
  std::set<std::string> functions;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind('#', 0) == 0) {
      here = line == "## PyTorch " + version;
      continue;
    }
    std::istringstream names(line);
    for (std::string name; here && names >> name;) functions.insert("aclnn" + name);
  }
  return functions;
}

int CountWrong(const Backend& backend, const std::set<std::string>& lacking,
               std::span<const Row* const> rows) {
  int wrong = 0;
  for (const Row* const row : rows) {
    const std::string error = backend.check_row(*row);
    const bool lacks = error.find(" has no operator ") != error.npos;
    if (lacking.count(row->function) != 0 ? lacks : error.empty()) continue;
    std::fprintf(stderr, "src/aten/functions.txt: %s = %s: %s\n", row->function, row->right,
                 error.empty() ? "PyTorch has it, but lacking.txt names it" : error.c_str());
    ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* const symbol = handle == nullptr ? nullptr : dlsym(handle, portacl::aten::kBackendFunction);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const Backend& backend = *reinterpret_cast<portacl::aten::BackendFunction>(symbol)();
  const std::set<std::string> lacking = Lacking(argv[2], backend.torch);
  const int wrong =
      CountWrong(backend, lacking, kRows) + CountWrong(backend, lacking, kFallbackRows);
  const std::string torch = backend.torch;
  const bool claimed = std::find(argv + 3, argv + argc, torch) != argv + argc;
  if (wrong != 0 && !claimed) {
    std::fprintf(stderr, "warning: PyTorch %s: functions with these rows answer 561103\n",
                 backend.torch);
  }
  std::_Exit(wrong == 0 || !claimed ? 0 : 1);  // PyTorch's end takes longer than the work
}
