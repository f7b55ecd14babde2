// The manifest of a golden set, and what it makes of the files that it names.
#include "fuzz/files.h"
#include "tools/testing/golden_set.h"
#include "tools/testing/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const portacl_fuzz::Folder& folder = portacl_fuzz::TheFolder();
  folder.Write(portacl::golden::kManifestName, {data, size});
  std::vector<portacl::golden::StoredCase> cases;
  portacl_fuzz::Reads([&] { cases = portacl::golden::ReadManifest(folder.path()); });
  for (const portacl::golden::StoredCase& stored : cases) {
    for (const portacl::golden::StoredOutput& output : stored.outputs) {
      portacl_fuzz::Reads([&] { portacl::golden::ReadOutput(output); });
    }
  }
  return 0;
}
