// Readers take paths: the bytes of an input as a file in a folder of the process's own.
#ifndef PORTACL_TESTS_FUZZ_FILES_H_
#define PORTACL_TESTS_FUZZ_FILES_H_

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/script.h"
#include "tools/cli_error.h"

namespace portacl_fuzz {

// In memory where the system has a file system for that, and gone with the process.
class Folder {
 public:
  Folder() {
    std::string pattern = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    pattern += "/portacl-fuzz-XXXXXX";
    Require(mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, Bytes bytes) const {
    const std::string path = path_ + "/" + name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    Require(file.flush().good(), "the input can be written");
    return path;
  }

 private:
  std::string path_;
};

inline const Folder& TheFolder() {
  static const Folder folder;
  return folder;
}

// Runs a reader. It refuses input by one of two exceptions; any other exception ends the process.
// False if it threw.
template <class Read>
bool Reads(const Read& read) {
  try {
    read();
    return true;
  } catch (const portacl::cli::BadInput& error) {
    Require(*error.what() != '\0', "a refusal says why");
  } catch (const portacl::cli::RuntimeFailure& error) {
    Require(*error.what() != '\0', "a failure says why");
  }
  return false;
}

}  // namespace portacl_fuzz

#endif  // PORTACL_TESTS_FUZZ_FILES_H_
