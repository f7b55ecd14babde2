// JPEG by libjpeg-turbo.
#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>
#include <utility>

#include "tools/cli_error.h"
#include "tools/picture/codec.h"
#include "tools/picture/exif.h"

namespace portacl::cli {
namespace {

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Destroy>;

struct FreeBuffer {
  void operator()(unsigned char* buffer) const { tjFree(buffer); }
};

Handle Checked(tjhandle handle) {
  if (handle == nullptr) throw RuntimeFailure("libjpeg-turbo cannot be used: out of memory");
  return Handle(handle);
}

}  // namespace

bool IsJpeg(std::span<const unsigned char> file) {
  return file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF;
}

Samples DecodeJpeg(std::span<const unsigned char> file, const std::string& name) {
  const Handle handle = Checked(tjInitDecompress());
  const auto refuse = [&] {
    throw BadInput(fmt::format("{}: damaged picture ({})", name, tjGetErrorStr2(handle.get())));
  };
  Samples samples;
  int subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), file.data(), file.size(), &samples.width, &samples.height,
                          &subsampling, &colours) != 0) {
    refuse();
  }
  CheckBudget(samples.width, samples.height, name);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    throw BadInput(fmt::format("{}: printing colours (CMYK); save the picture as RGB", name));
  }
  const bool grey = colours == TJCS_GRAY;
  samples.channels = grey ? 1 : 3;
  samples.bytes.resize(static_cast<size_t>(samples.width) * static_cast<size_t>(samples.height) *
                       static_cast<size_t>(samples.channels));
  // A picture in many thousand passes would keep a decoder busy for hours: at most 500 are read. A
  // picture that is cut short would be filled with grey.
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING;
  if (tjDecompress2(handle.get(), file.data(), file.size(), samples.bytes.data(), samples.width, 0,
                    samples.height, grey ? TJPF_GRAY : TJPF_RGB, kFlags) != 0) {
    refuse();
  }
  return Upright(std::move(samples), JpegOrientation(file));
}

std::string EncodeJpeg(const void* pixels, int width, int height, const std::string& name) {
  constexpr int kQuality = 92;
  const Handle handle = Checked(tjInitCompress());
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  const int status =
      tjCompress2(handle.get(), static_cast<const unsigned char*>(pixels), width, 0, height,
                  TJPF_RGB, &buffer, &size, TJSAMP_444, kQuality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, FreeBuffer> owner(buffer);
  if (status != 0) {
    throw RuntimeFailure(
        fmt::format("{}: the picture is not encoded: {}", name, tjGetErrorStr2(handle.get())));
  }
  return std::string(reinterpret_cast<const char*>(buffer), size);
}

}  // namespace portacl::cli
