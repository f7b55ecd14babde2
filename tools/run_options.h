// What the user wrote after `portacl run`.
#ifndef PORTACL_TOOLS_RUN_OPTIONS_H_
#define PORTACL_TOOLS_RUN_OPTIONS_H_

#include <string>

#include "tools/job/job.h"

namespace portacl::cli {

// Texts as given; empty where the option is absent.
struct RunOptions {
  std::string op;

  std::string grad_output, input, grid;  // sources
  std::string dtype, shape, size, scale;
  std::string interpolation, padding, mask;
  bool align_corners = false;

  std::string grad_input_file, input_grad_file, grid_grad_file;  // results
  std::string range;
  std::string inputs_folder;

  std::string profile;
  std::string impl;
  int threads = 0;  // 0: the library's default
  int repeat = 1;
  bool json = false;
};

// Loads or makes every input and gives the results their shapes. Throws BadInput for options that
// contradict each other or the files.
Job BuildJob(const RunOptions& options);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_RUN_OPTIONS_H_
