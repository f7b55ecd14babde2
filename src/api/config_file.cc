// Reading of configuration files.
#include "api/config_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "acl/acl_base.h"
#include "base/log.h"
#include "runtime/error.h"

namespace portacl::api {
namespace {

constexpr uintmax_t kMaxBytes = uintmax_t{10} << 20;

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
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMaxBytes) {
    return Error(ACL_ERROR_INVALID_FILE_SIZE, "configPath {} has {} bytes, at most {} are read",
                 path, size, kMaxBytes);
  }
  std::ifstream file(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(file), {});
  if (error || !file) {
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
