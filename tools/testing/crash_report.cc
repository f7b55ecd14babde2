// The handler, which allocates nothing and writes a text, and the report that another process makes
// from the text.
//
// The text: a line about the address, then "FUNCTION OFFSET FILE" for each frame, the innermost
// first, "?" if no function is known.
#include "tools/testing/crash_report.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <vector>

namespace portacl::golden {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr size_t kNear = size_t{1}
                         << 30;  // farther from a tensor, an address has nothing to do with it
constexpr int kFrames = 32, kOwnFrames = 8;

struct Tensor {
  const char* name;
  uintptr_t begin, end;
};
std::array<Tensor, 16> tensors;
size_t tensor_count = 0;
int report_file = -1;
std::array<char, 64 * 1024> handler_stack;
std::array<char, 16 * 1024> text;  // of the report, behind its head
size_t text_size = 0;

template <class... Args>
void Add(fmt::format_string<Args...> format, Args&&... args) {
  const auto [end, size] = fmt::format_to_n(text.data() + text_size, text.size() - text_size,
                                            format, std::forward<Args>(args)...);
  text_size = std::min(text_size + size, text.size());
}

void AddAddress(uintptr_t address) {
  Add("at address {:#x}", address);
  if (address < 4096) return Add(", which is close to null");
  const Tensor* nearest = nullptr;
  size_t distance = kNear;
  for (size_t i = 0; i < tensor_count; ++i) {
    const Tensor& t = tensors[i];
    const size_t d = address < t.begin ? t.begin - address : address >= t.end ? address - t.end : 0;
    if (d >= distance) continue;
    distance = d;
    nearest = &t;
  }
  if (nearest == nullptr) return Add(", near no tensor");
  if (address < nearest->begin) {
    Add(", {} bytes before {}", nearest->begin - address, nearest->name);
  } else {
    Add(", byte {} of {}, which has {}", address - nearest->begin, nearest->name,
        nearest->end - nearest->begin);
  }
}

uintptr_t InterruptedAddress([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

void AddStack(const void* context) {
  std::array<void*, kFrames> frames;
  const int count = backtrace(frames.data(), kFrames);
  auto* const end = frames.begin() + count;
  auto* first = std::find(frames.begin(), frames.begin() + std::min(count, kOwnFrames),
                          reinterpret_cast<void*>(InterruptedAddress(context)));
  if (first == frames.begin() + std::min(count, kOwnFrames)) first = frames.begin();
  for (auto* frame = first; frame != end; ++frame) {
    Dl_info info{};
    if (dladdr(*frame, &info) == 0 || info.dli_fname == nullptr) continue;
    // The line of a return address may be the next one: the call lies just before that address.
    const uintptr_t address = reinterpret_cast<uintptr_t>(*frame) - (frame == first ? 0 : 1);
    Add("\n{} {:#x} {}", info.dli_sname != nullptr ? info.dli_sname : "?",
        address - reinterpret_cast<uintptr_t>(info.dli_fbase), info.dli_fname);
  }
}

void OnCrash(int signal, siginfo_t* info, void* context) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int each : kSignals) sigaction(each, &usual, nullptr);
  text_size = 0;
  if (signal == SIGSEGV || signal == SIGBUS) {
    AddAddress(reinterpret_cast<uintptr_t>(info->si_addr));
  }
  AddStack(context);
  const auto size = static_cast<uint32_t>(text_size);
  const uint32_t head[] = {kCrashed, size};
  const bool told = write(report_file, head, sizeof head) == sizeof head &&
                    write(report_file, text.data(), size) == static_cast<ssize_t>(size);
  static_cast<void>(told);  // nobody is left to tell otherwise
  raise(signal);
}

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> found(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return found != nullptr ? found.get() : name;
}

std::string Quoted(const std::string& file) {
  std::string quoted = "'";
  for (const char c : file) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// "Sample(Plan const&) at own_kernel.cc:112", or "" if that is not known. Many cases crash at
// one place.
std::string SourceOf(const std::string& file, const std::string& offset) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const std::string command =
      fmt::format("addr2line -Cfpse {} {} 2>/dev/null", Quoted(file), offset);
  if (const auto found = known.find(command); found != known.end()) return found->second;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::array<char, 1024> line{};
  const bool read = std::fgets(line.data(), line.size(), pipe) != nullptr;
  pclose(pipe);
  std::string source = read ? line.data() : "";
  if (!source.empty() && source.back() == '\n') source.pop_back();
  if (source.ends_with(":?")) source.resize(source.rfind(" at "));  // without lines
  return known[command] = source.rfind("??", 0) == 0 ? "" : source;
}

}  // namespace

void ReportCrashes(int file) {
  report_file = file;
  void* frame = nullptr;
  backtrace(&frame, 1);  // the first call loads a library
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

void NoteTensor(const char* name, const void* data, size_t size) {
  if (tensor_count == tensors.size()) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  tensors[tensor_count++] = {name, begin, begin + size};
}

void ForgetTensors() { tensor_count = 0; }

std::string ReadableCrash(const std::string& report) {
  std::istringstream lines(report);
  std::string readable, line;
  std::getline(lines, readable);
  constexpr int kMostShown = 12;
  for (int i = 0; i < kMostShown && std::getline(lines, line); ++i) {
    std::istringstream words(line);
    std::string function, file, offset;
    words >> function >> offset >> std::ws;
    std::getline(words, file);
    // The frames of the program that made the call are not the library's.
    if (file.ends_with("portacl-call")) break;
    std::string source = SourceOf(file, offset);
    if (source.empty() && function != "?") source = Demangled(function);
    readable +=
        fmt::format("\n    #{} {}{}({}+{})", i, source, source.empty() ? "" : " ", file, offset);
  }
  return readable;
}

}  // namespace portacl::golden
