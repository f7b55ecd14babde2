// .npy files: whatever is read is written and read again to the same bits.
#include <optional>

#include "fuzz/files.h"
#include "tools/file/npy.h"

namespace {

namespace cli = portacl::cli;
using portacl_fuzz::Require;

void CheckRoundTrip(const cli::HostTensor& tensor) {
  const std::string copy = portacl_fuzz::TheFolder().path() + "/copy.npy";
  cli::WriteNpy(copy, tensor);
  const cli::HostTensor again = cli::ReadNpy(copy);
  Require(again.dtype() == tensor.dtype() && again.shape() == tensor.shape(),
          "type and shape stay");
  Require(tensor.count() == 0 || cli::FirstDifference(tensor, again) < 0, "bits stay");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = portacl_fuzz::TheFolder().Write("in.npy", {data, size});
  std::optional<cli::HostTensor> tensor;
  portacl_fuzz::Reads([&] { tensor = cli::ReadNpy(path); });
  if (tensor) CheckRoundTrip(*tensor);
  portacl_fuzz::Reads([&] {
    const cli::NpyArray array = cli::ReadNpyArray(path);
    Require(array.bytes.size() <= size, "an array is no larger than its file");
  });
  return 0;
}
