// Rows of an operator's table of checks that repeat for each of its parameters. `name` is what
// messages call the parameter.
#ifndef PORTACL_TESTS_SUPPORT_API_SHARED_ROWS_H_
#define PORTACL_TESTS_SUPPORT_API_SHARED_ROWS_H_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/api/acl_fixture.h"

namespace portacl_test {

// A null pointer: a tensor, a list, or a result of phase 1.
template <class Call, class Member>
CheckRow<Call> NullRow(const std::string& name, Member Call::*parameter) {
  return {name + " null",
          ACLNN_ERR_PARAM_NULLPTR,
          [parameter](Call* c) {
            if constexpr (std::is_same_v<Member, TensorArgs>) {
              (c->*parameter).null = true;
            } else if constexpr (std::is_same_v<Member, bool>) {
              c->*parameter = true;
            } else {
              (c->*parameter).reset();
            }
          },
          {name + " is null"}};
}

// A dtype that no profile has, for each of these tensors in turn; then an axis more.
template <class Call>
void AddTensorRows(const std::vector<std::pair<std::string, TensorArgs Call::*>>& tensors,
                   const CheckRow<Call>& dtypes_differ, std::vector<CheckRow<Call>>* rows) {
  for (const auto& [name, tensor] : tensors) {
    const auto at = tensor;
    rows->push_back({name + " dtype",
                     ACLNN_ERR_PARAM_INVALID,
                     [at](Call* c) { (c->*at).dtype = ACL_INT32; },
                     {name + " has dtype INT32, but must be FLOAT"}});
  }
  rows->push_back(dtypes_differ);
  for (const auto& [name, tensor] : tensors) {
    const auto at = tensor;
    rows->push_back({name + " rank",
                     ACLNN_ERR_PARAM_INVALID,
                     [at](Call* c) { (c->*at).shape.insert((c->*at).shape.begin(), 1); },
                     {name + " has shape", "but must have rank"}});
  }
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_SHARED_ROWS_H_
