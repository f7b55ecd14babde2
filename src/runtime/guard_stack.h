// Stacks in guard mode: taken at each allocation and fault, printed without allocating memory.
#ifndef PORTACL_RUNTIME_GUARD_STACK_H_
#define PORTACL_RUNTIME_GUARD_STACK_H_

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace portacl::runtime {

constexpr int kGuardFrames = 24;

struct GuardStack {
  std::array<void*, kGuardFrames> frames{};
  int count = 0;
  // True if the first frame is the interrupted instruction. All other frames are return
  // addresses.
  bool interrupted = false;
};

// Takes the caller's stack without the `own` innermost frames, which belong to this library. The
// first call of a process loads a library; later calls may happen in a signal handler.
GuardStack CaptureStack(int own);

// Takes the stack of code that a signal interrupted. `context` is the handler's third argument.
GuardStack CaptureInterruptedStack(const void* context);

// ---- for signal handlers: no allocation, plain writes to stderr ---------------------------------

// Returns false if the file does not take the whole text.
bool WriteAll(int file, std::string_view text);

void Print(std::string_view text);

template <class... Args>
void PrintLine(fmt::format_string<Args...> format, Args&&... args) {
  std::array<char, 512> line;
  const fmt::string_view text = format;
  char* const end =
      fmt::vformat_to_n(line.data(), line.size() - 1, text, fmt::make_format_args(args...)).out;
  *end = '\n';
  Print(std::string_view(line.data(), static_cast<size_t>(end - line.data()) + 1));
}

// Prints the title, then functions and lines. If they are unknown, prints addresses, and for each
// file the addr2line command that names them.
void PrintStack(const char* title, const GuardStack& stack);

// ---- elsewhere ----------------------------------------------------------------------------------

// Returns the text that PrintStack() prints below the title.
std::string DescribeStack(const GuardStack& stack);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_STACK_H_
