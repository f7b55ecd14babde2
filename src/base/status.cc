// Keeps the code and the message of a failed Status on the heap.
#include "base/status.h"

#include <new>
#include <string>

namespace portacl::base {

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

}  // namespace portacl::base
