// Parser of .npy headers, reader and writer.
#include "tools/file/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"

namespace portacl::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxHeader = 65536;  // NumPy itself refuses to parse longer ones unasked
constexpr size_t kMaxRank = 32;

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// Parses the header's Python dictionary: strings, True/False and a tuple of integers, nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Header Parse() {
    Header header;
    std::set<std::string> keys;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = ParseString();
      if (!keys.insert(key).second) Fail(fmt::format("the header has the key '{}' twice", key));
      Expect(':');
      if (key == "descr") {
        if (Peek() == '[') Fail("structured arrays are not supported");
        header.descr = ParseString();
      } else if (key == "fortran_order") {
        header.fortran_order = ParseBool();
      } else if (key == "shape") {
        header.shape = ParseTuple();
      } else {
        Fail(fmt::format("unknown key '{}' in the header", key));
      }
      if (!Accept(',') && Peek() != '}') Fail("malformed header");
    }
    if (keys.size() != 3) {
      Fail("the header lacks one of descr, fortran_order, shape");
    }
    return header;
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    throw BadInput(fmt::format("{}: {}", path_, message));
  }

  char Peek() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool Accept(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Fail(fmt::format("malformed header: '{}' expected", c));
  }

  std::string ParseString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') Fail("malformed header: a string expected");
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) Fail("malformed header: a string does not end");
    std::string result(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return result;
  }

  bool ParseBool() {
    Peek();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return word == "True";
      }
    }
    Fail("malformed header: fortran_order must be True or False");
  }

  Shape ParseTuple() {
    Shape shape;
    Expect('(');
    while (!Accept(')')) {
      if (shape.size() == kMaxRank) Fail(fmt::format("more than {} axes", kMaxRank));
      shape.push_back(ParseExtent());
      if (!Accept(',') && Peek() != ')') Fail("malformed header: shape");
    }
    return shape;
  }

  int64_t ParseExtent() {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    int64_t value = 0;
    bool any = false;
    for (char c = Peek(); c >= '0' && c <= '9';
         c = ++position_ < text_.size() ? text_[position_] : '\0') {
      if (value > (kMax - 9) / 10) Fail("an extent of the shape is too large");
      value = value * 10 + (c - '0');
      any = true;
    }
    if (!any) Fail("malformed header: the shape must be a tuple of integers that are not negative");
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  const std::string& path_;
  size_t position_ = 0;
};

Header ReadHeader(InputFile& file) {
  char start[8];
  if (file.size() < sizeof(start)) {
    throw BadInput(fmt::format("{}: not an .npy file: only {} bytes", file.path(), file.size()));
  }
  file.Read(start, sizeof(start), "magic");
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    throw BadInput(
        fmt::format("{}: not an .npy file: it does not start with \\x93NUMPY", file.path()));
  }
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3) {
    throw BadInput(fmt::format("{}: .npy version {}, but 1 to 3 are known", file.path(), major));
  }
  unsigned char length_bytes[4] = {};
  file.Read(length_bytes, major == 1 ? 2 : 4, "header length");
  const uint32_t length = length_bytes[0] | length_bytes[1] << 8 | length_bytes[2] << 16 |
                          static_cast<uint32_t>(length_bytes[3]) << 24;
  if (length > kMaxHeader) {
    throw BadInput(fmt::format("{}: a header of {} bytes is more than the {} that are read",
                               file.path(), length, kMaxHeader));
  }
  std::string text(length, '\0');
  file.Read(text.data(), text.size(), "header");
  return HeaderParser(text, file.path()).Parse();
}

DataType ToDataType(const std::string& descr, const std::string& path) {
  if (descr == "<f2") return DataType::kFloat16;
  if (descr == "<f4") return DataType::kFloat32;
  if (descr == "<f8") return DataType::kFloat64;
  if (descr == "|u1") return kUInt8;
  if (descr == ">f2" || descr == ">f4" || descr == ">f8") {
    throw BadInput(
        fmt::format("{}: big-endian dtype '{}'; save it as '<{}'", path, descr, descr.substr(1)));
  }
  throw BadInput(fmt::format(
      "{}: dtype '{}' is not supported; wanted '<f2', '<f4', '<f8' or '|u1' (float16, float32, "
      "float64, uint8)",
      path, descr));
}

// Bytes of an item of a plain little-endian type: "<f4", "<u2", "|V2", ...
size_t ItemSize(const std::string& descr, const std::string& path) {
  const bool plain = descr.size() == 3 && (descr[0] == '<' || descr[0] == '|') &&
                     std::string_view("fuiV").find(descr[1]) != std::string_view::npos &&
                     std::string_view("1248").find(descr[2]) != std::string_view::npos;
  if (!plain) throw BadInput(fmt::format("{}: dtype '{}' is not supported", path, descr));
  return static_cast<size_t>(descr[2] - '0');
}

// Before anything is allocated: the header may claim any size.
void CheckRemaining(const InputFile& file, const Shape& shape, const std::string& type,
                    uint64_t count, size_t size) {
  if (count > file.remaining() / size) {
    throw BadInput(
        fmt::format("{}: truncated: {} {} elements need {} times {} bytes, but {} are left",
                    file.path(), ToString(shape), type, count, size, file.remaining()));
  }
  if (file.remaining() != count * size) {
    const uint64_t more = file.remaining() - count * size;
    throw BadInput(fmt::format("{}: {} behind the array", file.path(),
                               more == 1 ? "1 byte is" : fmt::format("{} bytes are", more)));
  }
}

}  // namespace

HostTensor ReadNpy(const std::string& path) {
  InputFile file(path);
  const Header header = ReadHeader(file);
  const DataType dtype = ToDataType(header.descr, path);
  const uint64_t count = static_cast<uint64_t>(CountElements(header.shape, path));
  CheckRemaining(file, header.shape, DataTypeName(dtype), count, ElementSize(dtype));
  HostTensor tensor(dtype, header.shape, path, header.fortran_order);
  file.Read(tensor.data(), tensor.bytes(), "data");
  return tensor;
}

NpyArray ReadNpyArray(const std::string& path) {
  InputFile file(path);
  const Header header = ReadHeader(file);
  const size_t size = ItemSize(header.descr, path);
  const uint64_t count = static_cast<uint64_t>(CountElements(header.shape, path));
  CheckRemaining(file, header.shape, header.descr, count, size);
  NpyArray array{header.descr, header.shape, std::vector<std::byte>(count * size)};
  file.Read(array.bytes.data(), array.bytes.size(), "data");
  if (header.fortran_order && header.shape.size() > 1) {
    const std::vector<std::byte> columns = array.bytes;
    const std::vector<int64_t> strides = DenseStrides(header.shape, true);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t rest = static_cast<int64_t>(i), at = 0;
      for (size_t axis = header.shape.size(); axis-- > 0; rest /= header.shape[axis]) {
        at += rest % header.shape[axis] * strides[axis];
      }
      std::memcpy(array.bytes.data() + i * size, columns.data() + static_cast<size_t>(at) * size,
                  size);
    }
  }
  return array;
}

std::string NpyDescr(DataType dtype) {
  if (dtype == DataType::kBFloat16) return "<u2";
  return dtype == kUInt8 ? "|u1" : fmt::format("<f{}", ElementSize(dtype));
}

std::string NpyHead(const std::string& descr, const Shape& extents) {
  std::string shape;
  for (const int64_t extent : extents) shape += fmt::format("{}, ", extent);
  if (extents.size() > 1) shape.resize(shape.size() - 2);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr size_t kPrefix = 10;  // magic, version, length of the dictionary
  dictionary.append(63 - (kPrefix + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string head(kMagic);
  head += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xFF),
           static_cast<char>(dictionary.size() >> 8)};
  return head + dictionary;
}

void WriteNpy(const std::string& path, const HostTensor& tensor) {
  if (tensor.dtype() == DataType::kBFloat16) {
    throw BadInput(fmt::format("{}: NumPy has no bfloat16; write a .bin file", path));
  }
  const std::string head = NpyHead(NpyDescr(tensor.dtype()), tensor.shape());
  if (!tensor.row_major()) {
    const HostTensor dense = tensor.ConvertedTo(tensor.dtype(), path);
    return WriteFile(path, head, dense.data(), dense.bytes());
  }
  WriteFile(path, head, tensor.data(), tensor.bytes());
}

}  // namespace portacl::cli
