// Children of a test that find no libdw: what guard mode prints there are addresses.
#ifndef PORTACL_TESTS_SUPPORT_API_WITHOUT_LIBDW_H_
#define PORTACL_TESTS_SUPPORT_API_WITHOUT_LIBDW_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/api/child_process.h"

namespace portacl_test {

// While it lives. The loader stops at a file of that name which is no library.
class WithoutLibdw {
 public:
  WithoutLibdw() : folder_(PathForChildren("without_libdw")) {
    std::filesystem::create_directories(folder_);
    std::ofstream{folder_ + "/libdw.so.1"};
    const char* const before = getenv("LD_LIBRARY_PATH");
    if (before != nullptr) before_ = before;
    setenv("LD_LIBRARY_PATH", (before != nullptr ? folder_ + ":" + before : folder_).c_str(), 1);
  }
  ~WithoutLibdw() {
    if (before_.empty()) unsetenv("LD_LIBRARY_PATH");
    if (!before_.empty()) setenv("LD_LIBRARY_PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  WithoutLibdw(const WithoutLibdw&) = delete;
  WithoutLibdw& operator=(const WithoutLibdw&) = delete;

 private:
  std::string folder_, before_;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_WITHOUT_LIBDW_H_
