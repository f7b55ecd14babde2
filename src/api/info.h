// Facts about the library on this machine.
#ifndef PORTACL_API_INFO_H_
#define PORTACL_API_INFO_H_

#include <string>

namespace portacl::api {

// Returns the JSON object of portaclGetInfo.
std::string InfoJson();

}  // namespace portacl::api

#endif  // PORTACL_API_INFO_H_
