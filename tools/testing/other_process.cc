// Pipes, patience and the words for a process that ended.
#include "tools/testing/other_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tools/cli_error.h"
#include "tools/testing/crash_report.h"

namespace portacl::golden {
namespace {

namespace fs = std::filesystem;

// Beside this program (build, Python package), or in libexec of its install tree.
std::string ProgramPath() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path :
       {here / "portacl-call", here / ".." / "libexec" / "portacl" / "portacl-call"}) {
    if (fs::exists(path)) return path.string();
  }
  throw cli::RuntimeFailure(fmt::format("{}: portacl-call is not there", here.string()));
}

// This process's environment, with the library's folder first in the list of library folders.
// portacl's operators get one thread unless another number is asked for, because cases run side by
// side.
std::vector<std::string> Environment(const std::string& folder) {
  std::vector<std::string> variables = {"PORTACL_NUM_THREADS=1"};
  std::string path = folder;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string variable = *at;
    if (variable.rfind("LD_LIBRARY_PATH=", 0) == 0) {
      path += (path.empty() ? "" : ":") + variable.substr(16);
    } else if (variable.rfind("PORTACL_NUM_THREADS=", 0) == 0) {
      variables[0] = variable;
    } else {
      variables.push_back(variable);
    }
  }
  if (!path.empty()) variables.push_back("LD_LIBRARY_PATH=" + path);
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

OtherProcess::OtherProcess(std::string library_folder, std::vector<std::string> files,
                           double seconds_of_patience)
    : folder_(std::move(library_folder)), files_(std::move(files)), patience_(seconds_of_patience) {
  signal(SIGPIPE, SIG_IGN);  // a process that ended is an error of write()
}

OtherProcess::~OtherProcess() {
  if (process_ >= 0) static_cast<void>(End(""));
}

void OtherProcess::Start() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) throw cli::RuntimeFailure("no pipe can be made");
  if (pipe2(from, O_CLOEXEC) != 0) {
    close(to[0]);
    close(to[1]);
    throw cli::RuntimeFailure("no pipe can be made");
  }
  std::vector<std::string> arguments = {ProgramPath(), folder_}, variables = Environment(folder_);
  arguments.insert(arguments.end(), files_.begin(), files_.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  const int error = posix_spawn(&process_, arguments[0].c_str(), &actions, nullptr,
                                Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  to_ = to[1];
  from_ = from[0];
  if (error != 0) {
    process_ = -1;
    throw cli::RuntimeFailure(fmt::format("{}: {}", arguments[0], std::strerror(error)));
  }
  late_ = false;
  const std::string problem = ReadText();
  missing_ = ReadText();
  if (late_ || !problem.empty()) {
    const std::string end = End("ended");
    throw cli::BadInput(problem.empty() ? fmt::format("{}: the library cannot be loaded: {}",
                                                      folder_.empty() ? files_.at(0) : folder_, end)
                                        : problem);
  }
}

// Ends the process and says how it ended. Returns `otherwise` if it had ended by itself, in order.
std::string OtherProcess::End(const char* otherwise) {
  if (late_) kill(process_, SIGKILL);
  close(to_);
  close(from_);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (late_) return fmt::format("no answer within {:g} s; the process was ended", patience_);
  if (WIFSIGNALED(status)) {
    return fmt::format("the library crashed: signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return fmt::format("the library ended the process with exit status {}", WEXITSTATUS(status));
  }
  return otherwise;
}

// False if the other side has ended or is late (late_).
bool OtherProcess::Read(void* data, size_t size) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(patience_));
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd wanted{from_, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) late_ = true;
    if (ready <= 0) return false;
    const ssize_t got = read(from_, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

std::string OtherProcess::ReadText() {
  uint32_t size = 0;
  if (!Read(&size, sizeof(size))) return "";
  std::string text(size, '\0');
  return Read(text.data(), size) ? text : "";
}

// False if not all of it came.
bool OtherProcess::ReadCall(CallAnswer& call) {
  if (!Read(&call.status, sizeof(call.status))) return false;
  call.call = ReadText();
  call.message = ReadText();
  uint32_t outputs = 0;
  bool whole = Read(&outputs, sizeof(outputs));
  for (uint32_t i = 0; whole && i < outputs; ++i) {
    uint64_t size = 0;
    whole = Read(&size, sizeof(size));
    call.outputs.emplace_back(whole ? size : 0);
    whole = whole && Read(call.outputs.back().data(), size);
  }
  return whole;
}

Answer OtherProcess::Ask(const Case& c, Hardships hardships) {
  if (process_ < 0) Start();
  const std::string line = fmt::format("{} {}\n", hardships, ToString(c));
  Answer answer;
  uint32_t calls = 0;
  bool whole = write(to_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
               Read(&calls, sizeof(calls));
  if (whole && calls == kCrashed) {
    const std::string report = ReadableCrash(ReadText());
    answer.problem = End("the library crashed");
    if (!report.empty()) answer.problem += (report[0] == '\n' ? "" : " ") + report;
    return answer;
  }
  for (uint32_t i = 0; whole && i < calls; ++i) whole = ReadCall(answer.calls.emplace_back());
  uint32_t functions = 0;
  whole = whole && Read(&functions, sizeof(functions));
  for (uint32_t i = 0; whole && i < functions; ++i) {
    FunctionFile function;
    function.name = ReadText();
    function.file = ReadText();
    answer.functions.push_back(std::move(function));
  }
  if (!whole) {
    answer.late = late_;
    answer.problem = End("the library ended the process");
  }
  return answer;
}

}  // namespace portacl::golden
