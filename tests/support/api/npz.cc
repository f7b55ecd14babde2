// A ZIP archive of stored members, each a .npy file.
#include "support/api/npz.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "test_paths.h"

namespace portacl_test {
namespace {

using Bytes = std::vector<char>;

// A little-endian integer of `size` bytes.
uint64_t Number(const Bytes& file, size_t at, size_t size) {
  if (at + size > file.size()) throw std::runtime_error("npz: truncated");
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

NpyArray ParseNpy(const char* data, size_t size) {
  if (size < 10 || std::memcmp(data, "\x93NUMPY", 6) != 0)
    throw std::runtime_error("npy: no magic");
  const size_t length = static_cast<unsigned char>(data[8]) |
                        static_cast<size_t>(static_cast<unsigned char>(data[9])) << 8;
  if (data[6] != 1 || 10 + length > size) throw std::runtime_error("npy: bad header");
  const std::string header(data + 10, length);
  std::smatch match;
  static const std::regex kHeader(
      R"re(\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\))re");
  if (!std::regex_search(header, match, kHeader)) throw std::runtime_error("npy: header " + header);
  NpyArray array;
  array.dtype = match[1];
  const std::string shape = match[2];
  static const std::regex kExtent("[0-9]+");
  for (std::sregex_iterator it(shape.begin(), shape.end(), kExtent), end; it != end; ++it) {
    array.shape.push_back(std::stoll(it->str()));
  }
  const auto* start = reinterpret_cast<const std::byte*>(data);
  array.bytes.assign(start + 10 + length, start + size);
  return array;
}

template <class T>
const char* DtypeOf();
template <>
const char* DtypeOf<uint8_t>() {
  return "|u1";
}
template <>
const char* DtypeOf<uint16_t>() {
  return "<u2";
}
template <>
const char* DtypeOf<uint32_t>() {
  return "<u4";
}
template <>
const char* DtypeOf<uint64_t>() {
  return "<u8";
}
template <>
const char* DtypeOf<double>() {
  return "<f8";
}

}  // namespace

template <class T>
std::vector<T> NpyArray::As() const {
  if (dtype != DtypeOf<T>()) throw std::runtime_error("npy: dtype is " + dtype);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
template std::vector<uint8_t> NpyArray::As() const;
template std::vector<uint16_t> NpyArray::As() const;
template std::vector<uint32_t> NpyArray::As() const;
template std::vector<uint64_t> NpyArray::As() const;
template std::vector<double> NpyArray::As() const;

std::string NpyArray::AsText() const {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Npz ReadNpz(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const Bytes file{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw std::runtime_error("npz: cannot read " + path);
  // The central directory is found from the end record, which has no comment here.
  constexpr size_t kEndRecord = 22;
  if (file.size() < kEndRecord || Number(file, file.size() - kEndRecord, 4) != 0x06054b50) {
    throw std::runtime_error("npz: no end record in " + path);
  }
  const size_t members = Number(file, file.size() - kEndRecord + 10, 2);
  size_t entry = Number(file, file.size() - kEndRecord + 16, 4);
  Npz npz;
  for (size_t i = 0; i < members; ++i) {
    if (Number(file, entry, 4) != 0x02014b50) throw std::runtime_error("npz: bad directory");
    if (Number(file, entry + 10, 2) != 0) throw std::runtime_error("npz: compressed member");
    const size_t size = Number(file, entry + 20, 4);
    const size_t name_length = Number(file, entry + 28, 2);
    const size_t extra = Number(file, entry + 30, 2) + Number(file, entry + 32, 2);
    const size_t local = Number(file, entry + 42, 4);
    const std::string name(file.data() + entry + 46, name_length);
    const size_t data = local + 30 + Number(file, local + 26, 2) + Number(file, local + 28, 2);
    if (data + size > file.size()) throw std::runtime_error("npz: truncated");
    npz[name.substr(0, name.rfind(".npy"))] = ParseNpy(file.data() + data, size);
    entry += 46 + name_length + extra;
  }
  return npz;
}

Npz ReadGoldens(const std::string& name) {
  return ReadNpz(std::string(PORTACL_SOURCE_DIR) + "/tests/data/" + name);
}

}  // namespace portacl_test
