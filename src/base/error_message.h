// The newest error or warning message of each thread.
#ifndef PORTACL_BASE_ERROR_MESSAGE_H_
#define PORTACL_BASE_ERROR_MESSAGE_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::base {

// Kept until the thread ends, or forgotten if memory has run out.
void SetErrorMessage(std::string message);

// For a call that succeeds: never in place of an error that nobody has read.
void SetWarningMessage(std::string message);
// How many warnings this thread has had.
uint64_t WarningsOfThread();

// Keeps the message of a failed status for this thread and returns its code.
int32_t Report(const Status& status);

// This thread's message, or null if there is none or if it was taken already. The text stays
// valid until the thread's next message.
const char* TakeErrorMessage();

// The same without taking it; "" if there is none.
const char* PeekErrorMessage();

}  // namespace portacl::base

#endif  // PORTACL_BASE_ERROR_MESSAGE_H_
