// The names that `portacl run` takes, from the list of operators.
#ifndef PORTACL_TOOLS_RUN_NAMES_H_
#define PORTACL_TOOLS_RUN_NAMES_H_

#include <string>
#include <vector>

#include "tools/testing/operators.h"

namespace portacl::cli {

// The meaning of a name: a function of the aclnn API, or, if `graph` is not null, a graph operator
// of the same maths.
struct RunChoice {
  const golden::OperatorRow* row = nullptr;
  const ops::Signature* graph = nullptr;

  // The signature with the parameters that decide which options apply.
  const ops::Signature& signature() const;
  // "upsample_nearest_exact2d_backward", "grid_sampler_2d_grad", "UpsampleBilinear2dAABackward".
  std::string name() const;
};

// The name of a function or a graph operator gives one choice, or two if it serves images and
// volumes. The name of an operator without 1d, 2d or 3d gives one for each rank: the antialiased
// function if that is asked for. Other names give none.
std::vector<RunChoice> FindRunChoices(const std::string& name, bool antialias);

// Whether an aclnn function or a graph operator has the name.
bool IsVendorName(const std::string& name);

// An operator's own name, the vendor's name ("" if there is none), the name in lists of kernels,
// and the name without 1d, 2d or 3d.
struct RunName {
  std::string name, alias, library, any_rank;
};
const std::vector<RunName>& RunNames();

// All of them in a list, each once: names without a rank first.
std::vector<std::string> RunWords();
// "GridSampler2D or GridSampler3D" for GridSample. Tensors or attributes choose the operator, so
// only programs call it by this name. Null for any other name.
const char* StandsFor(const std::string& name);
// The names without a rank and their meaning.
std::string AnyRankText();

// The words with commas, in lines for the terminal.
std::string Wrapped(const std::vector<std::string>& words);

// "gradOutput" as other names are written: "grad_output", "grad-output".
std::string WithSeparator(const std::string& camel, char separator);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_RUN_NAMES_H_
