// SHA-256 (FIPS 180-4), for the manifests of golden files.
#ifndef PORTACL_TOOLS_TESTING_SHA256_H_
#define PORTACL_TOOLS_TESTING_SHA256_H_

#include <string>
#include <string_view>

namespace portacl::golden {

// 64 hexadecimal digits.
std::string Sha256(std::string_view data);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_SHA256_H_
