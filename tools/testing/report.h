// The part of a report for one case: its verdict, and each output reduced to small pictures.
#ifndef PORTACL_TOOLS_TESTING_REPORT_H_
#define PORTACL_TOOLS_TESTING_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/testing/verdict.h"

namespace portacl::golden {

// The picture of an output's plane: the spatial axes, the points of a gridGrad, or a slice of a
// volume. `golden` and `actual` are the plane (image, channel, slice) where the error is largest;
// `excess` is the largest error / bound of all planes. At most kMostCells cells a side: a cell is
// the element that is farthest from 0.
struct OutputPicture {
  static constexpr int64_t kMostCells = 40;
  int64_t height = 0, width = 0;               // in cells
  std::string plane;                           // the one that is shown: "image 0, channel 2"
  std::vector<double> golden, actual, excess;  // no `actual`: only golden is shown
  std::vector<int64_t> ulps;                   // how many elements by their distance; UlpLabels()
};
const std::vector<std::string>& UlpLabels();

struct ReportRow {
  CaseVerdict verdict;
  std::vector<OutputPicture> pictures;  // as many as verdict.outputs, or none

  // Judges an output and, if that is wanted, draws it.
  void Add(const GoldenOutput& golden, const std::vector<std::byte>& actual,
           const StandardOptions& standard, bool with_picture,
           const std::vector<std::byte>* second = nullptr);
  // Golden alone.
  void AddGolden(const GoldenOutput& golden);
};

// The data of the page. Pictures of cases that failed come first, then as many others as fit into
// kMostPictures. So the page of ten thousand cases still opens.
inline constexpr size_t kMostPictures = 400;
nlohmann::ordered_json ReportJson(const std::vector<ReportRow>& rows, const std::string& title,
                                  const std::string& standard, bool judged,
                                  const std::vector<FunctionFile>& functions);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_REPORT_H_
