// Which reader or writer a file name stands for, and generated data.
#include "tools/file/tensor_io.h"

#include <fmt/format.h>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/npy.h"
#include "tools/parse.h"
#include "tools/picture/flow_picture.h"
#include "tools/tensor/random.h"

namespace portacl::cli {
namespace {

Shape NeedShape(const TensorRequest& request) {
  if (request.shape) return *request.shape;
  throw BadInput(fmt::format("{} {}: its shape is not known{}", request.option, request.source,
                             request.no_shape));
}

// A value between 0 and 1 as a byte has it.
double ToLevel(double value) { return 255 * value; }

HostTensor MakeTensor(const TensorRequest& request) {
  HostTensor tensor(request.dtype.value_or(DataType::kFloat32), NeedShape(request), request.option);
  if (request.source == "ones" || request.source == "zeros") {
    const double value = request.source == "ones" ? 1 : 0;
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.Set(i, value);
    return tensor;
  }
  Random random(
      ParseSeed(request.source.substr(request.source.find(':') + 1), request.option + " random"));
  const bool bytes = tensor.dtype() == kUInt8;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = random.NextSigned();
    tensor.Set(i, bytes ? ToLevel(value / 2 + 0.5) : value);
  }
  return tensor;
}

HostTensor ReadRaw(const TensorRequest& request) {
  if (!request.dtype) {
    throw BadInput(fmt::format("{} {}: raw elements need --dtype", request.option, request.source));
  }
  InputFile file(request.source);
  const Shape shape = NeedShape(request);
  const size_t size = CountBytes(shape, ElementSize(*request.dtype), request.source);
  if (size != file.size()) {
    throw BadInput(fmt::format("{}: {} bytes, but {} {} elements need {}", request.source,
                               file.size(), ToString(shape), DataTypeName(*request.dtype), size));
  }
  HostTensor tensor(*request.dtype, shape, request.source);
  file.Read(tensor.data(), tensor.bytes(), "data");
  return tensor;
}

void CheckWanted(const TensorRequest& request, const HostTensor& tensor) {
  if (request.dtype && *request.dtype != tensor.dtype()) {
    throw BadInput(fmt::format("{} {}: holds {}, but {} is wanted", request.option, request.source,
                               DataTypeName(tensor.dtype()), DataTypeName(*request.dtype)));
  }
  if (request.shape && *request.shape != tensor.shape()) {
    throw BadInput(fmt::format("{} {}: has shape {}, but {} is wanted", request.option,
                               request.source, ToString(tensor.shape()), ToString(*request.shape)));
  }
}

std::string DescribeRange(ValueRange range) {
  return range.low == -range.high
             ? fmt::format("mid-grey 0, black {:.4g}, white {:.4g}", range.low, range.high)
             : fmt::format("black {:.4g}, white {:.4g}", range.low, range.high);
}

}  // namespace

bool IsMade(const std::string& source) {
  return source == "ones" || source == "zeros" || source.starts_with("random:");
}

HostTensor LoadTensor(const TensorRequest& request) {
  if (IsMade(request.source)) return MakeTensor(request);
  const std::string extension = Extension(request.source);
  HostTensor tensor;
  if (extension == "npy") {
    tensor = ReadNpy(request.source);
  } else if (extension == "bin") {
    tensor = ReadRaw(request);
  } else if (IsPictureExtension(extension)) {
    const DataType dtype = request.dtype.value_or(DataType::kFloat32);
    tensor = ReadPicture(request.source, dtype == kUInt8 ? kUInt8 : DataType::kFloat32);
    if (tensor.dtype() != dtype) tensor = tensor.ConvertedTo(dtype, request.source);
  } else {
    throw BadInput(
        fmt::format("{} {}: wanted a .npy, .bin, .png or .jpg file, 'ones', 'zeros' or "
                    "'random:SEED'",
                    request.option, request.source));
  }
  CheckWanted(request, tensor);
  return tensor;
}

void CheckOutputPath(const std::string& path, DataType dtype) {
  const std::string extension = Extension(path);
  if (extension == "npy" && dtype == DataType::kBFloat16) {
    throw BadInput(fmt::format("{}: NumPy has no bfloat16; write a .bin file", path));
  }
  if (extension != "npy" && extension != "bin" && !IsPictureExtension(extension)) {
    throw BadInput(fmt::format("{}: wanted a name that ends with .npy, .bin, .png or .jpg", path));
  }
}

std::string SaveTensor(const std::string& path, const HostTensor& tensor, PictureStyle style,
                       std::optional<ValueRange> range) {
  const std::string extension = Extension(path);
  if (extension == "npy") {
    WriteNpy(path, tensor);
    return "";
  }
  if (extension == "bin") {
    WriteFile(path, "", tensor.data(), tensor.bytes());
    return "";
  }
  if (style == PictureStyle::kFlow) {
    WriteImage(path, FlowPictureWithLegend(tensor, "gridGrad"));
    return HasNotFinite(tensor) ? "see its legend; black: NaN, infinity" : "see its legend";
  }
  const ValueRange all = tensor.dtype() == kUInt8 ? ValueRange{0, 255} : AutomaticRange(tensor);
  const ValueRange used = range.value_or(all);
  WriteImage(path, TensorToImage(tensor, used, path));
  return DescribeRange(used);
}

}  // namespace portacl::cli
