// Which exception a status of the library becomes.
#include "tools/cli_error.h"

#include <acl/acl_base.h>
#include <fmt/format.h>
#include <portacl/portacl.h>

namespace portacl::cli {
namespace {

bool IsRefusal(int status) {
  const bool graph_refusal =
      status >= ACL_ERROR_INVALID_PARAM && status <= ACL_ERROR_KERNEL_NOT_FOUND;
  return status == PORTACL_ERROR_NULL || status == PORTACL_ERROR_INVALID || graph_refusal;
}

}  // namespace

void ThrowOnStatus(int status, const std::string& call, const std::string& message) {
  if (status == PORTACL_OK) return;
  const std::string line = message.empty() ? fmt::format("{} failed with status {}", call, status)
                                           : fmt::format("{} (status {})", message, status);
  if (IsRefusal(status)) throw BadInput(line);
  throw RuntimeFailure(line);
}

}  // namespace portacl::cli
