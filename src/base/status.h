// The result of an internal call: a code of the aclnn or ACL interface and a message for the user.
// Each thread keeps its newest message.
#ifndef PORTACL_BASE_STATUS_H_
#define PORTACL_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace portacl::base {

// Success is a word of 0, so it costs little: a call of an operator checks some sixty of them.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // `message` names the parameter, its value and the wanted value; it is empty only for success. If
  // there is no memory to keep it, the message is "out of memory".
  Status(int32_t code, std::string message) noexcept;
  Status(Status&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~Status() {
    if (word_ != 0) Forget();
  }

  bool ok() const { return word_ == 0; }
  int32_t code() const { return ok() ? 0 : CodeOfFailure(); }
  std::string_view message() const;

 private:
  struct Failure;
  void Forget();
  int32_t CodeOfFailure() const;

  uint64_t word_ = 0;  // address of a Failure, or (without memory for one) 2 * code + 1
};

// ---- the newest message of each thread ----------------------------------------------------------

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

// Returns from the enclosing function if `expression`, a Status, is not ok.
#define PORTACL_RETURN_IF_ERROR(expression)                                            \
  do {                                                                                 \
    if (::portacl::base::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#endif  // PORTACL_BASE_STATUS_H_
