// The JSON file that aclInit may be given: read, or refused with one of the documented codes.
#include "acl/acl.h"
#include "fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = portacl_fuzz::TheFolder().Write("acl.json", {data, size});
  const aclError code = aclInit(path.c_str());
  portacl_fuzz::Require(code == ACL_SUCCESS || code == ACL_ERROR_PARSE_FILE,
                        "a file is read or refused as not being JSON");
  if (code == ACL_SUCCESS) aclFinalize();
  return 0;
}
