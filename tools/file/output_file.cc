// The new file beside the old one, and its removal at every end of the program.
#include "tools/file/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/cli_error.h"

namespace portacl::cli {
namespace {

// For the signal handler: the name of the unfinished file; "" if there is none.
char unfinished[4096];

extern "C" void RemoveAndEnd(int signal) {
  if (unfinished[0] != '\0') unlink(unfinished);
  raise(signal);  // SA_RESETHAND: its own default now
}

// Signals that someone ignores or handles already (nohup, a sanitizer) stay theirs.
void RemoveAtSignals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                           SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action = {};
    action.sa_handler = RemoveAndEnd;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(signal, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), not an end
}

// `path` with its last component's links followed, also to a file that does not exist yet.
std::filesystem::path BehindLinks(std::filesystem::path path) {
  std::error_code error;
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) break;
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

[[noreturn]] void FailOpening(const std::string& path, int error) {
  throw BadInput(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
}

// A new file in `folder`. The signal handler knows its name before it exists.
int MakeUnfinished(const std::filesystem::path& folder, const std::string& path) {
  static unsigned number = 0;
  while (true) {
    const std::string name =
        (folder / fmt::format(".portacl-{}-{}.tmp", getpid(), number++)).string();
    if (name.size() >= sizeof(unfinished)) FailOpening(path, ENAMETOOLONG);
    std::memcpy(unfinished, name.c_str(), name.size() + 1);
    const int file = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return file;
    const int error = errno;
    unfinished[0] = '\0';
    if (error != EEXIST) FailOpening(path, error);  // one of a process that was killed stays
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  static const bool armed = (RemoveAtSignals(), true);
  static_cast<void>(armed);
  const std::filesystem::path target = BehindLinks(path);
  target_ = target.string();
  struct stat status = {};
  const bool exists = stat(target_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) FailOpening(path_, errno);
    return;
  }
  // A file that may not be written must not be replaced either.
  if (exists && access(target_.c_str(), W_OK) != 0) FailOpening(path_, errno);
  if (target_.empty() || target_.back() == '/') FailOpening(path_, EISDIR);
  file_ = MakeUnfinished(target.parent_path(), path_);
  temporary_ = unfinished;
  if (exists) static_cast<void>(fchmod(file_, status.st_mode & 07777));
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  unfinished[0] = '\0';
}

void OutputFile::Write(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) FailWriting(written < 0 ? errno : ENOSPC);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

void OutputFile::Commit() {
  const int file = file_;
  file_ = -1;
  if (close(file) != 0) FailWriting(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) FailWriting(errno);
  unfinished[0] = '\0';
  temporary_.clear();
}

void OutputFile::FailWriting(int error) const {
  throw RuntimeFailure(fmt::format("{}: writing failed: {}", path_, std::strerror(error)));
}

}  // namespace portacl::cli
