// Hardships: difficult conditions, beside the arguments, for a library under test. A correct kernel
// is not affected. If a kernel is right only without a hardship, it has the fault that the
// hardship's row names.
#ifndef PORTACL_TOOLS_TESTING_HARDSHIPS_H_
#define PORTACL_TOOLS_TESTING_HARDSHIPS_H_

#include <cstdint>

namespace portacl::golden {

using Hardships = uint32_t;

enum Hardship : Hardships {
  kSecondCall = 1 << 0,      // a call of the same shapes follows in the same process
  kOtherData = 1 << 1,       // it has other inputs
  kOtherAddresses = 1 << 2,  // and other memory, while the first call's still exists
  kHandlesGone = 1 << 3,     // tensors and arrays are destroyed after phase 1
  kOnTheStream = 1 << 4,     // inputs are written by the stream, after phase 2 has returned
  kAfterPhase1 = 1 << 5,     // inputs are written after phase 1
  kDirtyWorkspace = 1 << 6,  // the workspace is NaN at first
  kDirtyOutputs = 1 << 7,    // so are outputs,
  kDirtySides = 1 << 8,      // so is what lies between elements of inputs and beside them, and
                             // the pages beside all tensors cannot be touched unnoticed
  kReadAtOnce = 1 << 9,      // outputs are read as soon as the stream is synchronised
};
inline constexpr Hardships kAllHardships = (1 << 10) - 1;

struct HardshipRow {
  Hardships without;
  const char* fault;
};
// The first that makes a kernel right names its fault. Each is tried in a new process.
inline constexpr HardshipRow kHardshipRows[] = {
    {0, "keeps something of an earlier case: it is right in a new process"},
    {kReadAtOnce, "is not done when the stream is synchronised: it is right a moment later"},
    {kHandlesGone, "reads handles in phase 2: it is right if tensors and arrays live until then"},
    {kOnTheStream,
     "ignores the stream: it is right if the work before it on the stream is done by phase 2"},
    {kOnTheStream | kAfterPhase1,
     "computed before phase 2: it is right if its inputs are there in phase 1"},
    {kDirtyWorkspace, "reads its workspace before it writes it: it is right if that is 0"},
    {kDirtyOutputs, "reads its output before it writes it: it is right if that is 0"},
    {kDirtySides,
     "reads past an input, before it or between its elements: it is right if 0 is there"},
    {kOtherAddresses,
     "keeps addresses of an earlier call: it is right if calls of the same shapes have the same "
     "addresses"},
    {kOtherData,
     "keeps results of an earlier call: it is right if calls of the same shapes have the same "
     "inputs"},
    {kSecondCall,
     "keeps something of an earlier call: it is right as the first call of a process"}};

// A kernel that the same hardships find right once and wrong once.
inline constexpr const char* kNotAlwaysRight =
    "is not always right: the same calls differ from run to run. Its work does not run on the "
    "stream, or is not done when the stream is synchronised";

constexpr const char* FaultWithout(Hardships hardships) {
  for (const HardshipRow& row : kHardshipRows) {
    if (row.without == hardships) return row.fault;
  }
  return "";
}

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_HARDSHIPS_H_
