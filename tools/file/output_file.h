// A file that appears whole or not at all.
#ifndef PORTACL_TOOLS_FILE_OUTPUT_FILE_H_
#define PORTACL_TOOLS_FILE_OUTPUT_FILE_H_

#include <cstddef>
#include <string>

namespace portacl::cli {

// Writes into a new file in the folder of `path`, which takes the place of `path` in Commit():
// until then, and where anything fails, what was at `path` stays as it was. Where there is no
// Commit(), the new file goes, also where a signal ends the program (but SIGKILL, which leaves
// `.portacl-*.tmp`). A link is followed; what is no regular file (a device, a pipe) is written in
// place. One at a time.
class OutputFile {
 public:
  // Throws BadInput where no file can be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Both throw RuntimeFailure where the disk is full or fails.
  void Write(const void* data, size_t size);
  void Commit();

 private:
  [[noreturn]] void FailWriting(int error) const;

  std::string path_;       // as given, for messages
  std::string target_;     // behind links
  std::string temporary_;  // "" where the target is written in place
  int file_ = -1;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_FILE_OUTPUT_FILE_H_
