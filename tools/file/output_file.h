// A file that appears whole or not at all.
#ifndef PORTACL_TOOLS_FILE_OUTPUT_FILE_H_
#define PORTACL_TOOLS_FILE_OUTPUT_FILE_H_

#include <cstddef>
#include <string>

namespace portacl::cli {

// Writes into a new file in the folder of `path`. Commit() replaces `path` by it; until
// then, and if anything fails, the old file stays as it was. Without Commit() the new
// file is removed, even if a signal ends the program (but SIGKILL leaves
// `.portacl-*.tmp`). Links are followed. A device or a pipe is written in place. One
// OutputFile at a time.
class OutputFile {
 public:
  // Throws BadInput if no file can be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Both throw RuntimeFailure if the disk is full or fails.
  void Write(const void* data, size_t size);
  void Commit();

 private:
  [[noreturn]] void FailWriting(int error) const;

  std::string path_;       // as given, for messages
  std::string target_;     // behind links
  std::string temporary_;  // "" if the target is written in place
  int file_ = -1;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_FILE_OUTPUT_FILE_H_
