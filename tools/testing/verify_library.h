// Verdicts on a library: its results for each case, judged by golden ones made on the way.
#ifndef PORTACL_TOOLS_TESTING_VERIFY_LIBRARY_H_
#define PORTACL_TOOLS_TESTING_VERIFY_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/testing/report.h"
#include "tools/testing/verdict.h"

namespace portacl::golden {

struct VerifyOptions {
  std::string library_folder;              // either this: the aclnn library to run,
  std::vector<std::string> library_files;  // and these, whatever their names;
  std::string outputs;  // or this: a folder of results that were written elsewhere
  StandardOptions standard;
  double seconds_of_patience = 60;  // for one case
  int jobs = 0;
  uint64_t seed = 0;  // of the order that cases run in
  std::function<void(int done)> on_case_done{};
  bool with_pictures = false;  // for a report
};

struct Verification {
  std::vector<ReportRow> rows;          // one for each case, in order
  std::vector<FunctionFile> functions;  // of the library, that were called, by name
  std::string note;                     // what was not looked at, and why; "" for nothing
};

// Each case is called twice in one process, with the hardships of hardships.h. Some failing cases
// are called again without some hardships; that shows the kind of fault.
//
// Throws BadInput if the library cannot be used at all. A case fails if its operator's functions
// are neither in the folder nor in one of the files, but in another library that is linked to
// it.
Verification VerifyLibrary(const std::vector<Case>& cases, const VerifyOptions& options);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_VERIFY_LIBRARY_H_
