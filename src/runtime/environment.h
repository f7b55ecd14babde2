// Reads environment variables: text, numbers and switches.
#ifndef PORTACL_RUNTIME_ENVIRONMENT_H_
#define PORTACL_RUNTIME_ENVIRONMENT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace portacl::runtime {

inline constexpr std::string_view kPrefix = "PORTACL_";

// Every variable that the library and its Python package read. The first read of any of them names
// on stderr, once a process, what is set, begins with PORTACL_ and stands neither here nor among
// the variables of the project's scripts (environment.cc): a mistyped name must not pass in
// silence.
inline constexpr std::array<std::string_view, 14> kVariables = {
    "PORTACL_CACHE",       "PORTACL_DEVICES",    "PORTACL_DEVICE_MEMORY", "PORTACL_GUARD",
    "PORTACL_IMPL",        "PORTACL_LOG",        "PORTACL_NPU",           "PORTACL_NPU_RANDOM",
    "PORTACL_NUM_THREADS", "PORTACL_POOL_BYTES", "PORTACL_POOL_MB",       "PORTACL_PROFILE",
    "PORTACL_STRICT",      "PORTACL_TRACE"};
inline constexpr std::string_view kTestPrefix = "PORTACL_TEST_";  // variables of the tests

constexpr bool IsVariable(std::string_view name) {
  return name.starts_with(kTestPrefix) ||
         std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end();
}

// The name of a variable: does not compile for one of our own that is not listed above.
class Variable {
 public:
  consteval Variable(const char* name) : name_(name) {  // NOLINT: conversion is its purpose
    if (std::string_view(name).starts_with(kPrefix) && !IsVariable(name)) {
      throw "list the variable in kVariables";
    }
  }
  const char* name() const { return name_; }

 private:
  const char* name_;
};

// Its text; "" where the variable is not set.
const char* EnvironmentText(Variable variable);

// A decimal integer in [low, high]; `fallback` where the variable is not set, or, with a line on
// stderr, is anything else.
int64_t EnvironmentInteger(Variable variable, int64_t low, int64_t high, int64_t fallback);

// A number of bytes, with an optional suffix K, M or G (powers of 1024); likewise.
size_t EnvironmentBytes(Variable variable, size_t fallback);

// True where the variable is "1"; other values than "0" are named on stderr.
bool EnvironmentFlag(Variable variable);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ENVIRONMENT_H_
