// `portacl compare ACTUAL GOLDEN`: is a result as near to a reference as the standard asks?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/file/file_io.h"
#include "tools/file/tensor_io.h"
#include "tools/parse.h"
#include "tools/set_options.h"
#include "tools/tensor/mere_mare.h"
#include "tools/terminal.h"
#include "tools/testing/compare_set.h"

namespace portacl::cli {
namespace {

struct CompareOptions {
  std::string actual, golden, dtype, shape;
  JudgeOptions judge;
  VerdictOutput output;
  int jobs = 0;
};

// Only .bin files need the options; the others say for themselves what they hold.
HostTensor LoadSide(const CompareOptions& options, const std::string& path, const char* name) {
  TensorRequest request{name, path, std::nullopt, std::nullopt};
  if (Extension(path) == "bin") {
    if (!options.dtype.empty()) {
      request.dtype = ParseDataType(options.dtype);
      if (!request.dtype) {
        throw BadInput(
            fmt::format("--dtype: '{}' is not one of {}", options.dtype, DataTypeNames()));
      }
    }
    if (!options.shape.empty()) {
      request.shape = ParseShape(options.shape, "--shape");
    } else if (request.dtype) {
      const uint64_t size = InputFile(path).size();
      request.shape = Shape{static_cast<int64_t>(size / ElementSize(*request.dtype))};
    }
  }
  return LoadTensor(request);
}

std::string PositionText(const HostTensor& tensor, int64_t index) {
  Shape position(tensor.shape().size());
  for (size_t axis = position.size(); axis-- > 0;) {
    position[axis] = index % tensor.extent(axis);
    index /= tensor.extent(axis);
  }
  return ToString(position);
}

std::string CompareText(const Comparison& result, const HostTensor& actual,
                        const HostTensor& golden) {
  using enum Table::Align;
  Table table({kLeft, kLeft, kLeft});
  table.AddRow({"elements", fmt::format("{} of {} differ", result.different, result.count), ""});
  table.AddRow(
      {"MERE", fmt::format("{:.4g}", result.mere),
       fmt::format("wanted below {:.4g} ({})", result.threshold, DataTypeName(actual.dtype()))});
  table.AddRow({"MARE", fmt::format("{:.4g}", result.mare),
                fmt::format("wanted below {:.4g}", 10 * result.threshold)});
  table.AddRow({"largest |A - G|", fmt::format("{:.4g}", result.largest_difference), ""});
  if (result.not_finite > 0) {
    table.AddRow({"NaN, infinity", fmt::format("{}", result.not_finite),
                  "elements where only one side is, or not the same"});
  }
  if (result.worst >= 0) {
    table.AddRow({"worst element", PositionText(actual, result.worst),
                  fmt::format("{:.9g}, reference {:.9g}", actual.Get(result.worst),
                              golden.Get(result.worst))});
  }
  const char* verdict = result.passed ? "ok" : "FAILED";
  table.AddRow({"verdict", Styled(verdict, result.passed ? Style::kGood : Style::kBad)});
  return table.Text();
}

// JSON has no infinity. The quotients are finite by definition, except if values near the largest
// double overflow; then null is written.
std::string CompareJson(const Comparison& result) {
  const nlohmann::ordered_json json = {{"passed", result.passed},
                                       {"count", result.count},
                                       {"different", result.different},
                                       {"mere", result.mere},
                                       {"mare", result.mare},
                                       {"threshold", result.threshold},
                                       {"largest_difference", result.largest_difference},
                                       {"not_finite", result.not_finite},
                                       {"worst_index", result.worst}};
  return JsonText(json);
}

// Compares a folder of results with a golden folder. The golden folder is G, as with files; if only
// A is a golden folder, it is A.
int RunCompareFolders(CompareOptions options) {
  const bool second = golden::IsGoldenSet(options.golden);
  if (!second && IsFolder(options.golden)) {
    if (!golden::IsGoldenSet(options.actual)) {
      throw BadInput(
          fmt::format("{}: no manifest.json in it, nor in {}: neither is a golden folder",
                      options.actual, options.golden));
    }
  }
  if (!second) std::swap(options.actual, options.golden);

  if (!options.dtype.empty() || !options.shape.empty()) {
    throw BadInput("--dtype and --shape belong to files; a golden folder knows its own");
  }
  golden::CompareSetOptions set;
  set.standard = StandardOf(options.judge);
  set.second = options.judge.second;
  set.jobs = options.jobs;
  set.with_pictures = !options.output.report.empty();
  const std::vector<golden::StoredCase> cases = golden::ReadManifest(options.golden);
  std::vector<golden::ReportRow> rows;
  {
    Progress progress(static_cast<int>(cases.size()));
    set.on_case_done = [&](int done) { progress.Show(done, "cases"); };
    rows = golden::CompareSets(cases, options.actual, set);
  }
  return Conclude(rows, set.standard, options.output, options.golden, options.actual);
}

// For standards that need no bound: judges two files like a golden folder with a bound of 0. A
// reference of another floating type is rounded to the results' type. Only the mixed tolerance
// counts from the reference's exact values.
int RunCompareFilesBy(const CompareOptions& options, const HostTensor& actual,
                      const HostTensor& reference) {
  const golden::StandardOptions standard = StandardOf(options.judge);
  if (standard.standard == golden::Standard::kBound ||
      standard.standard == golden::Standard::kDual) {
    throw BadInput("two files have no error bound and no exact values: compare golden folders");
  }
  const bool needs_one_type = standard.standard == golden::Standard::kBinary ||
                              actual.dtype() == kUInt8 || reference.dtype() == kUInt8;
  if (needs_one_type && actual.dtype() != reference.dtype()) {
    throw BadInput(fmt::format("{} holds {}, but {} holds {}", options.actual,
                               DataTypeName(actual.dtype()), options.golden,
                               DataTypeName(reference.dtype())));
  }
  const auto bytes = [&](const HostTensor& tensor) {
    const HostTensor dense = tensor.ConvertedTo(actual.dtype(), "dense");
    return std::vector<std::byte>(dense.data(), dense.data() + dense.bytes());
  };
  golden::GoldenOutput wanted{"A", actual.dtype(), actual.shape(), bytes(reference), {}};
  for (int64_t i = 0; i < reference.count(); ++i) wanted.exact.value.push_back(reference.Get(i));
  wanted.exact.bound.resize(wanted.exact.value.size());
  const golden::OutputVerdict verdict = golden::Judge(wanted, bytes(actual), standard);
  if (options.output.json) {
    Print(JsonText({{"passed", verdict.passed},
                    {"count", verdict.count},
                    {"failed", verdict.failed},
                    {"nan_mismatch", verdict.nan_mismatch},
                    {"infinity_mismatch", verdict.infinity_mismatch},
                    {"largest_ulp", verdict.largest_ulp},
                    {"reason", verdict.reason}}));
  } else {
    std::string text = verdict.passed
                           ? Styled("ok", Style::kGood) + "\n"
                           : Styled("FAILED", Style::kBad) + ": " + verdict.reason + "\n";
    if (!verdict.worst.empty()) text += ElementText(verdict, verdict.worst[0]) + "\n";
    Print(text);
  }
  return verdict.passed ? kExitOk : kExitCheckFailed;
}

int RunCompare(const CompareOptions& options) {
  if (IsFolder(options.actual)) return RunCompareFolders(options);
  if (IsFolder(options.golden)) {
    throw BadInput(fmt::format("{}: no such folder, but {} is one: wanted two folders or two files",
                               options.actual, options.golden));
  }
  if (!(options.output.junit + options.output.report).empty()) {
    throw BadInput("--junit and --report belong to golden folders");
  }
  const HostTensor actual = LoadSide(options, options.actual, "A");
  const HostTensor golden = LoadSide(options, options.golden, "G");
  if (actual.shape() != golden.shape()) {
    throw BadInput(fmt::format("{} has shape {}, but {} has shape {}", options.actual,
                               ToString(actual.shape()), options.golden, ToString(golden.shape())));
  }
  if (AnyStandard(options.judge)) return RunCompareFilesBy(options, actual, golden);
  const Comparison result = Compare(actual, golden);
  Print(options.output.json ? CompareJson(result) : CompareText(result, actual, golden));
  return result.passed ? kExitOk : kExitCheckFailed;
}

}  // namespace

void AddCompareCommand(CLI::App& app, Action& action) {
  CLI::App* compare =
      app.add_subcommand("compare", "Judge results by golden ones, or a file by another");
  const auto options = std::make_shared<CompareOptions>();
  compare
      ->add_option("A", options->actual,
                   "the results to judge: a folder, or a file (.npy, .bin, .png, .jpg)")
      ->required()
      ->type_name("FOLDER|FILE");
  compare
      ->add_option("G", options->golden,
                   "what they must be: a golden folder, or a file of any dtype")
      ->required()
      ->type_name("FOLDER|FILE");
  compare->add_option("--dtype", options->dtype, "element type of .bin files")
      ->type_name("float32|float16|bfloat16|float64|uint8");
  compare->add_option("--shape", options->shape, "shape of .bin files (default: one axis)")
      ->type_name("N,C,H,W");
  AddJobs(*compare, options->jobs);
  AddJudgeOptions(*compare, options->judge);
  AddVerdictOutput(*compare, options->output);
  AddReportFile(*compare, options->output);
  compare->footer(
      "Of two folders the golden one is G, or A where only that has a manifest.json.\n\n"
      "Two files without a standard: MERE is the mean of |A - G| / (|G| + 1e-7), MARE\n"
      "the largest. Passed: MERE < T and MARE < 10 T, where T is 2^-13 (float32),\n"
      "2^-10 (float16), 2^-7 (bfloat16) or 2^-44 (float64) by the dtype of A.");
  compare->callback([options, &action] { action = [options] { return RunCompare(*options); }; });
}

}  // namespace portacl::cli
