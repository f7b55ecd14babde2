// Whole files in and out, with errors as one line.
#ifndef PORTACL_TOOLS_FILE_FILE_IO_H_
#define PORTACL_TOOLS_FILE_FILE_IO_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace portacl::cli {

// A regular file opened for reading; throws BadInput if that fails or it reads short.
class InputFile {
 public:
  explicit InputFile(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  uint64_t remaining() const { return size_ - position_; }

  // Reads exactly `size` bytes; `what` names them in the message ("header", "data").
  void Read(void* destination, size_t size, const char* what);

 private:
  std::string path_;
  std::ifstream stream_;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
};

// Whether there is a folder of this name; throws BadInput if the system does not tell.
bool IsFolder(const std::string& path);

// The whole of a file.
std::string ReadText(const std::string& path);

// Writes a file in two pieces (either may be empty), whole or not at all (output_file.h). Throws
// BadInput if it cannot be created, RuntimeFailure if the data does not fit.
void WriteFile(const std::string& path, const std::string& head, const void* body,
               size_t body_size);

// "png" of "out/Picture.PNG": the extension in lower case, without the dot; "" for none.
std::string Extension(const std::string& path);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_FILE_FILE_IO_H_
