// The JSON file that the program may give to aclInit and aclnnInit.
#ifndef PORTACL_API_CONFIG_FILE_H_
#define PORTACL_API_CONFIG_FILE_H_

#include "base/status.h"

namespace portacl::api {

// Reads and checks the file; null or "" means no file. The file changes nothing in this library. If
// it has the vendor's sections for dumps or profiling, a warning in the log names them. Errors:
// ACL_ERROR_INVALID_FILE (unreadable), _INVALID_FILE_SIZE (too big), _PARSE_FILE (no JSON object).
base::Status ReadConfigFile(const char* path);

}  // namespace portacl::api

#endif  // PORTACL_API_CONFIG_FILE_H_
