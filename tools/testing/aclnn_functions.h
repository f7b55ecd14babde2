// The functions of a library under test and of its runtime: looked up by name, none is linked.
#ifndef PORTACL_TOOLS_TESTING_ACLNN_FUNCTIONS_H_
#define PORTACL_TOOLS_TESTING_ACLNN_FUNCTIONS_H_

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tools/cli_error.h"

namespace portacl::golden {

// The address of a function by its name, null if there is none.
using FindFunction = std::function<void*(const char*)>;

struct AclnnOutcome {
  int32_t status = 0;   // of phase 1; if that is 0, of the first call that failed
  std::string call;     // which one it was
  std::string message;  // the library's, or what it did wrong ("input ... was written")
};

// Thrown if a call fails; the outcome of this call is the outcome of the case.
struct Failed {
  AclnnOutcome outcome;
};

// Looks a function up as often as it is called: a few lookups a case cost less than the case.
class AclnnFunctions {
 public:
  // `find_own` finds an operator's functions, or throws RuntimeFailure. Without it, these functions
  // are looked up like all others.
  explicit AclnnFunctions(FindFunction find, FindFunction find_own = {})
      : find_(std::move(find)), find_own_(find_own ? std::move(find_own) : find_) {}

  bool Has(const char* name) const { return find_(name) != nullptr; }

  // Throws RuntimeFailure if the function is missing. A destructor asks only for functions that
  // were found before.
  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(Known(find_(name), name));
  }
  void* FindOwn(const std::string& name) const { return Known(find_own_(name.c_str()), name); }

  // Throws Failed with the library's message if `function` returned another status than 0.
  void Check(int32_t status, const std::string& function) const {
    if (status == 0) return;
    const auto message =
        reinterpret_cast<decltype(&aclGetRecentErrMsg)>(find_("aclGetRecentErrMsg"));
    const char* const text = message != nullptr ? message() : nullptr;
    throw Failed{{status, function, text != nullptr ? text : ""}};
  }

 private:
  static void* Known(void* address, const std::string& name) {
    if (address != nullptr) return address;
    throw cli::RuntimeFailure(fmt::format("the library has no {}", name));
  }

  FindFunction find_, find_own_;
};
#define PORTACL_FIND(functions, name) (functions).Find<decltype(name)>(#name)

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_ACLNN_FUNCTIONS_H_
