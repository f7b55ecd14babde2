// Judging a folder of results by a folder of golden ones.
#ifndef PORTACL_TOOLS_TESTING_COMPARE_SET_H_
#define PORTACL_TOOLS_TESTING_COMPARE_SET_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/testing/golden_set.h"
#include "tools/testing/report.h"
#include "tools/testing/verdict.h"

namespace portacl::golden {

struct CompareSetOptions {
  StandardOptions standard;
  std::string second;  // kDual: the folder of the second library's results
  int jobs = 0;
  bool with_pictures = false;  // for a report
  std::function<void(int done)> on_case_done{};
};

// One row for each case, in order. A file of `other` that is missing, cut short or of another
// dtype or shape is that case's error. Throws BadInput if the golden folder is not right.
std::vector<ReportRow> CompareSets(const std::vector<StoredCase>& golden, const std::string& other,
                                   const CompareSetOptions& options);

// The golden outputs alone, with their pictures.
std::vector<ReportRow> ShowSet(const std::vector<StoredCase>& golden,
                               const CompareSetOptions& options);

// The file of an output in the folder of one case: <parameter>.npy, <parameter>.bin or
// output_<number>.npy, whichever is there first. Throws BadInput.
std::string ActualFile(const std::string& case_folder, const std::string& parameter, size_t number);

// Its elements. bfloat16 may be uint16 or ml_dtypes' own type. Throws BadInput.
std::vector<std::byte> ReadActual(const std::string& case_folder, const std::string& parameter,
                                  size_t number, DataType dtype, const Shape& shape);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_COMPARE_SET_H_
