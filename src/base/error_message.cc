// Thread-local store of the newest message.
#include "base/error_message.h"

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
