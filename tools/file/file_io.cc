// Opening, reading and writing of whole files.
#include "tools/file/file_io.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/cli_error.h"
#include "tools/file/output_file.h"

namespace portacl::cli {
namespace {

// The status of a file or folder, also of one that is not there. Throws BadInput if the system does
// not tell.
std::filesystem::file_status StatusOf(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    throw BadInput(fmt::format("{}: cannot be read: {}", path, error.message()));
  }
  return status;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  const auto status = StatusOf(path);
  if (!std::filesystem::exists(status)) throw BadInput(fmt::format("{}: no such file", path));
  if (!std::filesystem::is_regular_file(status)) {
    throw BadInput(fmt::format("{}: not a regular file", path));
  }
  std::error_code error;
  size_ = std::filesystem::file_size(path, error);
  errno = 0;
  stream_.open(path, std::ios::binary);
  if (error || !stream_) {
    throw BadInput(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
}

void InputFile::Read(void* destination, size_t size, const char* what) {
  if (size > remaining()) {
    throw BadInput(fmt::format("{}: truncated: {} needs {} bytes, but {} are left", path_, what,
                               size, remaining()));
  }
  stream_.read(static_cast<char*>(destination), static_cast<std::streamsize>(size));
  if (!stream_) throw BadInput(fmt::format("{}: reading failed in {}", path_, what));
  position_ += size;
}

bool IsFolder(const std::string& path) { return std::filesystem::is_directory(StatusOf(path)); }

std::string ReadText(const std::string& path) {
  InputFile file(path);
  std::string text(file.size(), '\0');
  file.Read(text.data(), text.size(), "text");
  return text;
}

void WriteFile(const std::string& path, const std::string& head, const void* body,
               size_t body_size) {
  OutputFile file(path);
  file.Write(head.data(), head.size());
  file.Write(body, body_size);
  file.Commit();
}

std::string Extension(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace portacl::cli
