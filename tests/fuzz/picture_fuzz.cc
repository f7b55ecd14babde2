// PNG and JPEG files: decoded within the budget, or refused.
#include <algorithm>

#include "fuzz/files.h"
#include "tools/picture/codec.h"
#include "tools/picture/image.h"

namespace {

namespace cli = portacl::cli;
constexpr uint32_t kMostSide = 1024;  // larger pictures are valid and take seconds

// A PNG's width or height.
uint32_t BigEndian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

bool IsLarge(portacl_fuzz::Bytes file) {
  return cli::IsPng(file) && file.size() >= 24 &&
         std::max(BigEndian(&file[16]), BigEndian(&file[20])) > kMostSide;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const portacl_fuzz::Bytes file(data, size);
  if (IsLarge(file)) return -1;
  portacl_fuzz::Reads([&] {
    const cli::Samples samples = cli::DecodeSamples(file, "picture");
    const auto pixels = static_cast<size_t>(samples.width) * static_cast<size_t>(samples.height);
    const size_t bytes = pixels * static_cast<size_t>(samples.channels) * (samples.deep ? 2 : 1);
    portacl_fuzz::Require(samples.bytes.size() == bytes, "samples are as many as the sides say");
    const cli::HostTensor tensor = cli::DecodePicture(file, "picture");
    portacl_fuzz::Require(
        static_cast<size_t>(tensor.count()) == pixels * static_cast<size_t>(samples.channels),
        "the tensor has every sample");
  });
  return 0;
}
