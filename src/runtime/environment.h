// Reads environment variables: text, numbers and switches.
#ifndef PORTACL_RUNTIME_ENVIRONMENT_H_
#define PORTACL_RUNTIME_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>

namespace portacl::runtime {

// Its text; "" where the variable is not set.
const char* EnvironmentText(const char* name);

// A decimal integer in [low, high]; `fallback` where the variable is not set, or, with a line on
// stderr, is anything else.
int64_t EnvironmentInteger(const char* name, int64_t low, int64_t high, int64_t fallback);

// A number of bytes, with an optional suffix K, M or G (powers of 1024); likewise.
size_t EnvironmentBytes(const char* name, size_t fallback);

// True where the variable is "1"; other values than "0" are named on stderr.
bool EnvironmentFlag(const char* name);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ENVIRONMENT_H_
