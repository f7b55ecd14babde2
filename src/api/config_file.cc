// Reads configuration files.
#include "api/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "base/log.h"
#include "runtime/error.h"

namespace portacl::api {
namespace {

constexpr size_t kMaxBytes = size_t{10} << 20;
constexpr size_t kMaxDepth = 64;

// A file's descriptor. Opening a FIFO does not wait for a writer.
class File {
 public:
  explicit File(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_regular() const {
    struct stat entry {};
    return file_ >= 0 && fstat(file_, &entry) == 0 && S_ISREG(entry.st_mode);
  }
  ssize_t Read(char* to, size_t bytes) const { return read(file_, to, bytes); }

 private:
  const int file_;
};

base::Status ReadText(const char* path, std::string* text) {
  using runtime::Error;
  const File file(path);
  ssize_t count = file.is_regular() ? 1 : -1;
  // Does not trust the file's size, because files in /proc say 0 and hold any number of bytes.
  std::array<char, 65536> block;
  while (count > 0) {
    count = file.Read(block.data(), block.size());
    if (count > 0) text->append(block.data(), static_cast<size_t>(count));
    if (text->size() > kMaxBytes) {
      return Error(ACL_ERROR_INVALID_FILE_SIZE,
                   "configPath {} is too large: at most {} bytes are read", path, kMaxBytes);
    }
  }
  if (count == 0) return {};
  return Error(ACL_ERROR_INVALID_FILE, "configPath {} is no file that can be read", path);
}

// Collects the names of a file's sections without the JSON library's tree of values. That tree
// allocates in its destructor, and ends the process if there is no memory.
class Sections : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Value("null"); }
  bool boolean(bool) override { return Value("boolean"); }
  bool number_integer(number_integer_t) override { return Value("number"); }
  bool number_unsigned(number_unsigned_t) override { return Value("number"); }
  bool number_float(number_float_t, const string_t&) override { return Value("number"); }
  bool string(string_t&) override { return Value("string"); }
  bool binary(binary_t&) override { return Value("binary"); }
  bool start_object(size_t) override { return Value("object") && Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(size_t) override { return Value("array") && Enter(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    if (depth_ == 1) names_.push_back(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    problem_ = error.what();
    return false;
  }

  // The type of the file's top value, and the names of its sections.
  const std::string& type() const { return type_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::string& problem() const { return problem_; }

 private:
  bool Value(const char* type) {
    if (type_.empty()) type_ = type;
    return true;
  }
  // Limits the depth, because a deeply nested file would exhaust the parser's stack.
  bool Enter() {
    if (++depth_ <= kMaxDepth) return true;
    problem_ = "nested too deeply";
    return false;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  size_t depth_ = 0;
  std::string type_;
  std::vector<std::string> names_;
  std::string problem_;
};

}  // namespace

base::Status ReadConfigFile(const char* path) {
  if (path == nullptr || *path == '\0') return {};
  std::string text;
  PORTACL_RETURN_IF_ERROR(ReadText(path, &text));
  Sections sections;
  if (!nlohmann::json::sax_parse(text, &sections)) {
    return runtime::Error(ACL_ERROR_PARSE_FILE, "configPath {} is not JSON: {}", path,
                          sections.problem());
  }
  if (sections.type() != "object") {
    return runtime::Error(ACL_ERROR_PARSE_FILE, "configPath {} holds a JSON {}, wanted an object",
                          path, sections.type());
  }
  for (const std::string& name : sections.names()) {
    base::Log(base::LogLevel::kWarn,
              fmt::format("{}: section \"{}\" has no effect here", path, name));
  }
  return {};
}

}  // namespace portacl::api
