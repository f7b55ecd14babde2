// A folder of golden results:
//
//   DIR/manifest.json                     its contents (docs/cases.md)
//   DIR/<case>/<parameter>.npy, .bin      every input and output, dense, in the case's dtype
//   DIR/<case>/<parameter>.float64.npy    outputs: the exact values
//   DIR/<case>/<parameter>.bound.npy      outputs: how far a correct result may be from these
//   DIR/<case>/input_0.npy, output_0.npy  links to the first, in the order of the signature
//
// A folder of results to judge has the same layout and need hold <parameter>.npy (or .bin, or
// output_0.npy) only.
#ifndef PORTACL_TOOLS_TESTING_GOLDEN_SET_H_
#define PORTACL_TOOLS_TESTING_GOLDEN_SET_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/testing/call.h"
#include "tools/testing/error_bound.h"

namespace portacl::golden {

inline constexpr int kManifestVersion = 1;

// The outputs that a case must have.
struct GoldenOutput {
  std::string parameter;
  DataType dtype = DataType::kFloat32;
  Shape shape;
  std::vector<std::byte> golden;  // portacl's own result, dense
  Exact exact;
};
struct GoldenCase {
  Case c;
  Call call;                          // with the inputs
  std::vector<GoldenOutput> outputs;  // what the mask wants; none for a refusal
};
// Computed; throws BadInput if portacl refuses the case.
GoldenCase ComputeGolden(const Case& c);

struct GoldenOptions {
  int jobs = 0;  // 0: one for each CPU
  std::function<void(int done)> on_case_done{};
};

// Writes the set, or continues an interrupted one; the bytes are the same either way. Throws
// BadInput if DIR holds something else, and removes its own files then.
struct GoldenSummary {
  size_t cases = 0, resumed = 0;
  uint64_t bytes = 0;  // of the files written now
};
GoldenSummary WriteGoldenSet(const std::vector<Case>& cases, const std::string& folder,
                             const GoldenOptions& options);

// Reading. Every problem is a BadInput with the file's name.
struct StoredOutput {
  std::string parameter, folder;  // folder: DIR/<case>
  DataType dtype = DataType::kFloat32;
  Shape shape;
  std::string sha256[3];  // of .npy, .float64.npy, .bound.npy
};
struct StoredCase {
  Case c;
  std::string folder;  // the set's
  std::vector<StoredOutput> outputs;
};
std::vector<StoredCase> ReadManifest(const std::string& folder);
bool IsGoldenSet(const std::string& folder);

GoldenOutput ReadOutput(const StoredOutput& output);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_GOLDEN_SET_H_
