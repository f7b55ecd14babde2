// The result of an internal call: a code of the aclnn or ACL interface and a message for the user.
#ifndef PORTACL_BASE_STATUS_H_
#define PORTACL_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>

namespace portacl::base {

class [[nodiscard]] Status {
 public:
  Status() = default;
  // `message` names the parameter, what it got and what was wanted; empty only for success.
  Status(int32_t code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == 0; }
  int32_t code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int32_t code_ = 0;
  std::string message_;
};

}  // namespace portacl::base

// Returns from the enclosing function when `expression`, a Status, is not ok.
#define PORTACL_RETURN_IF_ERROR(expression)                                            \
  do {                                                                                 \
    if (::portacl::base::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#endif  // PORTACL_BASE_STATUS_H_
