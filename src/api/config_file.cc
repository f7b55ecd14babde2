// Reading of configuration files.
#include "api/config_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "acl/acl_base.h"
#include "base/log.h"
#include "runtime/error.h"

namespace portacl::api {
namespace {

constexpr size_t kMaxBytes = size_t{10} << 20;

// A parser without recursion limits would be brought down by a deep file.
constexpr int kMaxDepth = 64;

bool AcceptDepth(int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
  if (depth > kMaxDepth) throw std::length_error("nested too deeply");
  return true;
}

base::Status ReadText(const char* path, std::string* text) {
  using runtime::Error;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error(ACL_ERROR_INVALID_FILE, "configPath {} is no file that can be read", path);
  }
  // Not by its size: files of the kernel's own file systems say 0 and hold any number of bytes.
  std::ifstream file(path, std::ios::binary);
  std::array<char, 65536> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text->append(block.data(), static_cast<size_t>(file.gcount()));
    if (text->size() > kMaxBytes) {
      return Error(ACL_ERROR_INVALID_FILE_SIZE,
                   "configPath {} is too large: at most {} bytes are read", path, kMaxBytes);
    }
  }
  if (!file.eof() || file.bad()) {
    return Error(ACL_ERROR_INVALID_FILE, "configPath {} is no file that can be read", path);
  }
  return {};
}

}  // namespace

base::Status ReadConfigFile(const char* path) {
  if (path == nullptr || *path == '\0') return {};
  std::string text;
  PORTACL_RETURN_IF_ERROR(ReadText(path, &text));
  nlohmann::json config;
  try {
    config = nlohmann::json::parse(text, AcceptDepth);
  } catch (const std::exception& error) {
    return runtime::Error(ACL_ERROR_PARSE_FILE, "configPath {} is not JSON: {}", path,
                          error.what());
  }
  if (!config.is_object()) {
    return runtime::Error(ACL_ERROR_PARSE_FILE, "configPath {} holds a JSON {}, wanted an object",
                          path, config.type_name());
  }
  for (const auto& section : config.items()) {
    base::Log(base::LogLevel::kWarn,
              fmt::format("{}: section \"{}\" has no effect here", path, section.key()));
  }
  return {};
}

}  // namespace portacl::api
