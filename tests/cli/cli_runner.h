// Runs the `portacl` program in a folder of its own and looks at what it leaves behind.
#ifndef PORTACL_TESTS_CLI_CLI_RUNNER_H_
#define PORTACL_TESTS_CLI_CLI_RUNNER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace portacl::cli_test {

struct Outcome {
  int exit_code = -1;  // 128 + n where signal n ended the program
  std::string out, err;
};

// Base of all CLI tests: a fresh folder per test, removed afterwards.
class CliTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Path of a file in the test's folder.
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Runs `portacl ARGUMENTS...` with the test's folder as working directory. `prefix` goes before
  // the program ("PORTACL_IMPL=x"), `suffix` behind the arguments, unquoted ("> /dev/full").
  Outcome Run(const std::vector<std::string>& arguments, const std::string& prefix = "",
              const std::string& suffix = "") const;

  // Runs it, expects exit code 0 and a JSON object on standard output.
  nlohmann::json RunJson(std::vector<std::string> arguments) const;

  void Write(const std::string& name, const std::string& bytes) const;
  std::string Read(const std::string& name) const;

  // What bash offers behind these words; the last one is the one that is being typed.
  std::vector<std::string> Completed(const std::string& words) const;

  std::filesystem::path folder_;
};

std::vector<std::string> Lines(const std::string& text);

// Exit code 2, nothing on standard output, and one line on standard error with `message` in it.
void ExpectBadInput(const Outcome& outcome, const std::string& message);

// The tensor called `name` in the "inputs" or "outputs" of `portacl run --json`.
nlohmann::json TensorNamed(const nlohmann::json& report, const std::string& name);

// An .npy file of version 1.0 from the text of its dictionary and its data.
std::string NpyFile(const std::string& dictionary, const std::string& data);
std::string NpyFile(const std::string& descr, const std::string& shape, const std::string& data,
                    bool fortran_order = false);

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// The elements of an .npy or .bin file of the given type.
template <class T>
std::vector<T> Elements(const std::string& file) {
  size_t begin = 0;
  if (file.rfind("\x93NUMPY", 0) == 0) {
    begin = 10 + static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
  }
  std::vector<T> values((file.size() - begin) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), file.data() + begin, values.size() * sizeof(T));
  return values;
}

}  // namespace portacl::cli_test

#endif  // PORTACL_TESTS_CLI_CLI_RUNNER_H_
