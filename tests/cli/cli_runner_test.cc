// The runner that cli_runner.h declares, and tests of it.
#include "cli/cli_runner.h"
#include "test_paths.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace portacl::cli_test {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

void CliTest::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "portacl-cli-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

void CliTest::TearDown() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Outcome CliTest::Run(const std::vector<std::string>& arguments, const std::string& prefix,
                     const std::string& suffix) const {
  const std::filesystem::path out = folder_ / ".stdout", err = folder_ / ".stderr";
  std::string command = "cd " + Quoted(folder_.string()) + " && " + prefix + " " PORTACL_CLI;
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  command += " >" + Quoted(out.string()) + " 2>" + Quoted(err.string()) + " " + suffix;
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = ReadFile(out);
  outcome.err = ReadFile(err);
  return outcome;
}

nlohmann::json CliTest::RunJson(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  const Outcome outcome = Run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << outcome.out;
  return json;
}

void CliTest::Write(const std::string& name, const std::string& bytes) const {
  std::ofstream stream(folder_ / name, std::ios::binary);
  stream << bytes;
}

std::string CliTest::Read(const std::string& name) const { return ReadFile(folder_ / name); }

std::vector<std::string> CliTest::Completed(const std::string& words) const {
  const std::string script = "set -- " + words +
                             "; . ./portacl.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
                             "_portacl; printf '%s\\n' \"${COMPREPLY[@]}\" >completed";
  Write("script", script);
  const Outcome printed = Run({"manual", "bash"});
  EXPECT_EQ(printed.exit_code, 0);
  Write("portacl.bash", printed.out);
  EXPECT_EQ(std::system(("cd '" + folder_.string() + "' && bash script").c_str()), 0);
  std::vector<std::string> lines = Lines(Read("completed"));
  std::erase(lines, "");
  return lines;
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void ExpectBadInput(const Outcome& outcome, const std::string& message) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::StartsWith("portacl: "));
  EXPECT_THAT(outcome.err, testing::HasSubstr(message));
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "more than one line";
}

nlohmann::json TensorNamed(const nlohmann::json& report, const std::string& name) {
  for (const char* list : {"inputs", "outputs"}) {
    for (const nlohmann::json& tensor : report.value(list, nlohmann::json::array())) {
      if (tensor.value("name", "") == name) return tensor;
    }
  }
  return nullptr;
}

std::string NpyFile(const std::string& dictionary, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size() & 0xFF);
  file += static_cast<char>(dictionary.size() >> 8);
  return file + dictionary + data;
}

std::string NpyFile(const std::string& descr, const std::string& shape, const std::string& data,
                    bool fortran_order) {
  return NpyFile("{'descr': '" + descr + "', 'fortran_order': " +
                     (fortran_order ? "True" : "False") + ", 'shape': " + shape + ", }\n",
                 data);
}

namespace {

TEST_F(CliTest, TheRunnerSeesExitCodesAndBothStreams) {
  const Outcome outcome = Run({"no-such-command"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err, "");
  EXPECT_EQ(Run({"--version"}).exit_code, 0);
  EXPECT_THAT(Run({"--version"}).out, testing::StartsWith("portacl "));
}

TEST_F(CliTest, ArgumentsWithBlanksAndQuotesArriveWhole) {
  Write("a 'b'.npy", NpyFile("<f4", "(1, 1, 1, 1)", Bytes<float>({1})));
  EXPECT_EQ(Run({"compare", "a 'b'.npy", "a 'b'.npy"}).exit_code, 0);
}

}  // namespace
}  // namespace portacl::cli_test
