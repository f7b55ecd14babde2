// Thread-local store of the newest message.
#include "base/error_message.h"

#include <utility>

#include "base/log.h"

namespace portacl::base {
namespace {

struct Message {
  std::string text;
  bool fresh = false;  // not taken yet
  bool warning = false;
};

Message& Current() {
  thread_local Message message;
  return message;
}

}  // namespace

void SetErrorMessage(std::string message) {
  Message& current = Current();
  current.text = std::move(message);
  current.fresh = true;
  current.warning = false;
}

void SetWarningMessage(std::string message) {
  Message& current = Current();
  if (current.fresh && !current.warning) return;
  SetErrorMessage(std::move(message));
  current.warning = true;
}

int32_t Report(const Status& status) {
  if (!status.ok()) {
    Log(LogLevel::kError, status.message());
    SetErrorMessage(status.message());
  }
  return status.code();
}

const char* TakeErrorMessage() {
  Message& current = Current();
  if (!current.fresh) return nullptr;
  current.fresh = false;
  return current.text.c_str();
}

const char* PeekErrorMessage() { return Current().text.c_str(); }

}  // namespace portacl::base
