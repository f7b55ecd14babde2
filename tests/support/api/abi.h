// The record of a function's signature, which may never change again: tests/api/abi_test.cc, and
// the test of an operator for its own functions.
#ifndef PORTACL_TESTS_SUPPORT_API_ABI_H_
#define PORTACL_TESTS_SUPPORT_API_ABI_H_

#include <type_traits>

#define PORTACL_ABI_OF(name, ...) \
  static_assert(std::is_same_v<decltype(name), __VA_ARGS__>, #name " has another signature")

#endif  // PORTACL_TESTS_SUPPORT_API_ABI_H_
