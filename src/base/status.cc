// Keeps the code and the message of a failed Status on the heap, and each thread's newest message.
#include "base/status.h"

#include <new>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/per_thread.h"

namespace portacl::base {
namespace {

struct Message {
  std::string text;
  bool fresh = false;  // no TakeErrorMessage() returned it
  bool warning = false;
};

using ThreadMessage = PerThread<Message>;

PORTACL_STARTS_WITH_THREAD thread_local uint64_t warnings = 0;

}  // namespace

struct Status::Failure {
  static const Failure* At(uint64_t word) {
    return (word & 1) != 0 ? nullptr : reinterpret_cast<const Failure*>(word);  // NOLINT: address
  }
  int32_t code;
  std::string message;
};

Status::Status(int32_t code, std::string message) noexcept {
  if (code == 0) return;
  const auto* const kept = new (std::nothrow) Failure{code, std::move(message)};
  word_ = kept != nullptr ? reinterpret_cast<uint64_t>(kept)
                          : uint64_t{static_cast<uint32_t>(code)} << 1 | 1;
}

void Status::Forget() {
  delete Failure::At(word_);
  word_ = 0;
}

int32_t Status::CodeOfFailure() const {
  const Failure* const kept = Failure::At(word_);
  return kept != nullptr ? kept->code : static_cast<int32_t>(word_ >> 1);
}

std::string_view Status::message() const {
  if (ok()) return {};
  const Failure* const kept = Failure::At(word_);
  return kept != nullptr ? std::string_view(kept->message) : "out of memory";
}

void SetErrorMessage(std::string message) {
  Message* const current = ThreadMessage::Get();
  if (current == nullptr) return;
  current->text = std::move(message);
  current->fresh = true;
  current->warning = false;
}

uint64_t WarningsOfThread() { return warnings; }

void SetWarningMessage(std::string message) {
  ++warnings;
  Message* const current = ThreadMessage::Get();
  if (current == nullptr || (current->fresh && !current->warning)) return;
  SetErrorMessage(std::move(message));
  current->warning = true;
}

int32_t Report(const Status& status) {
  if (!status.ok()) {
    Log(LogLevel::kError, status.message());
    SetErrorMessage(std::string(status.message()));
  }
  return status.code();
}

const char* TakeErrorMessage() {
  Message* const current = ThreadMessage::Find();
  if (current == nullptr || !current->fresh) return nullptr;
  current->fresh = false;
  return current->text.c_str();
}

const char* PeekErrorMessage() {
  const Message* const current = ThreadMessage::Find();
  return current == nullptr ? "" : current->text.c_str();
}

}  // namespace portacl::base
