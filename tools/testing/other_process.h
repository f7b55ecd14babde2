// A process that runs cases through the aclnn library of a folder (tools/call). It may end in an
// answer, in a crash, or without an answer in time.
#ifndef PORTACL_TOOLS_TESTING_OTHER_PROCESS_H_
#define PORTACL_TOOLS_TESTING_OTHER_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tools/testing/case.h"
#include "tools/testing/hardships.h"
#include "tools/testing/verdict.h"

namespace portacl::golden {

// The answer to one call of a case.
struct CallAnswer {
  int32_t status = 0;
  std::string call, message;
  std::vector<std::vector<std::byte>> outputs;  // what the mask wants, dense
};

struct Answer {
  std::string problem;                  // a crash, no answer in time; "" if there is an answer
  bool late = false;                    // the problem is no answer in time
  std::vector<CallAnswer> calls;        // the case's, and the second one's
  std::vector<FunctionFile> functions;  // what this process used for the first time
};

class OtherProcess {
 public:
  // Started when the first case comes, and again after each end.
  // `files`: libraries that are loaded beside the folder's, which may be "".
  OtherProcess(std::string library_folder, std::vector<std::string> files,
               double seconds_of_patience);
  ~OtherProcess();
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // Throws BadInput if the library cannot be used at all.
  Answer Ask(const Case& c, Hardships hardships);

  // The functions that the library's runtime lacks for kOnTheStream; "" for none, and before the
  // first case.
  const std::string& missing() const { return missing_; }

 private:
  void Start();
  std::string End(const char* otherwise);
  bool Read(void* data, size_t size);
  std::string ReadText();
  bool ReadCall(CallAnswer& call);

  std::string folder_, missing_;
  std::vector<std::string> files_;
  double patience_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  bool late_ = false;
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_OTHER_PROCESS_H_
