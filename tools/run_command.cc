// `portacl run OPERATOR`: one operator on files or generated data.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/file/file_io.h"
#include "tools/file/tensor_io.h"
#include "tools/library_info.h"
#include "tools/parse.h"
#include "tools/run_call.h"
#include "tools/run_options.h"
#include "tools/tensor/checksum.h"
#include "tools/terminal.h"
#include "tools/testing/host_tensors.h"

namespace portacl::cli {
namespace {

// A tensor of the call with its file.
struct Shown {
  size_t index = 0;    // among the call's arguments
  std::string name;    // as in options: "grad_output"
  std::string source;  // of an input
  std::string file;    // empty: not written
  std::string note;    // how to read the picture
  bool flow = false;   // as a picture: directions
};

// portacl's own API lacks some tensors, such as the tensor that gives a gradient of pooling its
// shape. They are no part of the call.
std::vector<Shown> ShownOf(const golden::Call& call, golden::Role role) {
  std::vector<Shown> shown;
  for (const size_t i : call.With(role)) {
    const std::string name = WithSeparator(call.op->parameters[i].native, '_');
    if (!call.arguments[i].wanted || name.empty()) continue;
    if (call.op->parameters[i].dtype) continue;  // whole numbers
    shown.push_back({i, name, "", "", "", false});
  }
  return shown;
}

// Named as in the aclnn signature; .bin if NumPy has no such dtype.
std::vector<Shown> SavedInputs(const RunOptions& options, const golden::Call& call) {
  std::vector<Shown> inputs = ShownOf(call, golden::Role::kInput);
  for (Shown& input : inputs) {
    input.source = options.Source(call.op->parameters[input.index].native);
    if (options.inputs_folder.empty()) continue;
    const char* const extension = call.source.dtype == DataType::kBFloat16 ? "bin" : "npy";
    input.file = fmt::format("{}/{}.{}", options.inputs_folder,
                             call.op->parameters[input.index].native, extension);
  }
  return inputs;
}

void SaveInputs(const RunOptions& options, const golden::Call& call,
                const std::vector<Shown>& inputs) {
  if (options.inputs_folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options.inputs_folder, error);
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.inputs_folder, ignored)) {
    throw BadInput(fmt::format("--save-inputs {}: cannot be made: {}", options.inputs_folder,
                               error ? error.message() : "a file has its name"));
  }
  for (const Shown& input : inputs) {
    SaveTensor(input.file, golden::HostCopy(call.arguments[input.index].tensor),
               PictureStyle::kValues, std::nullopt);
  }
}

std::vector<Shown> Results(const RunOptions& options, const golden::Call& call) {
  std::vector<Shown> results = ShownOf(call, golden::Role::kOutput);
  for (Shown& result : results) {
    const std::string native = call.op->parameters[result.index].native;
    result.file = options.TensorText(native);
    result.flow = native == "gridGrad";
    if (!result.file.empty()) CheckOutputPath(result.file, call.source.dtype);
  }
  return results;
}

std::optional<ValueRange> ParseRange(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = Split(text, ',');
  if (parts.size() != 2) throw BadInput(fmt::format("--range: '{}' is not LOW,HIGH", text));
  const ValueRange range{ParseFinite(parts[0], "--range"), ParseFinite(parts[1], "--range")};
  if (!(range.low < range.high)) {
    throw BadInput(fmt::format("--range: '{}': LOW must be below HIGH", text));
  }
  return range;
}

// The values that become black and white, unless an option names them. A sampled or resized picture
// keeps the source's values, and so its brightness.
std::optional<ValueRange> RangeOf(const Shown& result, const RunOptions& options, DataType dtype) {
  if (result.name != "output" || dtype == kUInt8) return std::nullopt;
  if (!IsPictureExtension(Extension(options.Source("input")))) return std::nullopt;
  return ValueRange{0, 1};
}

std::string ModeWord(const golden::Call& call, size_t i) {
  const std::vector<std::string> words = golden::ModeWords(call.op->parameters[i]);
  return words.at(static_cast<size_t>(call.arguments[i].integers.at(0)));
}

// A mode or flag as reports call it. A convolution's masks are no parameter of the native API.
std::string ReportName(const golden::Parameter& p) {
  return *p.native == '\0' ? "masks" : WithSeparator(p.native, '_');
}

// The call's modes, flags and scales: "bilinear, zeros padding, align_corners off".
std::string ModeText(const golden::Call& call, const RunOptions& options,
                     const std::vector<double>& scales) {
  std::vector<std::string> words;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const golden::Parameter& p = call.op->parameters[i];
    const std::string name = ReportName(p);
    if (p.role == golden::Role::kMode) {
      words.push_back(ModeWord(call, i) + (name == "interpolation" ? "" : " " + name));
    } else if (p.role == golden::Role::kFlag) {
      words.push_back(name + (call.arguments[i].integers.at(0) != 0 ? " on" : " off"));
    }
  }
  if (call.pillow != 0) words.push_back("antialias on, exact " + options.exact);
  if (call.op->resizes()) {
    words.push_back(scales.empty() ? "scale from the sizes"
                                   : fmt::format("scale {}", fmt::join(scales, ",")));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// The run, for both kinds of report.
struct RunFacts {
  const RunOptions& options;
  const RunTask& task;
  const CallReport& report;
  const std::vector<Shown>& inputs;
  const std::vector<Shown>& results;

  HostTensor Tensor(const Shown& shown) const {
    return golden::HostCopy(task.call.arguments[shown.index].tensor);
  }
  std::vector<double> scales() const {
    std::vector<double> given;
    for (const size_t i : task.call.With(golden::Role::kReal)) {
      if (task.call.source.arguments[i].real) given.push_back(task.call.arguments[i].real);
    }
    return given;
  }
};

std::string Report(const RunFacts& run) {
  using enum Table::Align;
  const golden::Timing& timing = run.report.timing;
  Table facts({kLeft, kLeft});
  facts.AddRow({"operator", run.task.choice.name()});
  const std::string mode = ModeText(run.task.call, run.options, run.scales());
  if (!mode.empty()) facts.AddRow({"mode", mode});
  facts.AddRow({"path", fmt::format("{}, through {}", run.report.kernel, run.report.api)});
  facts.AddRow({"profile", run.options.profile});
  facts.AddRow({"threads", std::to_string(portaclGetNumThreads())});
  facts.AddRow({"workspace", fmt::format("{} bytes", timing.workspace_size)});
  const size_t runs = timing.seconds.size();
  facts.AddRow(
      {"time", runs == 1 ? SecondsText(timing.best()) + ", the first run (--repeat for more)"
                         : fmt::format("{} best, {} median of {} runs", SecondsText(timing.best()),
                                       SecondsText(timing.median()), runs)});
  facts.AddRow({"bandwidth", fmt::format("{:.3g} GB/s, each tensor counted once",
                                         BytesMoved(run.task.call) / timing.best() / 1e9)});
  Table tensors({kLeft, kLeft, kLeft, kLeft, kLeft});
  tensors.AddHeading({"tensor", "dtype", "shape", "checksum", "made of, written to"});
  for (const std::vector<Shown>* const list : {&run.inputs, &run.results}) {
    for (const Shown& shown : *list) {
      const HostTensor tensor = run.Tensor(shown);
      std::string last = shown.source;
      if (!last.empty() && !shown.file.empty()) last += ", ";
      last += shown.note.empty() ? shown.file : fmt::format("{} ({})", shown.file, shown.note);
      tensors.AddRow({shown.name, DataTypeName(tensor.dtype()), ToString(tensor.shape()),
                      ChecksumText(tensor), last});
    }
  }
  return facts.Text() + "\n" + tensors.Text();
}

nlohmann::ordered_json TensorsJson(const RunFacts& run, const std::vector<Shown>& list) {
  auto array = nlohmann::ordered_json::array();
  for (const Shown& shown : list) {
    const HostTensor tensor = run.Tensor(shown);
    array.push_back({{"name", shown.name},
                     {"dtype", DataTypeName(tensor.dtype())},
                     {"shape", tensor.shape()},
                     {"checksum", ChecksumText(tensor)}});
    if (!shown.source.empty()) array.back()["source"] = shown.source;
    if (!shown.file.empty()) array.back()["file"] = shown.file;
  }
  return array;
}

nlohmann::ordered_json ReportJson(const RunFacts& run) {
  const golden::Call& call = run.task.call;
  const golden::Timing& timing = run.report.timing;
  nlohmann::ordered_json json;
  json["operator"] = run.task.choice.name();
  json["profile"] = run.options.profile;
  json["api"] = run.report.api;
  json["path"] = run.report.kernel;
  json["threads"] = portaclGetNumThreads();
  if (call.op->resizes()) json["scales"] = run.scales();
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const golden::Parameter& p = call.op->parameters[i];
    const std::string name = ReportName(p);
    if (p.role == golden::Role::kMode) json[name] = ModeWord(call, i);
    if (p.role == golden::Role::kFlag) json[name] = call.arguments[i].integers.at(0) != 0;
  }
  json["workspace_bytes"] = timing.workspace_size;
  json["time_s"] = {{"best", timing.best()},
                    {"median", timing.median()},
                    {"plan", timing.plan_seconds},
                    {"runs", timing.seconds}};
  json["bytes"] = BytesMoved(call);
  json["gb_per_s"] = BytesMoved(call) / timing.best() / 1e9;
  json["inputs"] = TensorsJson(run, run.inputs);
  json["outputs"] = TensorsJson(run, run.results);
  return json;
}

// The profile of the option, else of the environment, else the operator name's default.
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
  if (profile.empty()) {
    profile = IsVendorName(options.op) ? portaclGetProfile() : "native";
  }
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
void ApplyImpl(const RunOptions& options, ops::Op op) {
  if (options.impl.empty()) return;
  const std::vector<std::string> here = AvailableKernels(ops::RowOf(op).name);
  const std::string kernel =
      options.impl.substr(0, options.impl.find(':'));  // the library knows paths
  if (std::find(here.begin(), here.end(), kernel) == here.end()) {
    throw BadInput(fmt::format("--impl: '{}' is not one of {}, which {} has on this machine",
                               kernel, fmt::join(here, ", "), options.op));
  }
  ThrowOnStatus(portaclSetImpl(options.impl.c_str()), "portaclSetImpl", portaclGetErrorMessage());
}

int Run(RunOptions options) {
  const std::optional<ValueRange> range = ParseRange(options.range);
  options.profile = ProfileOf(options);
  ApplySettings(options);
  RunTask task = BuildRun(options);
  ApplyImpl(options, task.choice.row->op);
  std::vector<Shown> results = Results(options, task.call);
  const std::vector<Shown> inputs = SavedInputs(options, task.call);
  CallReport report;
  {
    Progress progress(options.repeat);
    golden::Timing timing;
    timing.repeat = options.repeat;
    timing.on_run_done = [&](int done) { progress.Show(done, "runs"); };
    report = RunCall(task.call, options.profile, task.choice.graph, std::move(timing));
  }
  SaveInputs(options, task.call, inputs);
  for (Shown& result : results) {
    if (result.file.empty()) continue;
    result.note =
        SaveTensor(result.file, golden::HostCopy(task.call.arguments[result.index].tensor),
                   result.flow ? PictureStyle::kFlow : PictureStyle::kValues,
                   range ? range : RangeOf(result, options, task.call.source.dtype));
  }
  const RunFacts facts{options, task, report, inputs, results};
  Print(options.json ? JsonText(ReportJson(facts)) : Report(facts));
  return kExitOk;
}

// ---- the options, from the parameters of portacl's own API -------------------------------------

struct OptionHelp {
  const char* native;
  const char* type;  // of its option; nullptr: what the kind of the parameter says
  const char* help;
};
constexpr const char* kData = "FILE|ones|random:SEED";
constexpr OptionHelp kHelp[] = {
    {"gradOutput", kData, "gradient of the forward result (default: ones)"},
    {"input", kData, "the picture or tensor that is sampled, resized or pooled"},
    {"grid", "FILE|identity|rotate:DEGREES|lens:STRENGTH|random:SEED",
     "grid sampler: the points, x first, -1..1 across the picture; affine_grid: write them"},
    {"theta", kData, "affine_grid: the matrices, (N, 2, 3) or (N, 3, 4)"},
    {"value", kData, "ms_deform_attn: the keys of all levels, one level behind the other"},
    {"spatialShapes", "H,W,H,W,...", "ms_deform_attn: the levels' shapes"},
    {"levelStartIndex", "N,N,...",
     "ms_deform_attn: where levels begin (default: one behind the other)"},
    {"locations", "FILE", "ms_deform_attn: the points, x first, 0..1 across a level"},
    {"weights", kData, "ms_deform_attn: a weight for each point"},
    {"boxes", "FILE",
     "roi_align: image, x1, y1, x2, y2 of each roi; rotated: image, x, y, width, "
     "height, angle"},
    {"columns", kData,
     "deform_conv2d, deformable_offsets: write the samples; deform_conv2d_backward: read them"},
    {"weight", "FILE", "deform_conv2d: the kernels, (outputs, inputs of a group, KH, KW)"},
    {"offset", "FILE",
     "deform_conv2d: x of all samples, then y, then masks (--layout pairs: y and x take turns)"},
    {"bias", kData, "deform_conv2d: one number an output (default: zeros)"},
    {"gradInput", "FILE", "resizing, pooling: write the gradient"},
    {"inputGrad", "FILE", "write the input's gradient"},
    {"gridGrad", "FILE",
     "grid sampler: write the points' gradient (as a picture: colour = direction); "
     "affine_grid_backward: read it (default: ones)"},
    {"output", "FILE", "write the result of a forward function"},
    {"thetaGrad", "FILE", "affine_grid_backward: write the matrices' gradient"},
    {"valueGrad", "FILE", "write the keys' gradient"},
    {"locationsGrad", "FILE", "write the points' gradient"},
    {"weightsGrad", "FILE", "write the gradient of the points' weights"},
    {"weightGrad", "FILE", "write the kernels' gradient"},
    {"offsetGrad", "FILE", "write the offsets' gradient"},
    {"biasGrad", "FILE", "write the bias's gradient"},
    {"maskGrad", "FILE", "write the masks' gradient"},
    {"interpolation", nullptr, "grid sampler: how a point takes its value"},
    {"padding", nullptr,
     "grid sampler: what lies outside; grid_sampler_padded alone has circular and constant; "
     "deform_conv2d: one number (0), H,W or four numbers"},
    {"mode", nullptr, "roi_align: what a bin keeps of its samples"},
    {"layout", nullptr, "deform_conv2d: the order within --offset"},
    {"alignCorners", nullptr,
     "-1 and 1 are the centres of the corner pixels, not the picture's edges"},
    {"antialias", nullptr, "upsample_linear, upsample_cubic: weigh all pixels when reducing"},
    {"pooledHeight", nullptr, "roi_align: bins of a roi, from top to bottom"},
    {"pooledWidth", nullptr, "roi_align: bins of a roi, from left to right"},
    {"spatialScale", nullptr, "roi_align: pixels of the input for each unit of --boxes"},
    {"samplingRatio", nullptr,
     "roi_align: samples of a bin along each axis; 0: as many as its pixels"},
    {"aligned", nullptr, "roi_align: the centre of the first pixel is 0.5, not 0"},
    {"clockwise", nullptr, "roi_align_rotated: positive angles turn the other way"},
    {"groups", nullptr,
     "deform_conv2d: groups of input channels with kernels of their own (default: 1)"},
    {"offsetGroups", nullptr,
     "deform_conv2d: groups of input channels with offsets of their own (default: 1)"},
    {"fillValue", nullptr, "grid_sampler_padded: what --padding constant samples outside"},
    {"replaceOutside", nullptr,
     "grid_sampler_padded: points outside the picture take --outside-value"},
    {"outsideValue", nullptr, "grid_sampler_padded: what --replace-outside puts there"}};

// An operator of the list has options even if the table lacks its parameters' names.
OptionHelp HelpOf(const ops::Parameter& parameter) {
  for (const OptionHelp& known : kHelp) {
    if (std::string_view(known.native) == parameter.name) return known;
  }
  return {parameter.name, ops::IsWritten(parameter.kind) ? "FILE" : kData, ""};
}

// " (default: 1)" of a number that need not be given.
std::string Default(const ops::Parameter& parameter) {
  const bool stands = parameter.unset != nullptr && *parameter.unset != '\0';
  return stands ? fmt::format(" (default: {})", parameter.unset) : "";
}

// Calls visit(parameter) for each parameter of a native function, once for each name. Lists have
// separate options, or the name of a mode. Masks follow the offsets.
template <class Visit>
void ForEachNativeParameter(Visit visit) {
  std::set<std::string> seen;
  for (const ops::Signature* const function : ops::kNativeFunctions) {
    for (const ops::Parameter& parameter : function->parameters) {
      const std::string_view name = parameter.name;
      if (ops::FormOf(parameter.kind) == ops::Form::kInts || name == "mask") continue;
      if (seen.insert(parameter.name).second) visit(parameter);
    }
  }
}

void AddTensorOptions(CLI::App& run, RunOptions& options, bool results, const std::string& group) {
  ForEachNativeParameter([&](const ops::Parameter& parameter) {
    if (!ops::IsTensor(parameter.kind) || ops::IsWritten(parameter.kind) != results) return;
    const OptionHelp help = HelpOf(parameter);
    const std::string name = OptionName(parameter.name);
    run.add_option(name == "--output" ? "-o,--output" : name, options.tensors[parameter.name],
                   help.help)
        ->type_name(help.type)
        ->group(group);
  });
}

void AddInputOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Inputs (FILE: .npy, .bin with --dtype and --shape, .png, .jpg)";
  AddTensorOptions(run, options, false, group);
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    run.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--dtype", options.dtype, "element type of .bin files, pictures and generated data",
      "float32|float16|bfloat16|float64|uint8");
  add("--shape", options.shape,
      "of --input or, where there is none, of the first input, if no file tells", "N,C,[D,][H,]W");
}

void AddModeOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Operator";
  run.add_option(
         "--size", options.size,
         "of the resized result, or of grad_input (roi_align_backward: N,H,W); of a generated grid "
         "(default: as the input)")
      ->type_name("[D,][H,]W")
      ->group(group);
  run.add_option(
         "--scale", options.scale,
         "resizing: large extent / small extent as the operator takes it (forward: output / "
         "input); gives the size where --size is absent")
      ->type_name("S|SH,SW|SD,SH,SW")
      ->group(group);
  std::map<std::string_view, std::string_view> words;  // operators have different ones of a mode
  for (const ops::Signature* const function : ops::kNativeFunctions) {
    for (const ops::Parameter& parameter : function->parameters) {
      std::string_view& longest = words[parameter.name];
      longest = std::max(longest, std::string_view(parameter.symbols),
                         [](auto a, auto b) { return a.size() < b.size(); });
    }
  }
  ForEachNativeParameter([&](const ops::Parameter& parameter) {
    const std::string help = HelpOf(parameter).help;
    if (ops::FormOf(parameter.kind) == ops::Form::kChoice) {
      run.add_option(OptionName(parameter.name), options.modes[parameter.name],
                     fmt::format("{} (default: {})", help, ops::PartOf(parameter, 0)))
          ->type_name(std::string(words[parameter.name]))
          ->group(group);
    } else if (parameter.kind == ops::Kind::kFlag) {
      run.add_flag(OptionName(parameter.name), options.flags[parameter.name], help)->group(group);
    } else if (const ops::Form form = ops::FormOf(parameter.kind);
               form == ops::Form::kReal || form == ops::Form::kInteger) {
      run.add_option(OptionName(parameter.name), options.numbers[parameter.name],
                     help + Default(parameter))
          ->type_name(form == ops::Form::kReal ? "NUMBER" : "N")
          ->group(group);
    }
  });
  const std::pair<const char*, const char*> lists[] = {
      {"kernelSize", "deformable convolution (default: the weight's)"},
      {"stride", "deformable convolution (default: 1)"},
      {"dilation", "deformable convolution (default: 1)"}};
  for (const auto& [list, help] : lists) {
    run.add_option(OptionName(list), options.modes[list], help)->type_name("N|H,W")->group(group);
  }
  run.add_option(
         "--exact", options.exact,
         "upsample_linear, upsample_cubic, upsample_lanczos of uint8: whose bits the result has "
         "(default: pytorch)")
      ->type_name("pytorch|pillow|pillow<13")
      ->group(group);
  run.add_option("--mask", options.mask, "which of input_grad,grid_grad to compute (default: 1,1)")
      ->type_name("1,0")
      ->group(group);
}

void AddResultOptions(CLI::App& run, RunOptions& options) {
  const std::string group = "Results (FILE: .npy, .bin, .png, .jpg)";
  AddTensorOptions(run, options, true, group);
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    run.add_option(name, value, help)->type_name(type)->group(group);
  };
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
  CLI::App* run = app.add_subcommand("run", "Run an operator on files, pictures or generated data");
  const auto options = std::make_shared<RunOptions>();
  run->add_option("operator", options->op, "which operator (portacl info lists all)")
      ->required()
      ->type_name("OPERATOR");
  AddInputOptions(*run, *options);
  AddModeOptions(*run, *options);
  AddResultOptions(*run, *options);
  AddExecutionOptions(*run, *options);
  run->footer("Operators (portacl info: their aclnn and graph names):\n" +
              Wrapped(golden::OperatorNames()) + "\n\n" + AnyRankText() +
              "\n\nExample: how much each pixel of a photograph counts in its turned copy, and\n"
              "where the points should move, as numbers and as a picture:\n"
              "  portacl run grid_sampler_2d_backward --input photo.png --grid rotate:15 \\\n"
              "    --input-grad weights.npy --grid-grad flow.png");
  run->callback([options, &action] { action = [options] { return Run(*options); }; });
}

}  // namespace portacl::cli
