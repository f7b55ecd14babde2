// Takes and prints stacks by backtrace(3) and dladdr(3).
#include "runtime/guard_stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "runtime/guard_lines.h"

namespace portacl::runtime {
namespace {

void* InterruptedAddress([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  return reinterpret_cast<void*>(machine->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

struct Place {
  const char* file = nullptr;  // null: in no loaded file
  uintptr_t base = 0;          // what addr2line needs subtracted
};

Place PlaceOf(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  // In a program that is not relocated, addresses are the file's addresses.
  return {info.dli_fname,
          header->e_type == ET_EXEC ? 0 : reinterpret_cast<uintptr_t>(info.dli_fbase)};
}

// Writes one command for all frames in the same file as frame `first`.
template <class Write>
void WriteCommand(const GuardStack& stack, int first, const Write& write) {
  const Place place = PlaceOf(stack.frames[static_cast<size_t>(first)]);
  write("functions and lines: addr2line -Cfpie ");
  write(place.file);
  for (int i = first; i < stack.count; ++i) {
    void* const frame = stack.frames[static_cast<size_t>(i)];
    if (PlaceOf(frame).file != place.file) continue;
    // A return address may belong to another line or function. The call is just before it.
    const int back = stack.interrupted && i == 0 ? 0 : 1;
    const uintptr_t address = reinterpret_cast<uintptr_t>(frame) - static_cast<uintptr_t>(back);
    std::array<char, 24> text;
    const auto end = fmt::format_to_n(text.data(), text.size(), " {:#x}", address - place.base);
    write(std::string_view(text.data(), end.size));
  }
  write("\n");
}

// Writes a line with a command for each file of the stack. write(std::string_view) may be called in
// a signal handler.
template <class Write>
void WriteCommands(const GuardStack& stack, std::string_view indent, const Write& write) {
  for (int i = 0; i < stack.count; ++i) {
    const char* const file = PlaceOf(stack.frames[static_cast<size_t>(i)]).file;
    bool first = file != nullptr;
    for (int j = 0; j < i; ++j) {
      first = first && PlaceOf(stack.frames[static_cast<size_t>(j)]).file != file;
    }
    if (!first) continue;
    write(indent);
    WriteCommand(stack, i, write);
  }
}

}  // namespace

GuardStack CaptureStack(int own) {
  GuardStack stack;
  stack.count = backtrace(stack.frames.data(), kGuardFrames);
  const int dropped = std::min(own + 1, stack.count);  // this function has a frame, too
  std::copy(stack.frames.begin() + dropped, stack.frames.begin() + stack.count,
            stack.frames.begin());
  stack.count -= dropped;
  return stack;
}

GuardStack CaptureInterruptedStack(const void* context) {
  GuardStack stack = CaptureStack(/*own=*/0);
  auto* const end = stack.frames.begin() + stack.count;
  auto* const found = std::find(stack.frames.begin(), end, InterruptedAddress(context));
  if (found == end) return stack;  // a jump to a bad address: only the handler's frames are known
  stack.count =
      static_cast<int>(std::copy(found, end, stack.frames.begin()) - stack.frames.begin());
  stack.interrupted = true;
  return stack;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    if (written == 0 || (written < 0 && errno != EINTR)) return false;
  }
  return true;
}

void Print(std::string_view text) { WriteAll(STDERR_FILENO, text); }

void PrintStack(const char* title, const GuardStack& stack) {
  if (stack.count <= 0) return;
  PrintLine("  {}:", title);
  if (PrintLines(stack)) return;
  backtrace_symbols_fd(stack.frames.data(), stack.count, STDERR_FILENO);
  WriteCommands(stack, "  ", Print);
}

std::string DescribeStack(const GuardStack& stack) {
  std::string text = DescribeLines(stack);
  if (!text.empty()) return text;
  char** const names = backtrace_symbols(stack.frames.data(), stack.count);
  for (int i = 0; names != nullptr && i < stack.count; ++i) {
    text += fmt::format("    {}\n", names[i]);
  }
  std::free(names);
  WriteCommands(stack, "    ", [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace portacl::runtime
