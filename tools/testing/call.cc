// Shapes by symbols, strides by layout words, inputs by their kinds.
#include "tools/testing/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "tools/cli_error.h"

namespace portacl::golden {
namespace {

using cli::BadInput;

bool IsNumber(const std::string& symbol) { return symbol[0] >= '0' && symbol[0] <= '9'; }

// A list of extents, or a number that is one.
bool IsExtents(const Parameter& row) {
  return row.role == Role::kInts || (row.role == Role::kInteger && row.pattern[0] != '\0');
}

// The symbols of parameter i, in the order of its format.
std::vector<std::string> SymbolsOf(const Case& c, size_t i) {
  const Parameter& row = c.op->parameters[i];
  std::vector<std::string> symbols = Symbols(row);
  const bool moved = IsTensor(row.role) ? IsChannelsLast(c, i)
                                        : PageFactsOf(*c.op).input_size_channels_last &&
                                              std::string_view(row.name) == "inputSize" &&
                                              IsChannelsLast(c, c.op->First(Role::kInput));
  if (moved) std::rotate(symbols.begin() + 1, symbols.begin() + 2, symbols.end());
  return symbols;
}

// Extents by symbol: from the shapes that the case gives, the first that has a symbol decides.
class Extents {
 public:
  explicit Extents(const Case& c) : case_(c) {
    for (const bool tensors : {true, false}) {
      for (size_t i = 0; i < c.arguments.size(); ++i) {
        const Parameter& row = c.op->parameters[i];
        const auto& given = tensors ? c.arguments[i].shape : c.arguments[i].integers;
        const bool has_symbols = tensors ? IsTensor(row.role) : IsExtents(row);
        if (given && has_symbols) Bind(i, *given);
      }
    }
    if (c.expect == 0) CheckOutputSize();
  }

  // The extents in `given`, or the extents of parameter i by its pattern.
  Shape Of(size_t i, const std::optional<Shape>& given) const {
    if (given) return *given;
    const Parameter& row = case_.op->parameters[i];
    Shape shape;
    for (const std::string& symbol : SymbolsOf(case_, i)) {
      const auto found = bound_.find(symbol);
      if (!IsNumber(symbol) && found == bound_.end()) Fail(row, symbol);
      shape.push_back(IsNumber(symbol) ? std::stoll(symbol) : found->second);
    }
    return shape;
  }

 private:
  void Bind(size_t parameter, const Shape& shape) {
    const Parameter& row = case_.op->parameters[parameter];
    const std::vector<std::string> symbols = SymbolsOf(case_, parameter);
    if (symbols.size() != shape.size()) {
      if (case_.expect != 0) return;  // the library may have to refuse a wrong rank
      throw BadInput(fmt::format("case '{}': field {} has {} extents, but {} is {}",
                                 ToString(case_), row.name, shape.size(), row.name, row.pattern));
    }
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (!IsNumber(symbols[i])) bound_.emplace(symbols[i], shape[i]);
    }
  }

  // The operators refuse an outputSize that differs from the shape. (They refuse a different
  // inputSize, or warn about it.)
  void CheckOutputSize() const {
    const auto at = case_.op->Find("outputSize");
    if (!at || !case_.arguments[*at].integers) return;
    const Parameter& row = case_.op->parameters[*at];
    const Shape& given = *case_.arguments[*at].integers;
    const size_t tensor = case_.op->First(case_.op->backward() ? Role::kInput : Role::kOutput);
    const std::vector<std::string> symbols = Symbols(row);
    for (size_t axis = 0; axis < symbols.size(); ++axis) {
      const int64_t extent = bound_.at(symbols[axis]);
      if (given[axis] == extent || (!case_.op->strict_sizes() && HasScale(axis))) continue;
      throw BadInput(fmt::format("case '{}': field outputSize is {}, but {} has {} = {}",
                                 ToString(case_), fmt::join(given, ","),
                                 case_.op->parameters[tensor].name, symbols[axis], extent));
    }
  }

  bool HasScale(size_t axis) const {
    size_t i = case_.op->First(Role::kReal) + axis;
    return case_.arguments[i].real.value_or(0) > 0;
  }

  [[noreturn]] void Fail(const Parameter& row, const std::string& symbol) const {
    std::string others;
    for (const Parameter& other : case_.op->parameters) {
      const std::vector<std::string> symbols = Symbols(other);
      const bool has = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
      if (has && &other != &row) {
        others += fmt::format("{}{} ({})", others.empty() ? "" : " or ", other.name, other.pattern);
      }
    }
    throw BadInput(fmt::format("case '{}': field {} is not known: its {} follows from {}",
                               ToString(case_), row.name, symbol, others));
  }

  const Case& case_;
  std::map<std::string, int64_t> bound_;
};

struct View {
  Shape strides;
  int64_t offset = 0;
};

// Strides of `shape`; `order` has the axes from the outermost to the innermost. `padding` enlarges
// the innermost extent.
Shape OrderedStrides(const Shape& shape, const std::vector<size_t>& order, int64_t padding = 0) {
  Shape strides(shape.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= std::max<int64_t>(shape[order[i]], 1) + (i + 1 == order.size() ? padding : 0);
  }
  return strides;
}

View ViewOf(const std::string& layout, const Shape& shape) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (layout == "channels_last" && order.size() > 2)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  if (layout == "transposed" && order.size() > 1)
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  View view{OrderedStrides(shape, order, layout == "padded" ? 3 : 0), 0};
  if (layout == "offset") view.offset = 3;
  if (layout == "expanded" && shape.size() > 1) view.strides[1] = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (layout == "step2") view.strides[axis] *= 2;
    if (layout != "flipped" || shape[axis] == 0) continue;
    view.offset += (shape[axis] - 1) * view.strides[axis];
    view.strides[axis] = -view.strides[axis];
  }
  return view;
}

// "case '...': input".
std::string Place(const Case& c, size_t i) {
  return fmt::format("case '{}': {}", ToString(c), c.op->parameters[i].name);
}

ArgumentOutline TensorOutline(const Case& c, size_t i, const Shape& shape) {
  const ArgumentCase& argument = c.arguments[i];
  const std::string what = Place(c, i);
  cli::CountBytes(shape, 8, what);  // before strides are calculated
  View view = ViewOf(argument.layout.value_or("contiguous"), shape);
  if (argument.layout == "expanded" && c.op->parameters[i].role == Role::kOutput) {
    throw BadInput(what + ".layout: an output cannot be expanded");
  }
  if (argument.strides) {
    view.strides = *argument.strides;
    if (view.strides.size() != shape.size()) {
      throw BadInput(fmt::format("{}.strides: {} of them for shape {}", what, view.strides.size(),
                                 cli::ToString(shape)));
    }
  }
  ArgumentOutline outline;
  outline.dtype =
      argument.dtype.value_or(c.op->parameters[i].dtype.value_or(static_cast<int32_t>(c.dtype)));
  outline.shape = shape;
  outline.strides = view.strides;
  outline.offset = argument.offset.value_or(view.offset);
  outline.format = argument.format.value_or("ND");
  return outline;
}

// Elements of the types of tools/tensor/element.h, and whole numbers of 32 and 64 bits.
constexpr int32_t kInt32 = 3, kInt64 = 9;
double LoadNumber(int32_t dtype, const std::byte* at) {
  const auto load = [at](auto number) {
    std::memcpy(&number, at, sizeof number);
    return static_cast<double>(number);
  };
  if (dtype == kInt32) return load(int32_t{});
  if (dtype == kInt64) return load(int64_t{});
  return cli::LoadElement(static_cast<DataType>(dtype), at);
}
void StoreNumber(int32_t dtype, double value, std::byte* at) {
  const auto store = [at](auto number) { std::memcpy(at, &number, sizeof number); };
  if (dtype == kInt32) return store(static_cast<int32_t>(value));
  if (dtype == kInt64) return store(static_cast<int64_t>(value));
  cli::StoreElement(static_cast<DataType>(dtype), value, at);
}

// The image that the grid points at: the input's spatial extents, or 1 if a case of refusals has
// none.
GridFrame FrameOf(const Call& call, const Shape& grid) {
  GridFrame frame;
  const size_t axes = call.op->axes;
  const Shape& image = call.tensor("input").shape();
  for (size_t a = 0; a < axes; ++a) {
    frame.points.push_back(a + 1 < grid.size() ? std::max<int64_t>(grid[a + 1], 1) : 1);
    frame.image.push_back(a + 2 < image.size() ? std::max<int64_t>(image[a + 2], 1) : 1);
  }
  frame.align_corners = call.integer("alignCorners") != 0;
  return frame;
}

// A table of successive levels that fit among the keys; if there are more levels than keys, each
// has one pixel. No height is below its width, so a table that repeats one number in all rows
// (stride 0) fits too.
std::vector<double> LevelValues(const Call& call, size_t i) {
  const Shape& value = call.tensor("value").shape();
  const int64_t keys = value.size() > 1 ? std::max<int64_t>(value[1], 1) : 1;
  const int64_t levels = std::max<int64_t>(call.tensor("levelStartIndex").count(), 1);
  const int64_t pixels = std::max<int64_t>(keys / levels, 1);
  const auto width = static_cast<int64_t>(std::sqrt(static_cast<double>(pixels)));
  const bool is_start = std::string_view(call.op->parameters[i].name) == "levelStartIndex";
  std::vector<double> values;
  for (int64_t at = 0; at < call.arguments[i].tensor.count(); ++at) {
    const int64_t extent = at % 2 == 0 ? pixels / width : width;
    values.push_back(static_cast<double>(is_start ? at * pixels % keys : extent));
  }
  return values;
}

// Rois: images in turn; corners (rotated: centres, sizes) that after scaling lie in the image or up
// to a quarter of it outside; angles.
std::vector<double> RoiValues(const Call& call, size_t i) {
  Shape image = {1, 1, 1, 1};
  for (size_t at = 0; at < call.arguments.size(); ++at) {
    const bool is_image = std::string_view(call.op->parameters[at].pattern) == "N,C,H,W";
    const bool has_axes = call.arguments[at].tensor.shape().size() == image.size();
    if (is_image && has_axes) image = call.arguments[at].tensor.shape();
  }
  const int64_t count = call.arguments[i].tensor.count();
  const int64_t columns = std::string_view(call.op->parameters[i].pattern) == "K,6" ? 6 : 5;
  const double scale = call.op->Find("spatialScale") ? call.at("spatialScale").real : 1;
  const double units = scale > 0 ? 1 / scale : 1;  // of a roi, in a pixel
  std::vector<double> values = MakeValues("uniform", Draw(call.source.seed, i), count, nullptr);
  for (int64_t at = 0; at < count; ++at) {
    double& value = values[static_cast<size_t>(at)];
    const int64_t column = at % columns;
    if (column == 0) value = static_cast<double>(at / columns % std::max<int64_t>(image[0], 1));
    if (column == 0 || column == 5) continue;
    value =
        (value * 0.75 + 0.5) * units * static_cast<double>(column % 2 == 1 ? image[3] : image[2]);
  }
  return values;
}

void FillInput(Call& call, size_t i) {
  const Parameter& row = call.op->parameters[i];
  ViewTensor& tensor = call.arguments[i].tensor;
  const bool number = cli::ParseDataType(AclDataTypeName(tensor.dtype())).has_value();
  const std::optional<std::string>& values = call.source.arguments[i].values;
  // Other indices are 0 unless the case says otherwise, as are int16 and the like in a refusal.
  if (!number && !(row.dtype && values)) {
    if (row.dtype && call.op->Find("levelStartIndex")) tensor.Fill(LevelValues(call, i));
    return;
  }
  if (NamesImages(row) && !values) return tensor.Fill(RoiValues(call, i));
  const GridFrame frame = row.is_grid ? FrameOf(call, tensor.shape()) : GridFrame{};
  const char* const made = call.source.dtype == cli::kUInt8 ? "integers:0:255" : "uniform";
  tensor.Fill(MakeValues(values.value_or(made), Draw(call.source.seed, i), tensor.count(),
                         row.is_grid ? &frame : nullptr));
}

void ApplyMask(Call& call) {
  const std::vector<size_t> masks = call.With(Role::kMask);
  if (masks.empty()) return;
  const std::vector<size_t> outputs = call.With(Role::kOutput);
  const std::vector<int64_t>& mask = call.arguments[masks[0]].integers;
  for (size_t i = 0; i < outputs.size() && i < mask.size(); ++i) {
    call.arguments[outputs[i]].wanted = mask[i] != 0;
  }
}

// The number that a case means by leaving it out.
std::vector<int64_t> DefaultIntegers(const OperatorRow& op, const Parameter& row) {
  if (row.role == Role::kInteger) return {static_cast<int64_t>(row.unset)};
  if (row.role != Role::kMask) return {0};
  const auto is_output = [](const Parameter& p) { return p.role == Role::kOutput; };
  const auto outputs = std::count_if(op.parameters.begin(), op.parameters.end(), is_output);
  return std::vector<int64_t>(static_cast<size_t>(outputs), 1);
}

}  // namespace

bool IsChannelsLast(const Case& c, size_t i) {
  const std::optional<std::string>& format = c.arguments[i].format;
  return (format == "NHWC" || format == "NDHWC") &&
         std::string_view(c.op->parameters[i].pattern).starts_with("N,C,");
}

ViewTensor::ViewTensor(int32_t dtype, Shape shape, Shape strides, int64_t offset,
                       const std::string& what)
    : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), offset_(offset) {
  count_ = cli::CountElements(shape_, what);
  int64_t low = offset_, high = offset_;
  for (size_t axis = 0; axis < shape_.size() && count_ > 0; ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape_[axis] - 1, strides_[axis], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
      throw BadInput(what + ": the strides reach too far");
    }
  }
  if (low < 0)
    throw BadInput(fmt::format("{}: the view begins {} elements before its storage", what, -low));
  storage_ = count_ > 0 ? high + 1 : offset_;
  dense_ = count_ == storage_ - offset_ && strides_ == cli::DenseStrides(shape_);
  bytes_.resize(cli::CountBytes({storage_}, std::max<size_t>(element_size(), 1), what));
}

ViewTensor ViewTensor::Permuted(const std::vector<size_t>& axes) const {
  ViewTensor moved = *this;
  for (size_t i = 0; i < axes.size(); ++i) {
    moved.shape_[i] = shape_[axes[i]];
    moved.strides_[i] = strides_[axes[i]];
  }
  moved.dense_ = moved.count_ == moved.storage_ - moved.offset_ &&
                 moved.strides_ == cli::DenseStrides(moved.shape_);
  return moved;
}

ViewTensor ViewTensor::ChannelsFirst() const {
  std::vector<size_t> axes(shape_.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
  return Permuted(axes);
}

template <class Visit>
void ViewTensor::ForEachPosition(Visit visit) const {
  if (count_ == 0) return;
  Shape index(shape_.size(), 0);
  int64_t position = offset_;
  for (int64_t i = 0; i < count_; ++i) {
    visit(i, static_cast<size_t>(position) * element_size());
    for (size_t axis = shape_.size(); axis-- > 0;) {
      position += strides_[axis];
      if (++index[axis] < shape_[axis]) break;
      position -= strides_[axis] * shape_[axis];
      index[axis] = 0;
    }
  }
}

std::vector<std::byte> ViewTensor::Dense() const {
  if (dense_) return {first(), first() + static_cast<size_t>(count_) * element_size()};
  const size_t size = element_size();
  std::vector<std::byte> dense(static_cast<size_t>(count_) * size);
  ForEachPosition([&](int64_t i, size_t at) {
    std::memcpy(dense.data() + static_cast<size_t>(i) * size, bytes_.data() + at, size);
  });
  return dense;
}

void ViewTensor::SetDense(const std::vector<std::byte>& elements) {
  const size_t size = element_size();
  ForEachPosition([&](int64_t i, size_t at) {
    std::memcpy(bytes_.data() + at, elements.data() + static_cast<size_t>(i) * size, size);
  });
}

std::vector<double> ViewTensor::Values() const {
  std::vector<double> values(static_cast<size_t>(count_));
  ForEachPosition([&](int64_t i, size_t at) {
    values[static_cast<size_t>(i)] = LoadNumber(dtype_, bytes_.data() + at);
  });
  return values;
}

void ViewTensor::Fill(const std::vector<double>& values) {
  ForEachPosition([&](int64_t i, size_t at) {
    StoreNumber(dtype_, values[static_cast<size_t>(i)], bytes_.data() + at);
  });
}

void ViewTensor::FillUnwritten() {
  const std::span<const std::byte> pattern = UnwrittenElement(element_size());
  for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = pattern[i % pattern.size()];
}

std::vector<bool> ViewTensor::Inside() const {
  if (dense_ && offset_ == 0) return {};
  std::vector<bool> inside(bytes_.size(), false);
  ForEachPosition([&](int64_t, size_t at) {
    std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(at), element_size(), true);
  });
  return inside;
}

void ViewTensor::FillOutside(std::byte value) {
  const std::vector<bool> inside = Inside();
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i]) bytes_[i] = value;
  }
}

std::optional<size_t> ViewTensor::FirstWrittenOutside() const {
  const std::vector<bool> inside = Inside();
  const std::span<const std::byte> pattern = UnwrittenElement(element_size());
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && bytes_[i] != pattern[i % pattern.size()]) return i;
  }
  return std::nullopt;
}

std::span<const std::byte> UnwrittenElement(size_t element_size) {
  // Little-endian. Quiet NaNs in the four floating types, unlike the NaNs of arithmetic: these have
  // only the first bit of the payload.
  static constexpr auto kBytes = [](auto... bytes) { return std::array{std::byte(bytes)...}; };
  static constexpr auto kOne = kBytes(0xFF);
  static constexpr auto kTwo = kBytes(0xE5, 0xFF);
  static constexpr auto kFour = kBytes(0xA5, 0xA5, 0xE5, 0xFF);
  static constexpr auto kEight = kBytes(0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xE5, 0xFF, 0xFF);
  if (element_size == 8) return kEight;
  if (element_size == 4) return kFour;
  if (element_size == 2) return kTwo;
  return kOne;
}

std::vector<double> Call::scales() const {
  std::vector<double> scales(op->axes, 0.0);
  const std::vector<size_t> reals = With(Role::kReal);
  for (size_t axis = 0; axis < reals.size(); ++axis) {
    const double given = arguments[reals[axis]].real;
    scales[axis] =
        op->parameters[reals[axis]].narrow ? static_cast<double>(static_cast<float>(given)) : given;
    if (scales[axis] < 0 && !PageFactsOf(*op).refuses_negative_scales) scales[axis] = 0;
    if (!PageFactsOf(*op).ignores_unfitting_scales) continue;
    const auto small = static_cast<double>(output().shape()[axis + 2]);
    const auto large = static_cast<double>(input().shape()[axis + 2]);
    if (std::floor(small * scales[axis]) != large) scales[axis] = 0;
  }
  return scales;
}

std::vector<size_t> Call::With(Role role) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < op->parameters.size(); ++i) {
    if (op->parameters[i].role == role) found.push_back(i);
  }
  return found;
}

std::vector<ArgumentOutline> OutlineOf(const Case& c) {
  const Extents extents(c);
  std::vector<ArgumentOutline> outlines;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    const Parameter& row = c.op->parameters[i];
    const ArgumentCase& given = c.arguments[i];
    ArgumentOutline outline;
    if (IsTensor(row.role)) {
      outline = TensorOutline(c, i, extents.Of(i, given.shape));
    } else if (IsExtents(row)) {
      outline.integers = extents.Of(i, given.integers);
    } else {
      outline.integers = given.integers.value_or(DefaultIntegers(*c.op, row));
    }
    outline.real = given.real.value_or(row.role == Role::kReal ? row.unset : 0);
    outline.null = given.null;
    outlines.push_back(std::move(outline));
  }
  return outlines;
}

Call LayOutCall(const Case& c) {
  Call call{c, c.op, {}};
  for (ArgumentOutline& outline : OutlineOf(c)) {
    const size_t i = call.arguments.size();
    CallArgument& argument = call.arguments.emplace_back();
    argument.integers = std::move(outline.integers);
    argument.real = outline.real;
    argument.null = outline.null;
    if (!IsTensor(c.op->parameters[i].role)) continue;
    argument.tensor = ViewTensor(outline.dtype, std::move(outline.shape),
                                 std::move(outline.strides), outline.offset, Place(c, i));
  }
  ApplyMask(call);
  for (const size_t i : call.With(Role::kOutput)) call.arguments[i].tensor.FillUnwritten();
  return call;
}

Call MakeCall(const Case& c) {
  Call call = LayOutCall(c);
  for (const size_t i : call.With(Role::kInput)) FillInput(call, i);
  return call;
}

int64_t CountElementsOf(const Case& c) {
  const Extents extents(c);
  int64_t count = 0;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (!IsTensor(c.op->parameters[i].role)) continue;
    count += cli::CountElements(extents.Of(i, c.arguments[i].shape),
                                fmt::format("case '{}'", ToString(c)));
  }
  return count;
}

}  // namespace portacl::golden
