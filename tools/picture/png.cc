// PNG by libpng: its calls are apart from C++ objects, because its errors jump over destructors.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <utility>

#include "tools/cli_error.h"
#include "tools/picture/codec.h"
#include "tools/picture/exif.h"

namespace portacl::cli {
namespace {

// A decoder at work on a file in memory.
struct PngReader {
  explicit PngReader(std::span<const unsigned char> bytes) : rest(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const unsigned char> rest;  // the part that is not read yet
  char error[128] = "";
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* const reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->error, sizeof(reader->error), "%s", message);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void TakeBytes(png_structp png, png_bytep destination, size_t size) {
  auto* const reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader->rest.size()) png_error(png, "the file ends early");
  std::copy_n(reader->rest.data(), size, destination);
  reader->rest = reader->rest.subspan(size);
}

// The next two are false after an error. A jump ends them: no object in them has a destructor.
bool ReadHeader(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, TakeBytes);
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // CheckBudget has its own
  png_read_info(reader.png, reader.info);
  return true;
}

bool ReadRows(PngReader& reader, unsigned char** rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

// Palettes and grey of few bits become 8 bits a channel; an alpha channel goes.
bool Unify(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_strip_alpha(reader.png);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

[[noreturn]] void Refuse(const std::string& name, const PngReader& reader) {
  throw BadInput(fmt::format("{}: damaged picture ({})", name, reader.error));
}

}  // namespace

bool IsPng(std::span<const unsigned char> file) {
  return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0;
}

Samples DecodePng(std::span<const unsigned char> file, const std::string& name) {
  PngReader reader(file);
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, OnError, OnWarning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) throw RuntimeFailure("libpng cannot be used: out of memory");
  if (!ReadHeader(reader)) Refuse(name, reader);
  CheckBudget(png_get_image_width(reader.png, reader.info),
              png_get_image_height(reader.png, reader.info), name);
  if (!Unify(reader)) Refuse(name, reader);
  Samples samples;
  samples.width = static_cast<int>(png_get_image_width(reader.png, reader.info));
  samples.height = static_cast<int>(png_get_image_height(reader.png, reader.info));
  samples.channels = png_get_channels(reader.png, reader.info);
  samples.deep = png_get_bit_depth(reader.png, reader.info) == 16;
  const size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  samples.bytes.resize(row_bytes * static_cast<size_t>(samples.height));
  std::vector<unsigned char*> rows(static_cast<size_t>(samples.height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = samples.bytes.data() + y * row_bytes;
  if (!ReadRows(reader, rows.data())) Refuse(name, reader);
  png_uint_32 exif_size = 0;
  unsigned char* exif = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &exif_size, &exif) == 0) return samples;
  return Upright(std::move(samples), ExifOrientation({exif, exif_size}));
}

std::string EncodePng(const void* pixels, int width, int height, const std::string& name) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  const int written = png_image_write_to_memory(&image, file.data(), &size, 0, pixels, 0, nullptr);
  if (written == 0) {
    throw RuntimeFailure(fmt::format("{}: the picture is not encoded: {}", name, image.message));
  }
  file.resize(size);
  return file;
}

}  // namespace portacl::cli
