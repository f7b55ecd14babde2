// From the options of `portacl run` to a call: files, generated data, shapes, and refusals.
#include "tools/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include <portacl/portacl.h>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/tensor_io.h"
#include "tools/library_info.h"
#include "tools/parse.h"
#include "tools/tensor/grids.h"
#include "tools/testing/generate_parts.h"
#include "tools/testing/host_tensors.h"

namespace portacl::cli {
namespace {

using golden::OperatorRow;
using golden::Parameter;
using golden::Role;

// ---- which options apply -----------------------------------------------------------------------

bool IsGradient(const Parameter& p) {
  return std::string_view(p.native).starts_with("grad") ||
         std::string_view(p.native).ends_with("Grad");
}

// The parameters of a row with a role.
std::vector<Parameter> With(const OperatorRow& row, Role role) {
  std::vector<Parameter> found;
  std::copy_if(row.parameters.begin(), row.parameters.end(), std::back_inserter(found),
               [role](const Parameter& p) { return p.role == role; });
  return found;
}

// Lists of a convolution: the kernel's extents, and numbers that are no tensor's extents.
bool IsKernel(const Parameter& p) { return std::string_view(p.pattern) == "KH,KW"; }
bool IsSteps(const Parameter& p) {
  return p.role == Role::kInts && *p.native != '\0' && !IsKernel(p);
}

bool IsNumber(const std::string& symbol) { return std::isdigit(symbol[0]) != 0; }

// The extents of the outputs that no input has, which --size gives: "OH", "OW".
std::vector<std::string> SizeSymbols(const OperatorRow& row) {
  std::vector<std::string> known, symbols;
  for (const Parameter& input : With(row, Role::kInput)) {
    if (*input.native == '\0') continue;  // gives its extents alone
    for (const std::string& symbol : golden::Symbols(input)) known.push_back(symbol);
  }
  for (const Parameter& number : With(row, Role::kInteger)) known.emplace_back(number.pattern);
  known.insert(known.end(), {"CH", "CW"});  // follow from the positions and the kernel
  for (const Parameter& output : With(row, Role::kOutput)) {
    for (const std::string& symbol : golden::Symbols(output)) {
      if (IsNumber(symbol) || std::find(known.begin(), known.end(), symbol) != known.end())
        continue;
      symbols.push_back(symbol);
    }
  }
  return symbols;
}

bool IsStarts(const Parameter& p) { return p.dtype && std::string_view(p.pattern) == "L"; }

// "1,1,2": the numbers.
std::vector<int64_t> ParseIntegers(const std::string& text, const std::string& option) {
  std::vector<int64_t> numbers;
  for (const std::string& word : Split(text, ',')) {
    numbers.push_back(ParseInteger(word, option, "an integer; wanted integers with commas"));
  }
  return numbers;
}

// Extents of an option, which calls and tables of levels have in 32 bits.
int64_t CheckExtent(int64_t extent, const std::string& option, int64_t least = 1) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (extent >= least && extent <= kMost) return extent;
  throw BadInput(fmt::format("{}: {} is not from {} to {}", option, extent, least, kMost));
}

bool HasGrid(const OperatorRow& row) {
  return std::any_of(row.parameters.begin(), row.parameters.end(),
                     [](const Parameter& p) { return p.is_grid; });
}

bool TakesScales(const RunChoice& choice) {
  const auto& parameters = choice.signature().parameters;
  return choice.row->resizes() &&
         std::any_of(parameters.begin(), parameters.end(), [](const ops::Parameter& p) {
           const ops::Form form = ops::FormOf(p.kind);
           return form == ops::Form::kReal || form == ops::Form::kReals ||
                  form == ops::Form::kFloats;
         });
}

// "; it reads --theta and writes --grid": the operator's options for tensors.
std::string TensorOptions(const RunOptions& options, const OperatorRow& row) {
  const auto names = [&](Role role) {
    std::vector<std::string> found;
    for (const Parameter& p : With(row, role)) {
      if (options.tensors.contains(p.native)) found.push_back(OptionName(p.native));
    }
    return fmt::format("{}", fmt::join(found, ", "));
  };
  return fmt::format("; it reads {} and writes {}", names(Role::kInput), names(Role::kOutput));
}

// Throws for an option that the operator has no use for: it would be ignored in silence.
void RefuseUnused(const RunOptions& options, const RunChoice& choice) {
  const OperatorRow& row = *choice.row;
  const auto check = [&](const std::string& option, bool given, bool applies,
                         const std::string& more = "") {
    if (given && !applies) {
      throw BadInput(fmt::format("{} does not apply to {}{}", option, options.op, more));
    }
  };
  const auto has = [&](const std::string& native) {
    return std::any_of(row.parameters.begin(), row.parameters.end(),
                       [&](const Parameter& p) { return native == p.native; });
  };
  check("--scale", !options.scale.empty(), TakesScales(choice));
  check("--size", !options.size.empty(), HasGrid(row) || !SizeSymbols(row).empty());
  for (const auto& [native, text] : options.numbers) {
    check(OptionName(native), !text.empty(), has(native));
  }
  check("--mask", !options.mask.empty(),
        choice.graph == nullptr && !With(row, Role::kMask).empty());
  for (const auto& [native, text] : options.tensors) {
    check(OptionName(native), !text.empty(), has(native), TensorOptions(options, row));
  }
  for (const auto& [native, text] : options.modes) {
    check(OptionName(native), !text.empty(), has(native));
  }
  for (const auto& [native, given] : options.flags) {
    // antialias: the other names say themselves which function they are.
    const bool chooses = native == "antialias" && options.op == ops::RowOf(row.op).name &&
                         !FindRunChoices(options.op, true).empty();
    check(OptionName(native), given, has(native) || chooses);
  }
}

// Rois name images, and offsets tell how many positions there are: none are made up.
void CheckFiles(const RunOptions& options, const OperatorRow& row) {
  for (const Parameter& input : With(row, Role::kInput)) {
    const bool offsets = std::string_view(input.pattern) == "N,F,YH,YW";
    if (!golden::NamesImages(input) && !offsets) continue;
    const std::string text = options.TensorText(input.native);
    if (text.empty() || IsMade(text)) {
      throw BadInput(fmt::format("{} is needed: a file; {}", OptionName(input.native),
                                 offsets ? "the positions are as many as it has"
                                         : "rois name images, so none are made up"));
    }
  }
}

// The value of `antialias` that --exact asks for; 0 without it.
int32_t PillowRelease(const RunOptions& options, const OperatorRow& row) {
  if (options.exact.empty() || options.exact == "pytorch") return 0;
  const bool resizes = row.weighs() && !row.backward();
  if (!resizes || options.profile != "native") {
    throw BadInput(
        "--exact is for upsample_linear, upsample_cubic and upsample_lanczos of portacl's own API");
  }
  if (options.exact == "pillow") return PORTACL_PILLOW_13;
  if (options.exact == "pillow<13") return PORTACL_PILLOW_12;
  throw BadInput(fmt::format("--exact: unknown value '{}', wanted pytorch, pillow or pillow<13",
                             options.exact));
}

void CheckNeeded(const RunOptions& options, const OperatorRow& row) {
  for (const Parameter& input : With(row, Role::kInput)) {
    if (IsGradient(input) || *input.native == '\0') continue;
    if (!options.TensorText(input.native).empty()) continue;
    // Starts follow from the levels' shapes; a bias is 0.
    if (IsStarts(input) || options.Source(input.native) == "zeros") continue;
    if (input.dtype) {
      throw BadInput(
          fmt::format("{} is needed: whole numbers, as in 32,48,16,24", OptionName(input.native)));
    }
    if (std::string_view(input.native) == "columns") {
      throw BadInput("--columns is needed: the file that deform_conv2d --columns FILE wrote");
    }
    throw BadInput(fmt::format("{} is needed: a file, {}", OptionName(input.native),
                               input.is_grid
                                   ? "identity, rotate:DEGREES, lens:STRENGTH or random:SEED"
                                   : "ones or random:SEED"));
  }
}

// ---- numbers and words -------------------------------------------------------------------------

std::optional<DataType> WantedDataType(const RunOptions& options) {
  if (options.dtype.empty()) return std::nullopt;
  const std::optional<DataType> dtype = ParseDataType(options.dtype);
  if (!dtype) {
    throw BadInput(fmt::format("--dtype: '{}' is not one of {}", options.dtype, DataTypeNames()));
  }
  return dtype;
}

std::optional<Shape> WantedShape(const RunOptions& options) {
  if (options.shape.empty()) return std::nullopt;
  return ParseShape(options.shape, "--shape");
}

[[noreturn]] void FailOnCount(const char* option, size_t count, const RunOptions& options,
                              size_t axes) {
  throw BadInput(
      fmt::format("{}: {} values, but {} has {} spatial {}: wanted one for each, or one "
                  "for all",
                  option, count, options.op, axes, axes == 1 ? "axis" : "axes"));
}

// --size, one extent for each axis; one alone is for all.
Shape Sizes(const RunOptions& options, size_t axes) {
  Shape size = ParseShape(options.size, "--size");
  if (size.size() == 1) size.resize(axes, size[0]);
  if (size.size() != axes) FailOnCount("--size", size.size(), options, axes);
  return size;
}

std::vector<double> Scales(const RunOptions& options, size_t axes) {
  if (options.scale.empty()) return {};
  std::vector<double> scales = ParseScales(options.scale, "--scale");
  if (scales.size() == 1) scales.resize(axes, scales[0]);
  if (scales.size() != axes) FailOnCount("--scale", scales.size(), options, axes);
  return scales;
}

// "; grid_sampler_2d_padded has it": the operator of this rank and direction whose mode has a word.
std::string OperatorWith(const std::string& word, const OperatorRow& row, const Parameter& mode) {
  for (const OperatorRow& other : golden::Operators()) {
    if (other.axes != row.axes || other.backward() != row.backward()) continue;
    for (const Parameter& p : With(other, Role::kMode)) {
      const std::vector<std::string> words = golden::ModeWords(p);
      if (std::string_view(p.native) == mode.native && std::ranges::count(words, word) > 0) {
        return fmt::format("; {} has it", other.name);
      }
    }
  }
  return "";
}

int64_t ParseMode(const RunOptions& options, const OperatorRow& row, const Parameter& mode) {
  const auto given = options.modes.find(mode.native);
  if (given == options.modes.end() || given->second.empty()) return 0;
  const std::vector<std::string> words = golden::ModeWords(mode);
  const auto found = std::find(words.begin(), words.end(), given->second);
  if (found == words.end()) {
    throw BadInput(fmt::format("{}: '{}' is not one of {}{}", OptionName(mode.native),
                               given->second, fmt::join(words, ", "),
                               OperatorWith(given->second, row, mode)));
  }
  return found - words.begin();
}

// 0 or 1 for each output; 1 if the mask is not given.
std::vector<int64_t> ParseMask(const std::string& text, size_t outputs) {
  if (text.empty()) return std::vector<int64_t>(outputs, 1);
  std::vector<int64_t> mask;
  for (const std::string& word : Split(text, ',')) {
    if (word == "0" || word == "1") mask.push_back(word == "1" ? 1 : 0);
  }
  if (mask.size() == outputs && text.size() == 2 * outputs - 1) return mask;
  throw BadInput(
      fmt::format("--mask: '{}' is not 0 or 1 for each result with a comma, as in 1,0", text));
}

// ---- files of results --------------------------------------------------------------------------

// Whether two paths name one file, even if it does not exist yet.
bool IsSameFile(const std::string& a, const std::string& b) {
  const auto resolve = [](const std::string& path) {
    std::error_code ignored;  // an empty path then; writing the file will say why
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return a == b || (resolve(a) == resolve(b) && !resolve(a).empty());
}

// Only of results that are made, and one for each.
void CheckResultFiles(const RunOptions& options, const OperatorRow& row) {
  const std::vector<Parameter> outputs = With(row, Role::kOutput);
  const std::vector<int64_t> mask = ParseMask(options.mask, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string file = options.TensorText(outputs[i].native);
    if (file.empty()) continue;
    if (mask.at(i) == 0) {
      throw BadInput(fmt::format("{}: the mask leaves {} out", OptionName(outputs[i].native),
                                 outputs[i].native));
    }
    for (size_t k = 0; k < i; ++k) {
      const std::string other = options.TensorText(outputs[k].native);
      if (other.empty() || !IsSameFile(file, other)) continue;
      throw BadInput(fmt::format("{} and {} are the same file {}", OptionName(outputs[k].native),
                                 OptionName(outputs[i].native), file));
    }
  }
}

// ---- tensors -----------------------------------------------------------------------------------

// Whether a shape has the rank and the fixed extents of a parameter.
bool Fits(const Parameter& parameter, const Shape& shape) {
  const std::vector<std::string> symbols = golden::Symbols(parameter);
  if (symbols.size() != shape.size()) return false;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (IsNumber(symbols[i]) && symbols[i] != std::to_string(shape[i])) return false;
  }
  return true;
}

// "[N, C, H, W]": resizing has one tensor with extents to tell.
std::string ShapeText(const OperatorRow& row, const Parameter& parameter) {
  std::vector<std::string> symbols = golden::Symbols(parameter);
  for (std::string& symbol : symbols) {
    if (row.resizes() && symbol.size() > 1) symbol.erase(0, 1);
  }
  return fmt::format("[{}]", fmt::join(symbols, ", "));
}

// The smallest extent that the forward function enlarges to at least `out_extent`:
// floor(extent * scale) >= out_extent.
int64_t InputExtent(int64_t out_extent, double scale) {
  const double ratio = static_cast<double>(out_extent) / scale;
  constexpr double kMost = 1e15;
  if (ratio > kMost) throw BadInput(fmt::format("--scale: {} makes the result too large", scale));
  const int64_t nearest = std::max<int64_t>(std::llround(ratio), 1);
  if (std::floor(static_cast<double>(nearest) * scale) == static_cast<double>(out_extent)) {
    return nearest;
  }
  return std::max<int64_t>(static_cast<int64_t>(std::ceil(ratio)), 1);
}

int64_t OutputExtent(int64_t in_extent, double scale) {
  const double extent = std::floor(static_cast<double>(in_extent) * scale);
  constexpr double kMost = 1e15;
  if (extent > kMost) throw BadInput(fmt::format("--scale: {} makes the result too large", scale));
  return std::max<int64_t>(static_cast<int64_t>(extent), 1);
}

// Loads a call's inputs one by one; known extents go on from each to the next.
class TaskBuilder {
 public:
  TaskBuilder(const RunOptions& options, std::vector<RunChoice> choices)
      : options_(options), choices_(std::move(choices)), choice_(choices_.front()) {}

  RunTask Build() {
    std::vector<HostTensor> inputs(With(*choice_.row, Role::kInput).size());
    bool first = true;
    for (const bool gradients : {false, true}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (IsGradient(Input(i)) != gradients || *Input(i).native == '\0') continue;
        inputs[i] = first ? LoadFirst(i) : Input(i).dtype ? LoadNumbers(i) : Load(Input(i));
        first = false;
        Bind(Input(i), inputs[i].shape());
      }
    }
    golden::Case c = MakeCase();
    c.dtype = dtype_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (*Input(i).native != '\0') continue;
      inputs[i] = LoadTensor({Input(i).name, "ones", dtype_, ShapeOf(Input(i))});
    }
    RunTask task = {choice_, golden::CallOn(std::move(c), inputs)};
    const std::vector<size_t> positions = task.call.With(Role::kInput);
    for (const auto& [i, values] : numbers_) {
      task.call.arguments[positions[i]].tensor.Fill(values);
    }
    task.call.pillow = PillowRelease(options_, row());
    if (task.call.pillow != 0 && dtype_ != DataType::kUInt8) {
      throw BadInput(
          fmt::format("--exact {}: Pillow's bits are for uint8, but {} is {}; give --dtype uint8",
                      options_.exact, OptionName(Input(0).native), DataTypeName(dtype_)));
    }
    return task;
  }

 private:
  const OperatorRow& row() const { return *choice_.row; }
  Parameter Input(size_t i) const { return With(row(), Role::kInput).at(i); }

  // The tensor that options may give dtype and shape; its rank chooses the operator.
  HostTensor LoadFirst(size_t i) {
    const std::string option = OptionName(Input(i).native);
    HostTensor tensor = LoadTensor({option, options_.Source(Input(i).native),
                                    WantedDataType(options_), WantedShape(options_)});
    std::vector<std::string> wanted;
    for (const RunChoice& choice : choices_) {
      const Parameter parameter = With(*choice.row, Role::kInput).at(i);
      if (Fits(parameter, tensor.shape())) {
        choice_ = choice;
        dtype_ = tensor.dtype();
        return tensor;
      }
      wanted.push_back(ShapeText(*choice.row, parameter));
    }
    throw BadInput(fmt::format("{}: {} takes {}, but the shape is {}", option, options_.op,
                               fmt::join(wanted, " or "), ToString(tensor.shape())));
  }

  HostTensor Load(const Parameter& input) {
    if (!input.is_grid) {
      const std::string option = OptionName(input.native);
      const bool known = IsKnown(input);  // if not, a file tells: the number of rois
      HostTensor tensor =
          LoadTensor({option, options_.Source(input.native), dtype_,
                      known ? std::optional(ShapeOf(input)) : std::nullopt,
                      fmt::format(", because --shape is the shape of {}; give a .npy file",
                                  OptionName(Input(0).native))});
      if (Fits(input, tensor.shape())) return tensor;
      throw BadInput(fmt::format("{}: wanted {}, but the shape is {}", option,
                                 ShapeText(row(), input), ToString(tensor.shape())));
    }
    HostTensor grid = LoadGrid();
    if (Fits(input, grid.shape())) return grid;
    throw BadInput(fmt::format("--grid: wanted {}, but the shape is {}", ShapeText(row(), input),
                               ToString(grid.shape())));
  }

  // The levels' shapes, or the levels' starts. Without an option levels follow each other. The
  // tensor gives only the shape.
  HostTensor LoadNumbers(size_t i) {
    const std::string option = OptionName(Input(i).native);
    const std::string text = options_.TensorText(Input(i).native);
    std::vector<double>& values = numbers_[i];
    if (!text.empty()) {
      const std::vector<int64_t> given = ParseIntegers(text, option);
      for (const int64_t number : given) {
        values.push_back(
            static_cast<double>(CheckExtent(number, option, IsStarts(Input(i)) ? 0 : 1)));
      }
    } else {
      const std::vector<double>& shapes = numbers_.begin()->second;
      double start = 0;
      for (size_t level = 0; 2 * level < shapes.size(); ++level) {
        if (start > std::numeric_limits<int32_t>::max()) {
          throw BadInput(fmt::format("{}: level {} would start at {}, above {}",
                                     OptionName(Input(numbers_.begin()->first).native), level,
                                     start, std::numeric_limits<int32_t>::max()));
        }
        values.push_back(start);
        start += shapes[2 * level] * shapes[2 * level + 1];
      }
    }
    Shape shape = {static_cast<int64_t>(values.size())};
    if (!IsStarts(Input(i))) {
      if (values.size() % 2 != 0) {
        throw BadInput(
            fmt::format("{}: {} numbers, but each level has two, H and W", option, values.size()));
      }
      shape = {shape[0] / 2, 2};
    }
    return HostTensor(DataType::kFloat32, shape, option);
  }

  HostTensor LoadGrid() const {
    const size_t axes = row().axes;
    const bool align_corners = Flag("alignCorners");
    const std::vector<std::string> spatial =
        axes == 2 ? std::vector<std::string>{"H", "W"} : std::vector<std::string>{"D", "H", "W"};
    Shape points = {extents_.at("N")};
    for (const std::string& symbol : spatial) points.push_back(extents_.at(symbol));
    const bool sized = !options_.size.empty();
    if (sized) {
      const Shape size = Sizes(options_, axes);
      std::copy(size.begin(), size.end(), points.begin() + 1);
    }
    const std::string source = options_.TensorText("grid");
    if (const std::optional<GridSpec> spec = ParseGridSpec(source)) {
      if (axes == 3) return MakeVolumeGrid(*spec, points, align_corners, dtype_);
      const GridFrame frame{points[0],        points[1],        points[2],
                            extents_.at("H"), extents_.at("W"), align_corners};
      return MakeGrid(*spec, frame, dtype_);
    }
    const std::string extension = Extension(source);
    const bool raw = extension == "bin";
    if (!raw && extension != "npy") {
      throw BadInput(fmt::format(
          "--grid {}: wanted identity, rotate:DEGREES, lens:STRENGTH, random:SEED or a .npy or "
          ".bin file",
          source));
    }
    std::optional<Shape> shape;
    if (sized || raw) {
      shape = points;
      shape->push_back(static_cast<int64_t>(axes));
    }
    return LoadTensor({"--grid", source, dtype_, shape});
  }

  void Bind(const Parameter& parameter, const Shape& shape) {
    const std::vector<std::string> symbols = golden::Symbols(parameter);
    for (size_t i = 0; i < symbols.size(); ++i) extents_.emplace(symbols[i], shape[i]);
  }

  bool IsKnown(const Parameter& parameter) const {
    const std::vector<std::string> symbols = golden::Symbols(parameter);
    return std::ranges::all_of(symbols, [&](const std::string& symbol) {
      return IsNumber(symbol) || extents_.contains(symbol);
    });
  }

  Shape ShapeOf(const Parameter& parameter) const {
    Shape shape;
    for (const std::string& symbol : golden::Symbols(parameter)) {
      shape.push_back(IsNumber(symbol) ? std::stoll(symbol) : extents_.at(symbol));
    }
    return shape;
  }

  bool Flag(const std::string& native) const {
    const auto found = options_.flags.find(native);
    return found != options_.flags.end() && found->second;
  }

  std::string NumberText(const std::string& native) const {
    const auto found = options_.numbers.find(native);
    return found == options_.numbers.end() ? "" : found->second;
  }

  // Extents of the results that the inputs leave open.
  void BindSize(const std::vector<double>& scales) {
    for (const Parameter& number : With(row(), Role::kInteger)) {
      const std::string symbol = number.pattern, option = OptionName(number.native);
      if (symbol.empty()) continue;
      const std::string text = NumberText(number.native);
      if (text.empty() && (symbol == "GR" || symbol == "DG")) extents_.emplace(symbol, 1);
      if (text.empty() && !extents_.contains(symbol)) {
        throw BadInput(fmt::format("{} is needed: a whole number", option));
      }
      if (!text.empty()) {
        extents_.emplace(symbol, CheckExtent(ParseInteger(text, option), option));
      }
    }
    for (const Parameter& list : With(row(), Role::kInts)) {
      if (IsKernel(list)) KernelSize(list);
    }
    if (extents_.contains("KH") && extents_.contains("YH")) {  // the columns of a convolution
      const std::string option = "--kernel-size";
      extents_.emplace("CH", CountElements({extents_.at("YH"), extents_.at("KH")}, option));
      extents_.emplace("CW", CountElements({extents_.at("YW"), extents_.at("KW")}, option));
    }
    const std::vector<std::string> symbols = SizeSymbols(row());
    if (symbols.empty()) return;
    if (!options_.size.empty()) {
      const bool batch = symbols.front() == "N";  // no spatial axis: each has its own number
      const Shape size =
          batch ? ParseShape(options_.size, "--size") : Sizes(options_, symbols.size());
      if (size.size() != symbols.size()) {
        throw BadInput(
            fmt::format("--size: {} values, but {} has {} of the input: wanted one for "
                        "each",
                        size.size(), options_.op, fmt::join(symbols, ", ")));
      }
      for (size_t i = 0; i < size.size(); ++i) extents_[symbols[i]] = size[i];
    } else if (!scales.empty()) {
      const std::vector<std::string> known = golden::Symbols(Input(0));
      for (size_t i = 0; i < symbols.size(); ++i) {
        const int64_t from = extents_.at(known.at(i + 2));
        extents_[symbols[i]] =
            row().backward() ? InputExtent(from, scales[i]) : OutputExtent(from, scales[i]);
      }
    } else {
      throw BadInput(fmt::format("the size of the result is not known; give --size{}",
                                 TakesScales(choice_) ? ", --scale or both" : ""));
    }
  }

  // Strides, padding, dilations: one number for both axes or two, H and W; of padding also four:
  // top, bottom, left, right. Vendors' lists of strides begin with 1, 1.
  std::vector<int64_t> Steps(const Parameter& list) const {
    const bool pads = std::string_view(list.pattern).starts_with("PT");
    const std::string option = OptionName(list.native), text = ListText(list);
    std::vector<int64_t> steps = ParseIntegers(text.empty() ? pads ? "0" : "1" : text, option);
    if (pads && steps.size() == 4) return steps;
    if (steps.size() == 1) steps.push_back(steps[0]);
    if (steps.size() != 2) {
      throw BadInput(fmt::format("{}: {} numbers, wanted 1 or 2{}", option, steps.size(),
                                 pads ? ", or 4: top, bottom, left, right" : ""));
    }
    if (pads) return {steps[0], steps[0], steps[1], steps[1]};
    if (golden::Symbols(list).size() == 4) steps.insert(steps.begin(), {1, 1});
    return steps;
  }
  std::string ListText(const Parameter& list) const {
    const auto given = options_.modes.find(list.native);
    return given == options_.modes.end() ? "" : given->second;
  }
  // If there is a weight, its extents are the kernel's.
  std::vector<int64_t> KernelSize(const Parameter& list) {
    const std::string option = OptionName(list.native), text = ListText(list);
    if (text.empty()) {
      if (extents_.contains("KH")) return {extents_.at("KH"), extents_.at("KW")};
      throw BadInput(fmt::format("{} is needed: H,W", option));
    }
    std::vector<int64_t> size = ParseIntegers(text, option);
    if (size.size() == 1) size.push_back(size[0]);
    if (size.size() != 2) {
      throw BadInput(fmt::format("{}: {} numbers, wanted 1 or 2: H,W", option, size.size()));
    }
    for (const int64_t extent : size) CheckExtent(extent, option);
    extents_.emplace("KH", size[0]);
    extents_.emplace("KW", size[1]);
    return size;
  }

  golden::Case MakeCase() {
    const std::vector<double> scales = Scales(options_, row().axes);
    BindSize(scales);
    golden::GenerateOptions generate;
    if (options_.profile != "native") generate.profile = options_.profile;
    golden::Case c = golden::EmptyCase(row(), generate);  // with formats that the function takes
    size_t axis = 0;
    for (size_t i = 0; i < c.arguments.size(); ++i) {
      const Parameter& parameter = row().parameters[i];
      golden::ArgumentCase& argument = c.arguments[i];
      if (parameter.role == Role::kOutput) {
        argument.shape = ShapeOf(parameter);
        CountBytes(*argument.shape, ElementSize(dtype_), WithSeparator(parameter.native, '_'));
      } else if (parameter.role == Role::kReal && row().resizes()) {
        if (axis < scales.size()) argument.real = scales[axis++];
      } else if (const std::string text = NumberText(parameter.native); !text.empty()) {
        const std::string option = OptionName(parameter.native);
        if (parameter.role == Role::kReal) argument.real = ParseFinite(text, option);
        if (parameter.role == Role::kInteger) argument.integers = {ParseInteger(text, option)};
      } else if (parameter.role == Role::kMode) {
        argument.integers = {ParseMode(options_, row(), parameter)};
      } else if (parameter.role == Role::kInteger && extents_.contains(parameter.pattern)) {
        argument.integers = {extents_.at(parameter.pattern)};
      } else if (IsKernel(parameter)) {
        argument.integers = KernelSize(parameter);
      } else if (IsSteps(parameter)) {
        argument.integers = Steps(parameter);
      } else if (std::string_view(parameter.name) == "modulated") {
        const int64_t planes = CountElements(
            {3, extents_.at("DG"), extents_.at("KH"), extents_.at("KW")}, "--kernel-size");
        argument.integers = {extents_.at("F") == planes ? 1 : 0};
      } else if (parameter.role == Role::kFlag) {
        argument.integers = {Flag(parameter.native) ? 1 : 0};
      } else if (parameter.role == Role::kMask) {
        argument.integers = ParseMask(options_.mask, With(row(), Role::kOutput).size());
      }
    }
    return c;
  }

  const RunOptions& options_;
  const std::vector<RunChoice> choices_;
  RunChoice choice_;
  DataType dtype_ = DataType::kFloat32;
  std::map<std::string, int64_t> extents_;         // by symbol
  std::map<size_t, std::vector<double>> numbers_;  // of inputs of whole numbers
};

// Why a name has no choices.
std::string WhyNotRun(const std::string& name) {
  if (const char* const operators = StandsFor(name)) {
    return fmt::format("{} stands for several operators: name {}", name, operators);
  }
  const auto info = LibraryInfo();
  const auto companions = info.value("companion", std::vector<std::string>());
  const auto aten = info.value("aten", nlohmann::ordered_json::object());
  if (std::ranges::count(companions, name) > 0 || aten.contains(name)) {
    return fmt::format(
        "{} is a function of the library that only programs call (portacl info lists what "
        "portacl run takes)",
        name);
  }
  return golden::UnknownOperator(name, RunWords());
}

}  // namespace

std::string OptionName(const std::string& native) { return "--" + WithSeparator(native, '-'); }

RunTask BuildRun(const RunOptions& options) {
  std::vector<RunChoice> choices = FindRunChoices(options.op, false);
  if (choices.empty()) throw BadInput(WhyNotRun(options.op));
  RefuseUnused(options, choices.front());
  CheckFiles(options, *choices.front().row);
  const auto antialias = options.flags.find("antialias");
  if (antialias != options.flags.end() && antialias->second) {
    choices = FindRunChoices(options.op, true);
  }
  const OperatorRow& row = *choices.front().row;
  CheckNeeded(options, row);
  for (const Parameter& mode : With(row, Role::kMode)) ParseMode(options, row, mode);
  CheckResultFiles(options, row);
  return TaskBuilder(options, std::move(choices)).Build();
}

}  // namespace portacl::cli
