// The JSON file that aclInit and aclnnInit may be given.
#ifndef PORTACL_API_CONFIG_FILE_H_
#define PORTACL_API_CONFIG_FILE_H_

#include "base/status.h"

namespace portacl::api {

// Reads and checks it; null or "" is no file. The file changes nothing in this library. A warning
// of the log names the vendor's sections for dumps and profiling. ACL_ERROR_INVALID_FILE if it
// cannot be read, _INVALID_FILE_SIZE if it is too big, _PARSE_FILE if it is not a JSON object.
base::Status ReadConfigFile(const char* path);

}  // namespace portacl::api

#endif  // PORTACL_API_CONFIG_FILE_H_
