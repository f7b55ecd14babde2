// How a refused call is coded and worded.
#ifndef PORTACL_OPS_REFUSAL_H_
#define PORTACL_OPS_REFUSAL_H_

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error_message.h"
#include "base/log.h"
#include "base/status.h"
#include "ops/settings.h"
#include "ops/surface.h"

namespace portacl::ops {

// What kind of rule a call broke; the graph API has a code for each.
enum class Rule { kNull, kUnknownOperator, kDType, kFormat, kInput, kOutput, kAttribute, kOther };

inline int32_t CodeOf(Rule rule, Surface surface) {
  if (surface != Surface::kGraph) return rule == Rule::kNull ? 161001 : 161002;
  switch (rule) {
    case Rule::kUnknownOperator:
      return 100024;
    case Rule::kInput:
      return 100021;
    case Rule::kOutput:
      return 100022;
    case Rule::kAttribute:
      return 100023;
    case Rule::kDType:
      return 100026;
    case Rule::kFormat:
      return 100027;
    case Rule::kNull:
    case Rule::kOther:
      break;
  }
  return 100000;
}

// The refusals of one call: `op` opens every message.
class Refusals {
 public:
  Refusals(const char* op, Surface surface) : op_(op), surface_(surface) {}

  template <class... Args>
  base::Status Refuse(Rule rule, fmt::format_string<Args...> text, Args&&... args) const {
    return {CodeOf(rule, surface_),
            fmt::format("{}: {}", op_, fmt::format(text, std::forward<Args>(args)...))};
  }

  // For what the documents state as a fact but not as an error: a refusal in strict mode, else a
  // warning in the log and in the thread's message. The native API says nothing.
  base::Status Warn(Rule rule, std::string text) const {
    if (surface_ == Surface::kNative) return {};
    if (Strict()) return Refuse(rule, "{} (refused because of PORTACL_STRICT)", text);
    std::string message = fmt::format("{}: warning: {}", op_, text);
    base::Log(base::LogLevel::kWarn, message);
    base::SetErrorMessage(std::move(message));
    return {};
  }

 private:
  const char* op_;
  Surface surface_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_REFUSAL_H_
