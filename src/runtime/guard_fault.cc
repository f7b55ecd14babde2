// Reports a fault, one thread at a time and without allocating memory.
#include "runtime/guard_fault.h"

#include <fmt/format.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

#include "runtime/guard_pending.h"
#include "runtime/guard_stack.h"
#include "runtime/guard_table.h"
#include "runtime/running_work.h"

namespace portacl::runtime {
namespace {

constexpr auto kLockPatience = std::chrono::milliseconds(200);
constexpr auto kPrintPatience = std::chrono::seconds(10);  // how long another faulting thread waits

// FindRegion() for the handler. It gives up after a while, because its thread may hold the lock.
bool FindRegionInHandler(uintptr_t address, GuardRegion* region, bool* in_kernel_range) {
  GuardTable& table = TheGuardTable();
  const auto patience = std::chrono::steady_clock::now() + kLockPatience;
  while (!table.mutex.try_lock()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  const bool found = FindRegion(address, region, in_kernel_range);
  table.mutex.unlock();
  return found;
}

const char* AccessName([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & kWrite) != 0 ? "write" : "read";
#else
  return "access";
#endif
}

void Explain(const GuardRegion& region, const WorkAtAddress& work, bool in_kernel_range,
             uintptr_t address, const char* access) {
  const uintptr_t data = (in_kernel_range ? region.kernel : region.user) + region.offset;
  const bool host = region.kernel == 0;
  const auto offset = static_cast<int64_t>(address - data);
  const bool inside = offset >= 0 && static_cast<size_t>(offset) < region.size;
  std::array<char, 160> who;
  const auto end =
      work.work != nullptr
          ? fmt::format_to_n(who.data(), who.size(), "{} on stream {} {} {}:", work.work,
                             work.stream, work.write ? "writes" : "reads", work.tensor)
          : fmt::format_to_n(who.data(), who.size(), "{}",
                             in_kernel_range ? "kernel or copy:" : "host");
  PrintLine("portacl guard: {} {} of {} memory at {:#x}: byte {} of {} allocation of {} bytes",
            std::string_view(who.data(), std::min(end.size, who.size())), access,
            host ? "pinned host" : "device", address, offset, region.freed ? "a freed" : "an",
            region.size);
  if (region.watched && in_kernel_range) {
    PrintLine(
        "  No memory is mapped there: synchronise with the work that uses memory before "
        "aclrtUnmapMem.");
  } else if (region.freed) {
    PrintLine("  This is use after free: {}.",
              in_kernel_range || work.work != nullptr
                  ? "synchronise with the work that uses memory before freeing it"
                  : "the memory was given back before");
  } else if (!inside) {
    PrintLine(
        "  This is outside the allocation: the size given to {} is too small, or a tensor's "
        "shape, strides or offset are wrong.",
        host ? "aclrtMallocHost" : "aclrtMalloc");
  } else {
    PrintLine(
        "  The host cannot reach device memory: copy it with aclrtMemcpy "
        "(ACL_MEMCPY_DEVICE_TO_HOST to read, ACL_MEMCPY_HOST_TO_DEVICE to write), or use "
        "aclrtMallocHost for memory that the host works on.");
  }
}

struct sigaction previous_segv;
struct sigaction previous_bus;

const struct sigaction& PreviousOf(int signal) {
  return signal == SIGSEGV ? previous_segv : previous_bus;
}

// Returns true if the signal had no handler before: the program ends by it.
bool Ends(int signal) {
  const struct sigaction& previous = PreviousOf(signal);
  return (previous.sa_flags & SA_SIGINFO) == 0 &&
         (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN);
}

// Lets one thread print. Several threads of a kernel may fault at a time; the others wait. If the
// program is about to end by the first thread's fault, the others wait until then.
class OnePrinter {
 public:
  explicit OnePrinter(bool the_last) : the_last_(the_last) {
    const auto patience = std::chrono::steady_clock::now() + kPrintPatience;
    while (printing.test_and_set() && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
  }
  ~OnePrinter() {
    if (!the_last_) printing.clear();
  }
  OnePrinter(const OnePrinter&) = delete;
  OnePrinter& operator=(const OnePrinter&) = delete;

 private:
  static constinit std::atomic_flag printing;
  const bool the_last_;
};
constinit std::atomic_flag OnePrinter::printing;

// Reports that the host accessed memory that a stream may still be working on.
void TellPending(const PendingAtAddress& pending, uintptr_t address, int signal, void* context) {
  const OnePrinter alone(Ends(signal));
  PrintLine(
      "portacl guard: host {} of host memory at {:#x}: byte {} of {} bytes that {} on stream {} {} "
      "as {}",
      AccessName(context), address, static_cast<int64_t>(address - pending.access.begin),
      pending.access.bytes, pending.work, pending.stream, pending.access.write ? "writes" : "reads",
      pending.access.name);
  PrintLine(
      "  It may not be over: synchronise with its stream, with an event behind it or with the "
      "device first.");
  PrintStack("accessed at", CaptureInterruptedStack(context));
  PrintStack("launched at", pending.launched);
}

void Tell(const GuardRegion& region, bool in_kernel_range, uintptr_t address, int signal,
          void* context) {
  const OnePrinter alone(Ends(signal));
  const WorkAtAddress work = FindRunningWork(address);
  Explain(region, work, in_kernel_range, address, AccessName(context));
  PrintStack("accessed at", CaptureInterruptedStack(context));
  PrintStack("launched at", work.launched);
  PrintStacks(region);
}

// Reports the access, then calls the handler that was installed before this one.
void OnFault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  GuardRegion region;
  bool in_kernel_range = false;
  const PendingAtAddress pending = FindPendingHostMemory(address);
  if (pending.work != nullptr) {
    TellPending(pending, address, signal, context);
  } else if (FindRegionInHandler(address, &region, &in_kernel_range)) {
    Tell(region, in_kernel_range, address, signal, context);
  }
  const struct sigaction& previous = PreviousOf(signal);
  if (Ends(signal)) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);  // the instruction faults again and ends the program
  } else if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else {
    previous.sa_handler(signal);
  }
}

}  // namespace

void InstallFaultHandler() {
  static_cast<void>(TheGuardTable());
  static_cast<void>(FindPendingHostMemory(0));
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace portacl::runtime
