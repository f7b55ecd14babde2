// `portacl run OPERATOR`: one operator on files or made data.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/file/tensor_io.h"
#include "tools/job/library_info.h"
#include "tools/parse.h"
#include "tools/run_options.h"
#include "tools/tensor/checksum.h"
#include "tools/terminal.h"

namespace portacl::cli {
namespace {

// An input with the file in --save-inputs that it goes to.
struct SavedInput {
  NamedTensor input;
  std::string file;  // empty: not written
};

// Named as in the aclnn signature; .bin where NumPy has no such dtype.
std::vector<SavedInput> SavedInputs(const RunOptions& options, const Job& job) {
  std::vector<SavedInput> saved;
  for (const NamedTensor& input : Inputs(job)) {
    saved.push_back({input, ""});
    if (options.inputs_folder.empty()) continue;
    const std::string name = input.name;
    const char* const extension = input.tensor->dtype() == DataType::kBFloat16 ? "bin" : "npy";
    saved.back().file = fmt::format("{}/{}.{}", options.inputs_folder,
                                    name == "grad_output" ? "gradOutput" : name, extension);
  }
  return saved;
}

void SaveInputs(const RunOptions& options, const std::vector<SavedInput>& inputs) {
  if (options.inputs_folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options.inputs_folder, error);
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.inputs_folder, ignored)) {
    throw BadInput(fmt::format("--save-inputs {}: cannot be made: {}", options.inputs_folder,
                               error ? error.message() : "a file has its name"));
  }
  for (const SavedInput& saved : inputs) {
    SaveTensor(saved.file, *saved.input.tensor, PictureStyle::kValues, std::nullopt);
  }
}

// A result with the file it goes to.
struct Result {
  std::string name;
  const HostTensor* tensor;
  std::string file;  // empty: not written
  PictureStyle style = PictureStyle::kValues;
  std::string note;  // how to read the picture
};

std::vector<Result> Results(const RunOptions& options, const Job& job) {
  std::vector<Result> results;
  for (const NamedTensor& output : Outputs(job)) {
    const std::string name = output.name;
    const bool grid = name == "grid_grad";
    results.push_back({name, output.tensor,
                       grid                   ? options.grid_grad_file
                       : name == "input_grad" ? options.input_grad_file
                                              : options.grad_input_file,
                       grid ? PictureStyle::kFlow : PictureStyle::kValues, ""});
  }
  return results;
}

std::optional<ValueRange> ParseRange(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = Split(text, ',');
  if (parts.size() != 2) throw BadInput("--range: wanted LOW,HIGH");
  const ValueRange range{ParseFinite(parts[0], "--range"), ParseFinite(parts[1], "--range")};
  if (!(range.low < range.high)) throw BadInput("--range: LOW must be below HIGH");
  return range;
}

std::string ModeText(const Job& job) {
  if (IsUpsample(job.op)) {
    return job.scales.empty() ? "scale from the sizes"
                              : fmt::format("scale {}", fmt::join(job.scales, ","));
  }
  return fmt::format("{}, {} padding, align_corners {}", InterpolationName(job.interpolation),
                     PaddingName(job.padding), job.align_corners ? "on" : "off");
}

std::string Report(const RunOptions& options, const Job& job, const RunReport& report,
                   const std::vector<SavedInput>& inputs, const std::vector<Result>& results) {
  using enum Table::Align;
  Table facts({kLeft, kLeft});
  facts.AddRow({"operator", OperatorName(job.op)});
  facts.AddRow({"mode", ModeText(job)});
  facts.AddRow({"path", fmt::format("{}, through {}", report.kernel, report.api)});
  facts.AddRow({"profile", options.profile});
  facts.AddRow({"threads", std::to_string(portaclGetNumThreads())});
  facts.AddRow({"workspace", fmt::format("{} bytes", report.workspace_size)});
  const size_t runs = report.seconds.size();
  facts.AddRow(
      {"time", runs == 1 ? SecondsText(report.best()) + ", the first run (--repeat for more)"
                         : fmt::format("{} best, {} median of {} runs", SecondsText(report.best()),
                                       SecondsText(report.median()), runs)});
  facts.AddRow({"bandwidth", fmt::format("{:.3g} GB/s, each tensor counted once",
                                         BytesMoved(job) / report.best() / 1e9)});
  Table tensors({kLeft, kLeft, kLeft, kLeft, kLeft});
  tensors.AddHeading({"tensor", "dtype", "shape", "checksum", "file"});
  const auto add = [&](const std::string& name, const HostTensor& tensor, const std::string& file) {
    tensors.AddRow(
        {name, DataTypeName(tensor.dtype()), ToString(tensor.shape()), ChecksumText(tensor), file});
  };
  for (const SavedInput& saved : inputs) add(saved.input.name, *saved.input.tensor, saved.file);
  for (const Result& result : results) {
    add(result.name, *result.tensor,
        result.note.empty() ? result.file : fmt::format("{} ({})", result.file, result.note));
  }
  return facts.Text() + "\n" + tensors.Text();
}

nlohmann::ordered_json TensorJson(const std::string& name, const HostTensor& tensor,
                                  const std::string& file) {
  nlohmann::ordered_json json = {{"name", name},
                                 {"dtype", DataTypeName(tensor.dtype())},
                                 {"shape", tensor.shape()},
                                 {"checksum", ChecksumText(tensor)}};
  if (!file.empty()) json["file"] = file;
  return json;
}

nlohmann::ordered_json ReportJson(const RunOptions& options, const Job& job,
                                  const RunReport& report, const std::vector<SavedInput>& inputs,
                                  const std::vector<Result>& results) {
  nlohmann::ordered_json json;
  json["operator"] = OperatorName(job.op);
  json["profile"] = options.profile;
  json["api"] = report.api;
  json["path"] = report.kernel;
  json["threads"] = portaclGetNumThreads();
  if (IsUpsample(job.op)) {
    json["scales"] = job.scales;
  } else {
    json["interpolation"] = InterpolationName(job.interpolation);
    json["padding"] = PaddingName(job.padding);
    json["align_corners"] = job.align_corners;
  }
  json["workspace_bytes"] = report.workspace_size;
  json["time_s"] = {{"best", report.best()},
                    {"median", report.median()},
                    {"plan", report.plan_seconds},
                    {"runs", report.seconds}};
  json["bytes"] = BytesMoved(job);
  json["gb_per_s"] = BytesMoved(job) / report.best() / 1e9;
  json["inputs"] = nlohmann::ordered_json::array();
  json["outputs"] = nlohmann::ordered_json::array();
  for (const SavedInput& saved : inputs) {
    json["inputs"].push_back(TensorJson(saved.input.name, *saved.input.tensor, saved.file));
  }
  for (const Result& result : results) {
    json["outputs"].push_back(TensorJson(result.name, *result.tensor, result.file));
  }
  return json;
}

// That of the option, of the environment, or what the operator's name stands for.
std::string ProfileOf(const RunOptions& options) {
  static constexpr std::string_view kProfiles[] = {"native",         "atlas-a2",   "atlas-a3",
                                                   "atlas-training", "ascend-950", "open"};
  std::string profile = options.profile;
  const char* source = "--profile";
  if (const char* variable = std::getenv("PORTACL_PROFILE");
      profile.empty() && variable != nullptr && *variable != '\0') {
    profile = variable;
    source = "PORTACL_PROFILE";
  }
  if (profile.empty()) profile = IsVendorName(options.op) ? portaclGetProfile() : "native";
  if (std::find(std::begin(kProfiles), std::end(kProfiles), profile) == std::end(kProfiles)) {
    throw BadInput(
        fmt::format("{}: '{}' is not one of {}", source, profile, fmt::join(kProfiles, ", ")));
  }
  return profile;
}

void ApplySettings(const RunOptions& options) {
  ThrowOnStatus(portaclSetNumThreads(options.threads), "portaclSetNumThreads",
                portaclGetErrorMessage());
}

// Here and not by the library's own refusal, which cannot know of the option.
void ApplyImpl(const RunOptions& options, Operator op) {
  if (options.impl.empty()) return;
  const std::vector<std::string> here = AvailableKernels(op);
  if (std::find(here.begin(), here.end(), options.impl) == here.end()) {
    throw BadInput(fmt::format("--impl: '{}' is not one of {}, which {} has on this machine",
                               options.impl, fmt::join(here, ", "), options.op));
  }
  ThrowOnStatus(portaclSetImpl(options.impl.c_str()), "portaclSetImpl", portaclGetErrorMessage());
}

int Run(RunOptions options) {
  const std::optional<ValueRange> range = ParseRange(options.range);
  options.profile = ProfileOf(options);
  ApplySettings(options);
  Job job = BuildJob(options);
  ApplyImpl(options, job.op);
  std::vector<Result> results = Results(options, job);
  for (const Result& result : results) {
    if (!result.file.empty()) CheckOutputPath(result.file, result.tensor->dtype());
  }
  const std::vector<SavedInput> inputs = SavedInputs(options, job);
  RunSettings settings{options.profile, options.repeat, {}};
  RunReport report;
  {
    Progress progress(options.repeat);
    settings.on_run_done = [&](int done) { progress.Show(done, "runs"); };
    report = RunJob(job, settings);
  }
  SaveInputs(options, inputs);
  for (Result& result : results) {
    if (!result.file.empty()) {
      result.note = SaveTensor(result.file, *result.tensor, result.style, range);
    }
  }
  Print(options.json ? JsonText(ReportJson(options, job, report, inputs, results))
                     : Report(options, job, report, inputs, results));
  return kExitOk;
}

void AddInputOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Inputs (FILE: .npy, .bin with --dtype and --shape, .png, .jpg)";
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    run.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--grad-output", options.grad_output, "gradient of the forward result (default: ones)",
      "FILE|ones|random:SEED");
  add("--input", options.input, "grid sampler: the picture that was sampled",
      "FILE|ones|random:SEED");
  add("--grid", options.grid, "grid sampler: the points, x first, -1..1 across the picture",
      "FILE|identity|rotate:DEGREES|lens:STRENGTH|random:SEED");
  add("--dtype", options.dtype, "element type of .bin files, pictures and made data",
      "float32|float16|bfloat16|float64");
  add("--shape", options.shape,
      "of --input (grid sampler) or --grad-output (upsample) where no file tells", "N,C,[D,][H,]W");
}

void AddModeOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Operator";
  run.add_option("--size", options.size,
                 "upsample: of grad_input; grid sampler: of a made grid (default: the input's)")
      ->type_name("[D,][H,]W")
      ->group(group);
  run.add_option("--scale", options.scale,
                 "upsample: grad_output extent / grad_input extent; gives the size where --size "
                 "is absent")
      ->type_name("S|SH,SW|SD,SH,SW")
      ->group(group);
  run.add_option("--interpolation", options.interpolation, "default: bilinear")
      ->type_name("bilinear|nearest|bicubic")
      ->group(group);
  run.add_option("--padding", options.padding, "default: zeros")
      ->type_name("zeros|border|reflection")
      ->group(group);
  run.add_flag("--align-corners", options.align_corners,
               "-1 and 1 are the centres of the corner pixels, not the picture's edges")
      ->group(group);
  run.add_option("--mask", options.mask, "which of input_grad,grid_grad to compute (default: 1,1)")
      ->type_name("1,0")
      ->group(group);
}

void AddResultOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Results (FILE: .npy, .bin, .png, .jpg)";
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    run.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--grad-input", options.grad_input_file, "upsample: write the result", "FILE");
  add("--input-grad", options.input_grad_file, "grid sampler: write the picture's gradient",
      "FILE");
  add("--grid-grad", options.grid_grad_file,
      "grid sampler: write the points' gradient (as a picture: colour = direction)", "FILE");
  add("--save-inputs", options.inputs_folder,
      "write every input: gradOutput.npy, input.npy, grid.npy (bfloat16: .bin)", "DIR");
  add("--range", options.range, "values that become black and white in pictures", "LOW,HIGH");
  run.add_flag("--json", options.json, "print a JSON object")->group(group);
}

void AddExecutionOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Execution";
  run.add_option("--profile", options.profile,
                 "native: the C++ API; otherwise the aclnn C API under this profile (default: "
                 "PORTACL_PROFILE; else native, for the vendor's names atlas-a2)")
      ->type_name("native|atlas-a2|atlas-a3|atlas-training|ascend-950|open")
      ->group(group);
  run.add_option("--impl", options.impl, "force one kernel (portacl info lists them)")
      ->type_name("NAME")
      ->group(group);
  run.add_option("--threads", options.threads, "default: the library's (portacl info)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N")
      ->group(group);
  run.add_option("--repeat", options.repeat, "timed runs; more than 1 are preceded by a warm-up")
      ->check(CLI::Range(1, 1000000).description(""))
      ->type_name("N")
      ->group(group);
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& action) {
  CLI::App* run = app.add_subcommand("run", "Run one operator on files, pictures or made data");
  const auto options = std::make_shared<RunOptions>();
  run->add_option("operator", options->op, "which operator (names below)")
      ->required()
      ->type_name("OPERATOR");
  AddInputOptions(*run, *options);
  AddModeOptions(*run, *options);
  AddResultOptions(*run, *options);
  AddExecutionOptions(*run, *options);
  run->footer("Operators (either name):\n" + OperatorNames() +
              "\n\nExample: how much each pixel of a photograph counts in its turned copy, and "
              "where the\npoints should move, as numbers and as a picture:\n"
              "  portacl run grid_sampler_2d_backward --input photo.png --grid rotate:15 \\\n"
              "    --input-grad weights.npy --grid-grad flow.png");
  run->callback([options, &action] { action = [options] { return Run(*options); }; });
}

}  // namespace portacl::cli
