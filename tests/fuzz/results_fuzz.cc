// Results to be judged: .npy and .bin files of a wanted type and shape. The first bytes of an input
// give the wanted type and shape, the rest is the file.
#include <array>

#include "fuzz/files.h"
#include "tools/testing/compare_set.h"

namespace {

constexpr size_t kHead = 4;  // type and kind of file; rank; two extents
constexpr std::array kTypes = {portacl::DataType::kFloat32, portacl::DataType::kFloat16,
                               portacl::DataType::kBFloat16, portacl::DataType::kFloat64};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHead) return -1;
  const auto type = kTypes[data[0] % kTypes.size()];
  portacl::cli::Shape shape(data[1] % 6, 1);
  if (!shape.empty()) shape.back() = data[2];
  if (shape.size() > 1) shape.front() = data[3];
  const portacl_fuzz::Folder& folder = portacl_fuzz::TheFolder();
  const bool raw = (data[0] & 0x80) != 0;
  const std::string path = folder.Write(raw ? "y.bin" : "y.npy", {data + kHead, size - kHead});
  portacl_fuzz::Reads([&] {
    const auto bytes = portacl::golden::ReadActual(folder.path(), "y", 0, type, shape);
    portacl_fuzz::Require(bytes.size() <= size - kHead, "a result is no larger than its file");
  });
  std::filesystem::remove(path);
  return 0;
}
