// The user's words after `portacl run`, and the call that they mean.
#ifndef PORTACL_TOOLS_RUN_OPTIONS_H_
#define PORTACL_TOOLS_RUN_OPTIONS_H_

#include <map>
#include <string>

#include "tools/run_names.h"
#include "tools/testing/call.h"

namespace portacl::cli {

// Texts as given; empty if the option is absent. Tensors, modes, flags and numbers are by their
// names in portacl's own API: "gradOutput" for --grad-output.
struct RunOptions {
  std::string op;

  std::map<std::string, std::string> tensors;  // a source, or the file for a result
  std::map<std::string, std::string>
      modes;  // and lists: --padding is either, as the operator has it
  std::map<std::string, bool> flags;
  std::map<std::string, std::string> numbers;  // reals and whole numbers without scales
  std::string dtype, shape, size, scale, mask;
  std::string exact;  // the library with the bits of a resized picture

  std::string range;
  std::string inputs_folder;

  std::string profile;
  std::string impl;
  int threads = 0;  // 0: the library's default
  int repeat = 1;
  bool json = false;

  // The text of the option for a tensor; "" if it is absent.
  std::string TensorText(const std::string& native) const {
    const auto found = tensors.find(native);
    return found == tensors.end() ? "" : found->second;
  }
  // The source of an input's elements.
  std::string Source(const std::string& native) const {
    const std::string text = TensorText(native);
    if (!text.empty()) return text;
    return native == "bias" ? "zeros" : "ones";
  }
};

struct RunTask {
  RunChoice choice;
  golden::Call call;
};

// Loads or makes every input and gives the results their shapes. Throws BadInput for options that
// contradict each other or the files.
RunTask BuildRun(const RunOptions& options);

// "--grad-output" for "gradOutput".
std::string OptionName(const std::string& native);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_RUN_OPTIONS_H_
