// From the options of `portacl run` to a job: files, made data, shapes, and what does not fit.
#include "tools/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/tensor_io.h"
#include "tools/parse.h"
#include "tools/tensor/grids.h"

namespace portacl::cli {
namespace {

struct GivenOption {
  const char* name;
  bool given;
};

// Throws for an option that the operator has no use for: it would be ignored in silence.
void Refuse(const RunOptions& options, std::initializer_list<GivenOption> list) {
  for (const GivenOption& option : list) {
    if (option.given) {
      throw BadInput(fmt::format("{} does not apply to {}", option.name, options.op));
    }
  }
}

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

// ---- upsample ----------------------------------------------------------------------------------

std::vector<double> Scales(const RunOptions& options, size_t axes) {
  if (options.scale.empty()) return {};
  std::vector<double> scales = ParseScales(options.scale, "--scale");
  if (scales.size() == 1) scales.resize(axes, scales[0]);
  if (scales.size() != axes) {
    throw BadInput(fmt::format("--scale: {} values, but {} has {} spatial {}", scales.size(),
                               options.op, axes, axes == 1 ? "axis" : "axes"));
  }
  return scales;
}

// The smallest extent that the forward function enlarges to at least `out_extent`:
// floor(extent * scale) >= out_extent.
int64_t InputExtent(int64_t out_extent, double scale) {
  const double ratio = static_cast<double>(out_extent) / scale;
  constexpr double kMost = 1e15;
  if (ratio > kMost) throw BadInput("--scale: the result would be too large");
  const int64_t nearest = std::max<int64_t>(std::llround(ratio), 1);
  if (std::floor(static_cast<double>(nearest) * scale) == static_cast<double>(out_extent)) {
    return nearest;
  }
  return std::max<int64_t>(static_cast<int64_t>(std::ceil(ratio)), 1);
}

// The one among `choices` whose rank the tensor has, or nothing and what is wanted of its shape.
std::optional<Operator> OperatorOfRank(const std::vector<Operator>& choices, const Shape& shape,
                                       std::string* wanted) {
  static constexpr const char* kShapes[] = {"[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};
  for (const Operator op : choices) {
    if (shape.size() == SpatialAxes(op) + 2) return op;
    *wanted += wanted->empty() ? "" : " or ";
    *wanted += kShapes[SpatialAxes(op) - 1];
  }
  return std::nullopt;
}

Shape UpsampleResultShape(const RunOptions& options, const Job& job, size_t axes) {
  const Shape& from = job.grad_output.shape();
  Shape shape = from;
  if (!options.size.empty()) {
    const Shape size = ParseShape(options.size, "--size");
    if (size.size() != axes) {
      throw BadInput(fmt::format("--size: {} values, but {} has {} spatial {}", size.size(),
                                 options.op, axes, axes == 1 ? "axis" : "axes"));
    }
    std::copy(size.begin(), size.end(), shape.begin() + 2);
  } else if (!job.scales.empty()) {
    for (size_t i = 0; i < axes; ++i) shape[i + 2] = InputExtent(from[i + 2], job.scales[i]);
  } else {
    throw BadInput("the size of the result is not known; give --size, --scale or both");
  }
  return shape;
}

void BuildUpsample(const RunOptions& options, const std::vector<Operator>& choices, Job& job) {
  Refuse(options, {{"--input", !options.input.empty()},
                   {"--grid", !options.grid.empty()},
                   {"--interpolation", !options.interpolation.empty()},
                   {"--padding", !options.padding.empty()},
                   {"--align-corners", options.align_corners},
                   {"--mask", !options.mask.empty()},
                   {"--input-grad", !options.input_grad_file.empty()},
                   {"--grid-grad", !options.grid_grad_file.empty()}});
  job.grad_output =
      LoadTensor({"--grad-output", options.grad_output.empty() ? "ones" : options.grad_output,
                  WantedDataType(options), WantedShape(options)});
  std::string wanted;
  const std::optional<Operator> op = OperatorOfRank(choices, job.grad_output.shape(), &wanted);
  if (!op) {
    throw BadInput(fmt::format("--grad-output: {} takes {}, but the shape is {}", options.op,
                               wanted, ToString(job.grad_output.shape())));
  }
  job.op = *op;
  const size_t axes = SpatialAxes(job.op);
  job.scales = Scales(options, axes);
  job.grad_input =
      HostTensor(job.grad_output.dtype(), UpsampleResultShape(options, job, axes), "grad_input");
}

// ---- grid sampler ------------------------------------------------------------------------------

Interpolation ParseInterpolation(const std::string& word) {
  if (word.empty()) return Interpolation::kBilinear;
  for (const Interpolation mode : kInterpolations) {
    if (word == InterpolationName(mode)) return mode;
  }
  throw BadInput(
      fmt::format("--interpolation: '{}' is not one of bilinear, nearest, bicubic", word));
}

Padding ParsePadding(const std::string& word) {
  if (word.empty()) return Padding::kZeros;
  for (const Padding mode : kPaddings) {
    if (word == PaddingName(mode)) return mode;
  }
  throw BadInput(fmt::format("--padding: '{}' is not one of zeros, border, reflection", word));
}

struct Mask {
  bool input_grad = true, grid_grad = true;
};

Mask ParseMask(const std::string& text) {
  if (text.empty() || text == "1,1") return {};
  if (text == "1,0") return {true, false};
  if (text == "0,1") return {false, true};
  if (text == "0,0") return {false, false};
  throw BadInput(fmt::format("--mask: '{}' is not two of 0 and 1 with a comma, as in 1,0", text));
}

HostTensor LoadGrid(const RunOptions& options, const Job& job) {
  const size_t axes = SpatialAxes(job.op);
  const Shape& input = job.input.shape();
  Shape points = {input[0]};
  points.insert(points.end(), input.begin() + 2, input.end());
  const bool sized = !options.size.empty();
  if (sized) {
    const Shape size = ParseShape(options.size, "--size");
    if (size.size() != axes) {
      throw BadInput(axes == 2 ? "--size: wanted OH,OW" : "--size: wanted OD,OH,OW");
    }
    std::copy(size.begin(), size.end(), points.begin() + 1);
  }
  if (const std::optional<GridSpec> spec = ParseGridSpec(options.grid)) {
    if (axes == 3) return MakeVolumeGrid(*spec, points, job.align_corners, job.input.dtype());
    const GridFrame frame{points[0], points[1], points[2], input[2], input[3], job.align_corners};
    return MakeGrid(*spec, frame, job.input.dtype());
  }
  const std::string extension = Extension(options.grid);
  const bool raw = extension == "bin";
  if (!raw && extension != "npy") {
    throw BadInput(fmt::format(
        "--grid {}: wanted identity, rotate:DEGREES, lens:STRENGTH, random:SEED or a .npy or .bin "
        "file",
        options.grid));
  }
  std::optional<Shape> shape;
  if (sized || raw) {
    shape = points;
    shape->push_back(static_cast<int64_t>(axes));
  }
  return LoadTensor({"--grid", options.grid, job.input.dtype(), shape});
}

// Whether two paths name one file, also where it does not exist yet.
bool IsSameFile(const std::string& a, const std::string& b) {
  const auto resolve = [](const std::string& path) {
    std::error_code ignored;  // an empty path then; writing the file will say why
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return a == b || (resolve(a) == resolve(b) && !resolve(a).empty());
}

// The files of the results: only of results that are made, and one for each.
void CheckResultFiles(const RunOptions& options, const Mask& mask) {
  const std::string& input_grad = options.input_grad_file;
  const std::string& grid_grad = options.grid_grad_file;
  if (!mask.input_grad && !input_grad.empty()) {
    throw BadInput("--input-grad: the mask leaves inputGrad out");
  }
  if (!mask.grid_grad && !grid_grad.empty()) {
    throw BadInput("--grid-grad: the mask leaves gridGrad out");
  }
  if (!input_grad.empty() && !grid_grad.empty() && IsSameFile(input_grad, grid_grad)) {
    throw BadInput(fmt::format("--input-grad and --grid-grad are the same file {}", grid_grad));
  }
}

void BuildGridSampler(const RunOptions& options, const std::vector<Operator>& choices, Job& job) {
  Refuse(options,
         {{"--scale", !options.scale.empty()}, {"--grad-input", !options.grad_input_file.empty()}});
  if (options.input.empty()) throw BadInput("--input is needed: a file, ones or random:SEED");
  if (options.grid.empty()) {
    throw BadInput(
        "--grid is needed: a file, identity, rotate:DEGREES, lens:STRENGTH or random:SEED");
  }
  job.interpolation = ParseInterpolation(options.interpolation);
  job.padding = ParsePadding(options.padding);
  job.align_corners = options.align_corners;
  if (IsGraph(job.op)) Refuse(options, {{"--mask", !options.mask.empty()}});
  const Mask mask = ParseMask(options.mask);
  CheckResultFiles(options, mask);
  job.input = LoadTensor({"--input", options.input, WantedDataType(options), WantedShape(options)});
  std::string wanted;
  const std::optional<Operator> op = OperatorOfRank(choices, job.input.shape(), &wanted);
  if (!op) {
    throw BadInput(fmt::format("--input: wanted {}, but the shape is {}", wanted,
                               ToString(job.input.shape())));
  }
  job.op = *op;
  const size_t axes = SpatialAxes(job.op);
  job.grid = LoadGrid(options, job);
  const Shape& points = job.grid.shape();
  if (points.size() != axes + 2 || points.back() != static_cast<int64_t>(axes)) {
    throw BadInput(fmt::format("--grid: wanted {}, but the shape is {}",
                               axes == 2 ? "[N, OH, OW, 2]" : "[N, OD, OH, OW, 3]",
                               ToString(points)));
  }
  Shape results = {points[0], job.input.extent(1)};
  results.insert(results.end(), points.begin() + 1, points.end() - 1);
  job.grad_output =
      LoadTensor({"--grad-output", options.grad_output.empty() ? "ones" : options.grad_output,
                  job.input.dtype(), results});
  if (mask.input_grad) {
    job.input_grad = HostTensor(job.input.dtype(), job.input.shape(), "input_grad");
  }
  if (mask.grid_grad) job.grid_grad = HostTensor(job.grid.dtype(), points, "grid_grad");
}

}  // namespace

Job BuildJob(const RunOptions& options) {
  const std::vector<Operator> choices = ParseOperator(options.op);
  if (choices.empty()) {
    throw BadInput(
        fmt::format("unknown operator '{}'; there are {}, and their aclnn names (forward "
                    "functions: C++ and Python)",
                    options.op, OperatorList()));
  }
  Job job;
  job.op = choices.front();
  if (IsUpsample(job.op)) {
    BuildUpsample(options, choices, job);
  } else {
    BuildGridSampler(options, choices, job);
  }
  return job;
}

}  // namespace portacl::cli
