// The newest error or warning message of each thread.
#ifndef PORTACL_BASE_ERROR_MESSAGE_H_
#define PORTACL_BASE_ERROR_MESSAGE_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::base {

// Sets this thread's message. It stays until the thread ends; it is lost if memory has run out.
void SetErrorMessage(std::string message);

// Sets a warning of a call that succeeds. It does not replace an error that nobody has taken.
void SetWarningMessage(std::string message);
// How many warnings this thread has set.
uint64_t WarningsOfThread();

// Sets the message of a failed status as this thread's message. Returns the status code.
int32_t Report(const Status& status);

// Returns this thread's message, or null if there is none or if it was taken already. The text
// stays valid until the thread's next message.
const char* TakeErrorMessage();

// Returns the message even if it was taken, and does not take it; "" if there is none.
const char* PeekErrorMessage();

}  // namespace portacl::base

#endif  // PORTACL_BASE_ERROR_MESSAGE_H_
