// `portacl cases`, `portacl golden` and `portacl compare` on folders: the files that they write,
// and their messages about wrong folders.
#include "cli/cli_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

namespace portacl::cli_test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const char* const kCase = "grid_sampler_2d_backward name=one input=1x3x8x8 grid=1x5x7x2 seed=4";

class GoldenTest : public CliTest {
 protected:
  void MakeGolden(const std::string& text = kCase) {
    const Outcome outcome = Run({"golden", "--case", text, "-o", "want"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  void CopyResults() {
    fs::create_directories(Path("mine"));
    fs::copy(Path("want/one"), Path("mine/one"), fs::copy_options::recursive);
  }

  // Everything in a folder, by its path.
  std::map<std::string, std::string> Contents(const std::string& folder) const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(Path(folder))) {
      if (!entry.is_regular_file()) continue;
      const std::string name = fs::relative(entry.path(), folder_).string();
      contents[name.substr(folder.size())] = Read(name);
    }
    return contents;
  }
};

TEST_F(GoldenTest, AFolderHasEveryTensorInEveryForm) {
  MakeGolden();
  const nlohmann::json manifest = nlohmann::json::parse(Read("want/manifest.json"));
  EXPECT_EQ(manifest.at("schema"), "portacl-golden");
  EXPECT_EQ(manifest.at("version"), 1);
  const nlohmann::json& entry = manifest.at("cases").at(0);
  EXPECT_EQ(entry.at("name"), "one");
  EXPECT_EQ(Run({"golden", "--case", entry.at("case"), "-o", "again"}).exit_code, 0);
  EXPECT_EQ(Contents("again"), Contents("want"));
  for (const nlohmann::json& tensor : entry.at("tensors")) {
    EXPECT_TRUE(fs::exists(Path("want/" + tensor.at("file").get<std::string>())));
    EXPECT_EQ(tensor.at("sha256").get<std::string>().size(), 64u);
    EXPECT_EQ(tensor.contains("bound"), tensor.at("role") == "output");
  }
  EXPECT_EQ(Read("want/one/input_2.npy"), Read("want/one/grid.npy"));
  EXPECT_EQ(Read("want/one/output_1.npy"), Read("want/one/gridGrad.npy"));
  EXPECT_THAT(Read("want/one/gridGrad.npy"), HasSubstr(Read("want/one/gridGrad.bin")));
}

TEST_F(GoldenTest, Sha256IsTheStandards) {
  MakeGolden();
  ASSERT_EQ(std::system(
                ("cd '" + folder_.string() + "' && sha256sum want/one/gridGrad.npy >sum").c_str()),
            0);
  EXPECT_THAT(Read("want/manifest.json"), HasSubstr(Read("sum").substr(0, 64)));
}

TEST_F(GoldenTest, AnInterruptedSetIsFinishedWithTheSameBytes) {
  ASSERT_EQ(Run({"cases", "generate", "smoke", "--count", "400", "-o", "cases.json"}).exit_code, 0);
  ASSERT_EQ(Run({"golden", "cases.json", "-o", "whole"}).exit_code, 0);
  // Whenever the kill comes, a second run goes on with the files that are there.
  for (const char* const after : {"0.02", "0.04", "0.06"}) {
    Run({"golden", "cases.json", "-o", "cut"}, std::string("timeout -s KILL ") + after);
  }
  const Outcome outcome = Run({"golden", "cases.json", "-o", "cut", "--jobs", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Contents("cut"), Contents("whole"));
  EXPECT_EQ(Run({"golden", "cases.json", "-o", "cut"}).exit_code, 0)
      << "a complete one is left alone";
}

// The record of what is done begins with a line that names the set.
TEST_F(GoldenTest, ASetInterruptedBeforeItsFirstCaseIsBegunAgain) {
  MakeGolden();
  fs::create_directories(Path("cut"));
  Write("cut/.portacl-progress", "");
  const Outcome outcome =
      Run({"golden", "--case", "upsample_nearest_exact1d self=1x1x2 out=1x1x4", "-o", "cut"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(Path("cut/.portacl-progress")));
}

// The record of an interrupted run is used only if each line is valid: a case's number and its
// entry.
TEST_F(GoldenTest, ADamagedRecordOfWhatIsDoneIsRefused) {
  MakeGolden();
  const std::string text = Read("want/manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(text);
  Write("cases.txt", manifest.at("cases").at(0).at("case").get<std::string>() + "\n");
  ASSERT_EQ(std::system(("cd '" + folder_.string() + "' && { printf '1 %s\\n' '" +
                         manifest.at("portacl").get<std::string>() +
                         "'; cat cases.txt; } | sha256sum >sum")
                            .c_str()),
            0);
  const std::string head = Read("sum").substr(0, 64) + "\n";
  for (const std::string line : {"garbage", "", "0", "0 ", "0 {", "0 5", "0 {}", "1 {}", "-1 {}",
                                 "0x {}", "99999999999999999999 {}"}) {
    fs::remove_all(Path("cut"));
    fs::create_directories(Path("cut"));
    Write("cut/.portacl-progress", head + line + "\n");
    ExpectBadInput(Run({"golden", "cases.txt", "-o", "cut"}), ".portacl-progress is damaged");
  }
  fs::copy(Path("want/one"), Path("cut/one"), fs::copy_options::recursive);
  const size_t entry = text.find("[\n  ") + 4;
  Write("cut/.portacl-progress",
        head + "0 " + text.substr(entry, text.rfind("\n]}") - entry) + "\n");
  ASSERT_EQ(Run({"golden", "cases.txt", "-o", "cut"}).exit_code, 0);
  EXPECT_EQ(Contents("cut"), Contents("want")) << "a good note is believed";
}

TEST_F(GoldenTest, AnotherSetIsNotOverwritten) {
  MakeGolden();
  ExpectBadInput(
      Run({"golden", "--case", "upsample_nearest_exact1d self=1x1x2 out=1x1x4", "-o", "want"}),
      "want: holds another golden set already");
  fs::create_directories(Path("other/case"));
  ExpectBadInput(
      Run({"golden", "--case", "upsample_nearest_exact1d self=1x1x2 out=1x1x4", "-o", "other"}),
      "other/case: is there already");
}

TEST_F(GoldenTest, NothingIsLeftWhereACaseIsRefused) {
  Write("cases.txt", std::string("upsample_nearest_exact1d self=1x1x2 out=1x1x4\n") +
                         "grid_sampler_2d input=1x1x4x4 grid=2x3x3x2\n");
  ExpectBadInput(Run({"golden", "cases.txt", "-o", "want"}),
                 "case 'grid_sampler_2d name=case-0002");
  EXPECT_FALSE(fs::exists(Path("want")));
}

TEST_F(GoldenTest, CompareJudgesAFolderOfOutputs) {
  MakeGolden();
  CopyResults();
  EXPECT_EQ(Run({"compare", "want", "mine"}).exit_code, 0);
  // One element of inputGrad, [0, 1, 2, 3], a hundredth off.
  std::string bytes = Read("mine/one/inputGrad.npy");
  float value = 0;
  const size_t at = bytes.size() - 4 * (3 * 64 - (64 + 2 * 8 + 3));
  std::memcpy(&value, bytes.data() + at, 4);
  value = value * 1.01f + 0.01f;
  std::memcpy(bytes.data() + at, &value, 4);
  Write("mine/one/inputGrad.npy", bytes);
  const Outcome outcome = Run({"compare", "want", "mine"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("inputGrad[0, 1, 2, 3] is"));
  EXPECT_THAT(outcome.out, HasSubstr("--case 'grid_sampler_2d_backward name=one"));
  const Outcome json = Run({"compare", "want", "mine", "--json", "--junit", "junit.xml"});
  EXPECT_EQ(json.exit_code, 1);
  const nlohmann::json worst = nlohmann::json::parse(json.out).at("cases")[0].at("outputs")[0];
  EXPECT_EQ(worst.at("actual_file"), "mine/one/inputGrad.npy");
  EXPECT_EQ(worst.at("worst")[0].at("index"), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_FLOAT_EQ(worst.at("worst")[0].at("actual").get<float>(), value);
  EXPECT_THAT(Read("junit.xml"), HasSubstr("failures=\"1\" errors=\"0\""));
  EXPECT_EQ(Run({"compare", "want", "mine", "--rtol", "0.1", "--atol", "0.1"}).exit_code, 0);
  EXPECT_EQ(Run({"compare", "want", "mine", "--binary"}).exit_code, 1);
}

TEST_F(GoldenTest, AnErrorWhereNoneIsAllowedIsSummedUpAsInfinite) {
  MakeGolden("grid_sampler_2d_backward name=one input=1x1x8x8 grid=1x1x1x2");
  CopyResults();
  std::string bytes = Read("mine/one/inputGrad.npy");
  const std::string zero(sizeof(float), '\0');
  size_t at = bytes.size() - 64 * sizeof(float);
  while (bytes.compare(at, zero.size(), zero) != 0) at += sizeof(float);  // four are not 0
  const float one = 1;
  std::memcpy(&bytes[at], &one, sizeof one);
  Write("mine/one/inputGrad.npy", bytes);
  EXPECT_THAT(Run({"compare", "want", "mine"}).out,
              HasSubstr("; 1 elements differ from golden's bits, "
                        "the largest error is beyond every bound\n"));
}

TEST_F(GoldenTest, ResultsMayBeRawOrNumbered) {
  MakeGolden();
  fs::create_directories(Path("mine/one"));
  fs::copy(Path("want/one/inputGrad.bin"), Path("mine/one/inputGrad.bin"));
  fs::copy(Path("want/one/gridGrad.npy"), Path("mine/one/output_1.npy"));
  EXPECT_EQ(Run({"compare", "want", "mine", "--binary"}).exit_code, 0);
  const nlohmann::json outputs = RunJson({"compare", "want", "mine"}).at("cases")[0].at("outputs");
  EXPECT_EQ(outputs[0].at("actual_file"), "mine/one/inputGrad.bin");
  EXPECT_EQ(outputs[1].at("actual_file"), "mine/one/output_1.npy");
}

// Element 0 is two numbers off, element 1 one.
TEST_F(GoldenTest, TheWorstElementIsThatOfTheStandard) {
  MakeGolden("upsample_nearest_exact1d name=one self=1x1x2 out=1x1x2 self.values=uniform:1:2");
  CopyResults();
  std::string bytes = Read("mine/one/out.npy");
  float values[2];
  std::memcpy(values, bytes.data() + bytes.size() - sizeof values, sizeof values);
  const float right[2] = {values[0], values[1]};
  values[0] = std::nextafter(std::nextafter(values[0], 9.0f), 9.0f);
  values[1] = std::nextafter(values[1], 9.0f);
  std::memcpy(bytes.data() + bytes.size() - sizeof values, values, sizeof values);
  Write("mine/one/out.npy", bytes);
  const auto shows = [&](const std::vector<std::string>& standard, const std::string& text) {
    std::vector<std::string> arguments = {"compare", "want", "mine"};
    arguments.insert(arguments.end(), standard.begin(), standard.end());
    EXPECT_THAT(Run(arguments).out, HasSubstr(text));
  };
  shows({"--ulp", "0"}, "error 2 ULP, allowed 0\n");
  shows({"--ulp", "1"}, "1 of 2 elements not within 1 ULP of golden\n  out[0, 0, 0] is");
  shows({"--binary"}, "error 2 ULP, allowed 0\n");
  shows({"--ulp", "2"}, "; 2 elements differ from golden's bits\n");  // no word of other bounds
  const std::string worst = fmt::format("error {:.3g}, allowed 0\n", values[0] - right[0]);
  shows({"--rtol", "0"}, worst);
}

// As a person writes it: the smallest element of inputGrad is moved by parts of its bound.
TEST_F(GoldenTest, TheLargestErrorIsSaidInPlainNumbers) {
  MakeGolden();
  CopyResults();
  const std::string right = Read("want/one/inputGrad.npy");
  std::vector<float> values(3 * 64);
  const size_t begin = right.size() - values.size() * sizeof(float);
  std::memcpy(values.data(), right.data() + begin, right.size() - begin);
  const auto size_of = [](float value) { return value == 0 ? HUGE_VALF : std::fabs(value); };
  const auto smallest = std::min_element(values.begin(), values.end(),
                                         [&](float a, float b) { return size_of(a) < size_of(b); });
  const auto move = [&](double distance) {
    std::string bytes = right;
    const auto moved = static_cast<float>(*smallest + distance);
    std::memcpy(&bytes[begin + static_cast<size_t>(smallest - values.begin()) * sizeof moved],
                &moved, sizeof moved);
    Write("mine/one/inputGrad.npy", bytes);
  };
  const auto part_of_bound = [&](double distance) {
    move(distance);
    const auto json = nlohmann::json::parse(Run({"compare", "want", "mine", "--json"}).out);
    return json.at("cases")[0].at("outputs")[0].at("largest_error_of_bound").get<double>();
  };
  // The sentence where the error is between two parts of the bound.
  const auto says = [&](double low, double high, const std::string& text) {
    double near = 0, far = 1;
    for (int tries = 0; tries < 60; ++tries) {
      const double distance = (near + far) / 2;
      const double part = part_of_bound(distance);
      if (part >= low && part <= high) break;
      (part < low ? near : far) = distance;
    }
    EXPECT_THAT(Run({"compare", "want", "mine"}).out, HasSubstr("the largest error is " + text));
  };
  says(0.9955, 1, "100 % of what is allowed\n");
  says(0.796, 0.804, "80 % of what is allowed\n");
  says(1.0001, 1.049, "just above what is allowed\n");
  says(1.16, 1.24, "1.2 times what is allowed\n");
  says(249.6, 250.4, "250 times what is allowed\n");
}

TEST_F(GoldenTest, ANaNIsBeyondEveryBound) {
  MakeGolden("upsample_nearest_exact1d name=one self=1x1x2 out=1x1x2");
  CopyResults();
  std::string bytes = Read("mine/one/out.npy");
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);
  Write("mine/one/out.npy", bytes);
  const nlohmann::json json = nlohmann::json::parse(Run({"compare", "want", "mine", "--json"}).out);
  const nlohmann::json& output = json.at("cases")[0].at("outputs")[0];
  EXPECT_EQ(output.at("nan_mismatch"), 1);
  EXPECT_EQ(output.at("largest_error_of_bound"), "inf");
  EXPECT_THAT(Run({"compare", "want", "mine", "--ulp", "3"}).out,
              HasSubstr("error inf ULP, allowed 3\n"));
}

TEST_F(GoldenTest, CasesWithoutResultsAreCountedApart) {
  MakeGolden();
  fs::create_directories(Path("mine"));
  EXPECT_THAT(Run({"compare", "want", "mine"}).out,
              HasSubstr("FAILED: 1 of 1 cases failed, 1 of them not judged\n"));
}

// A line for each way in which a folder can be wrong; exit code 2.
TEST_F(GoldenTest, WrongFoldersAreNamed) {
  MakeGolden();
  CopyResults();
  const std::string good = Read("mine/one/gridGrad.npy");
  const auto expect = [&](const std::string& message) {
    const Outcome outcome = Run({"compare", "want", "mine"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  };
  Write("mine/one/gridGrad.npy", good.substr(0, good.size() - 8));
  expect("mine/one/gridGrad.npy: truncated");
  Write("mine/one/gridGrad.npy", good + "x");
  expect("mine/one/gridGrad.npy: 1 byte is behind the array");
  Write("mine/one/gridGrad.npy", NpyFile("<f8", "(1, 5, 7, 2)", std::string(560, '\0')));
  expect("mine/one/gridGrad.npy: holds '<f8', but float32 ('<f4') is wanted");
  Write("mine/one/gridGrad.npy", NpyFile("<f4", "(1, 7, 5, 2)", std::string(280, '\0')));
  expect("mine/one/gridGrad.npy: has shape [1, 7, 5, 2], but [1, 5, 7, 2] is wanted");
  for (const char* const name : {"gridGrad.npy", "gridGrad.bin", "output_1.npy"}) {
    fs::remove(Path(std::string("mine/one/") + name));
  }
  expect("mine/one/gridGrad.npy: no such file, nor gridGrad.bin, nor output_1.npy");
  const std::string other = Read("mine/one/inputGrad.npy");
  Write("mine/one/inputGrad.npy", other.substr(0, other.size() - 8));
  expect("mine/one/inputGrad.npy: truncated");
  expect("; mine/one/gridGrad.npy: no such file");  // and the second
  Write("mine/one/inputGrad.npy", other);
  Write("mine/one/gridGrad.bin", "12");
  expect("mine/one/gridGrad.bin: 2 bytes, but [1, 5, 7, 2] float32 elements need 280");
}

// Behind the results, as with files, or before them: as long as one of the two is a golden folder.
TEST_F(GoldenTest, TheGoldenFolderMayStandAtEitherPlace) {
  MakeGolden();
  CopyResults();
  std::string bytes = Read("mine/one/inputGrad.npy");
  bytes[bytes.size() - 1] ^= 0x40;
  Write("mine/one/inputGrad.npy", bytes);
  const auto file = [&](const std::string& a, const std::string& g, const char* key) {
    const Outcome outcome = Run({"compare", a, g, "--json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("cases")[0].at("outputs")[0].at(key);
  };
  EXPECT_EQ(file("mine", "want", "actual_file"), "mine/one/inputGrad.npy");
  EXPECT_EQ(file("want", "mine", "actual_file"), "mine/one/inputGrad.npy");
  EXPECT_EQ(file("mine", "want", "golden_file"), "want/one/inputGrad.npy");
  // Two of them: the second counts.
  fs::copy(Path("want"), Path("again"), fs::copy_options::recursive);
  EXPECT_EQ(Run({"compare", "want", "again"}).exit_code, 0);
  const nlohmann::json both = RunJson({"compare", "want", "again"});
  EXPECT_EQ(both.at("cases")[0].at("outputs")[0].at("golden_file"), "again/one/inputGrad.npy");
}

TEST_F(GoldenTest, AReportOfFailuresEndsWith1) {
  MakeGolden();
  CopyResults();
  EXPECT_EQ(Run({"report", "want", "-o", "golden.html"}).exit_code, 0);
  EXPECT_EQ(Run({"report", "want", "mine", "-o", "good.html"}).exit_code, 0);
  EXPECT_EQ(Run({"report", "mine", "want", "-o", "turned.html"}).exit_code, 0);
  std::string bytes = Read("mine/one/inputGrad.npy");
  bytes[bytes.size() - 1] ^= 0x40;
  Write("mine/one/inputGrad.npy", bytes);
  const Outcome outcome = Run({"report", "want", "mine", "-o", "bad.html"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1 of them failed"));
  EXPECT_THAT(Read("bad.html"), HasSubstr("portacl report"));
}

TEST_F(GoldenTest, WrongGoldenFoldersAreNamed) {
  MakeGolden();
  ExpectBadInput(Run({"compare", "wnat", "want"}),
                 "wnat: no such folder, but want is one: wanted two folders or two files");
  const std::string manifest = Read("want/manifest.json");
  const auto expect = [&](const std::string& text, const std::string& message) {
    Write("want/manifest.json", text);
    ExpectBadInput(Run({"compare", "want", "want"}), message);
  };
  std::string other = manifest;
  expect(other.replace(other.find("\"version\": 1"), 12, "\"version\": 9"),
         "want/manifest.json: version 9, but this program reads version 1");
  expect("{}", "want/manifest.json: is not a manifest of golden results");
  expect(manifest.substr(0, manifest.size() / 2), "want/manifest.json: is not a manifest");
  const size_t begin = manifest.find("  {\"name\""), end = manifest.find("\n]}");
  const std::string entry = manifest.substr(begin, end - begin);
  for (const char* const shape : {"[1,2.5]", "[1e+107]", "[9223372036854775808]", "[-1]", "7"}) {
    other = manifest;
    const size_t at = other.find("\"shape\":[", other.find("\"role\":\"output\"")) + 8;
    expect(other.replace(at, other.find(']', at) + 1 - at, shape),
           "want/manifest.json: case 1: shape " + std::string(shape) +
               ": wanted a list of integers from 0 on");
  }
  expect(manifest.substr(0, end) + ",\n" + entry + "\n]}\n", "two cases are called 'one'");
  Write("want/manifest.json", manifest);
  Write("want/one/gridGrad.npy", Read("want/one/inputGrad.npy"));
  ExpectBadInput(Run({"compare", "want", "want"}),
                 "want/one/gridGrad.npy: is not the file of the manifest");
  ExpectBadInput(Run({"compare", "nowhere", "want"}), "nowhere");
  fs::create_directories(Path("empty"));
  ExpectBadInput(Run({"compare", "empty", "empty"}), "empty: no manifest.json in it");
  fs::create_directories(Path("other"));
  ExpectBadInput(Run({"compare", "empty", "other"}), "neither is a golden folder");
  ExpectBadInput(Run({"compare", "want", "nowhere"}), "nowhere: no such folder");
}

TEST_F(GoldenTest, WrongOptionsAreNamed) {
  MakeGolden();
  ExpectBadInput(Run({"golden", "-o", "a"}), "wanted either a list of cases or --case");
  ExpectBadInput(Run({"compare", "want", "want", "--ulp", "1", "--binary"}),
                 "give one of --binary");
  ExpectBadInput(Run({"compare", "want", "want", "--ulp", "-1"}), "--ulp: '-1' is below 0");
  ExpectBadInput(Run({"compare", "want", "want", "--rtol", "x"}), "--rtol: 'x' is not a number");
  ExpectBadInput(Run({"compare", "want", "want", "--standard", "good"}), "--standard: 'good'");
  ExpectBadInput(Run({"compare", "want", "want", "--standard", "dual"}), "belong together");
  ExpectBadInput(Run({"compare", "want", "want", "--dtype", "float32"}), "belong to files");
  ExpectBadInput(Run({"cases", "generate", "all"}), "cases generate: 'all' is not one of");
  ExpectBadInput(Run({"cases", "convert", "a.xml"}), "wanted a name that ends with .json");
  ExpectBadInput(Run({"cases", "generate", "smoke", "--operator", "softmax"}),
                 "--operator: unknown operator 'softmax' (portacl info lists all)");
  ExpectBadInput(Run({"cases", "generate", "smoke", "--operator", "GridSampler2D"}),
                 "unknown operator 'GridSampler2D'; did you mean grid_sampler_2d?");
  ExpectBadInput(Run({"cases", "generate", "smoke", "--profile", "atlas-training", "--operator",
                      "upsample_nearest_exact1d"}),
                 "--operator: profile atlas-training refuses upsample_nearest_exact1d");
}

TEST_F(GoldenTest, CasesOfAscend950AreReadAgain) {
  const auto generate = [this](const char* op) {
    return Run({"cases", "generate", "boundary", "--profile", "ascend-950", "--operator", op, "-o",
                "a.json"});
  };
  const Outcome refused = generate("upsample_nearest1d");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("profile ascend-950 refuses upsample_nearest1d"));
  ASSERT_EQ(generate("upsample_nearest2d").exit_code, 0);
  const Outcome converted = Run({"cases", "convert", "a.json", "-o", "a.txt"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  EXPECT_THAT(Read("a.txt"), HasSubstr("profile=ascend-950"));
}

TEST_F(GoldenTest, OptionsThatWouldChangeNothingAreRefused) {
  Write("a.txt", "upsample_nearest_exact1d self=1x1x2 out=1x1x4\n");
  const std::vector<std::vector<std::string>> wrong = {
      {"generate", "boundary", "--count", "3"},  {"generate", "smoke", "--seed", "3"},
      {"generate", "smoke", "--small"},          {"convert", "a.txt", "--count", "1"},
      {"convert", "a.txt", "--profile", "open"}, {"from-log", "a.txt", "--operator", "x"}};
  for (std::vector<std::string> arguments : wrong) {
    const std::string option = arguments[2];
    arguments.insert(arguments.begin(), "cases");
    ExpectBadInput(Run(arguments), option + ": goes with `cases generate");
  }
}

TEST_F(GoldenTest, EveryStandardPassesGoldenItself) {
  ASSERT_EQ(Run({"cases", "generate", "smoke", "--count", "60", "-o", "b.csv"}).exit_code, 0);
  ASSERT_EQ(Run({"golden", "b.csv", "-o", "want"}).exit_code, 0);
  for (const std::vector<std::string>& standard : std::vector<std::vector<std::string>>{
           {},
           {"--binary"},
           {"--ulp", "0"},
           {"--rtol", "0"},
           {"--standard", "stat"},
           {"--standard", "mixed"},
           {"--standard", "dual", "--second", "want", "--factor", "1"}}) {
    std::vector<std::string> arguments = {"compare", "want", "want"};
    arguments.insert(arguments.end(), standard.begin(), standard.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
}

TEST_F(GoldenTest, FilesCanBeJudgedByTheOtherStandardsToo) {
  Write("a.npy", NpyFile("<f4", "(3,)", Bytes<float>({1, 2, 3})));
  Write("b.npy", NpyFile("<f4", "(3,)", Bytes<float>({1, std::nextafter(2.0f, 3.0f), 3})));
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--ulp", "1"}).exit_code, 0);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--ulp", "0"}).exit_code, 1);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--binary"}).exit_code, 1);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--rtol", "1e-6"}).exit_code, 0);
  ExpectBadInput(Run({"compare", "a.npy", "b.npy", "--standard", "bound"}),
                 "two files have no error bound");
}

// As the mixed tolerance wants it: the reference computed in higher precision.
TEST_F(GoldenTest, AReferenceMayBeOfAHigherPrecision) {
  std::vector<float> actual(200, 1.0f);
  const std::vector<double> golden(200, 1.0 + 1e-9);
  Write("g.npy", NpyFile("<f8", "(200,)", Bytes(golden)));
  const auto verdict = [&](const std::vector<std::string>& standard) {
    Write("a.npy", NpyFile("<f4", "(200,)", Bytes(actual)));
    std::vector<std::string> arguments = {"compare", "a.npy", "g.npy"};
    arguments.insert(arguments.end(), standard.begin(), standard.end());
    return Run(arguments);
  };
  for (const std::vector<std::string>& standard : std::vector<std::vector<std::string>>{
           {"--standard", "mixed"}, {"--standard", "stat"}, {"--ulp", "0"}, {"--rtol", "1e-6"}}) {
    const Outcome outcome = verdict(standard);
    EXPECT_EQ(outcome.exit_code, 0) << standard[0] << outcome.out << outcome.err;
  }
  ExpectBadInput(verdict({"--binary"}), "a.npy holds float32, but g.npy holds float64");
  actual[0] = actual[1] = 1.005f;  // 1 % of the elements, by less than the floor of 0.01
  EXPECT_EQ(verdict({"--standard", "mixed"}).exit_code, 0);
  actual[2] = 1.005f;
  EXPECT_EQ(verdict({"--standard", "mixed"}).exit_code, 1);
  actual[1] = actual[2] = 1.0f;
  actual[0] = 1.02f;
  EXPECT_EQ(verdict({"--standard", "mixed"}).exit_code, 1) << "beyond the floor";
  Write("bytes.npy", NpyFile("|u1", "(200,)", std::string(200, '\1')));
  ExpectBadInput(Run({"compare", "bytes.npy", "g.npy", "--standard", "mixed"}),
                 "bytes.npy holds uint8, but g.npy holds float64");
}

TEST_F(GoldenTest, FilesOfBytesAreJudgedToo) {
  Write("a.npy", NpyFile("|u1", "(3,)", Bytes<uint8_t>({0, 127, 255})));
  Write("b.npy", NpyFile("|u1", "(3,)", Bytes<uint8_t>({0, 128, 255})));
  EXPECT_EQ(Run({"compare", "a.npy", "a.npy"}).exit_code, 0);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy"}).exit_code, 1);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--ulp", "1"}).exit_code, 0);
  EXPECT_EQ(Run({"compare", "a.npy", "b.npy", "--binary"}).exit_code, 1);
}

TEST_F(GoldenTest, FoldersOfBytesHaveArraysOfBytes) {
  ASSERT_EQ(Run({"golden", "-o", "want", "--case",
                 "upsample_nearest1d name=g dtype=uint8 self=1x1x3 out=1x1x6 self.values=ramp"})
                .exit_code,
            0);
  const std::string bytes = Bytes<uint8_t>({0, 0, 1, 1, 2, 2});
  EXPECT_EQ(Read("want/g/out.bin"), bytes);
  EXPECT_THAT(Read("want/g/out.npy"), HasSubstr("'descr': '|u1'"));
  EXPECT_EQ(Bytes(Elements<uint8_t>(Read("want/g/out.npy"))), bytes);
  EXPECT_EQ(Elements<double>(Read("want/g/out.bound.npy")), std::vector<double>(6, 0.0));
  EXPECT_EQ(Run({"compare", "want", "want"}).exit_code, 0);
}

// No standard lets something that is not a number pass for one, in either file.
TEST_F(GoldenTest, WhatIsNoNumberIsRightOnlyWhereTheSameIsWanted) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {2, std::nanf(""), kInfinity, -kInfinity};
  const auto name = [](size_t i) { return "file" + std::to_string(i) + ".npy"; };
  for (size_t i = 0; i < values.size(); ++i) {
    Write(name(i), NpyFile("<f4", "(3,)", Bytes<float>({1, values[i], 3})));
  }
  for (const std::vector<std::string>& standard :
       std::vector<std::vector<std::string>>{{"--ulp", "1000"}, {"--standard", "stat"}}) {
    for (size_t want = 0; want < values.size(); ++want) {
      for (size_t got = 0; got < values.size(); ++got) {
        std::vector<std::string> arguments = {"compare", name(got), name(want)};
        arguments.insert(arguments.end(), standard.begin(), standard.end());
        EXPECT_EQ(Run(arguments).exit_code, want == got ? 0 : 1)
            << standard[0] << ": " << values[got] << " where " << values[want] << " is wanted";
      }
    }
  }
}

// In float32, MERE (the mean of the relative errors) has the limit t = 2^-13, and MARE (the largest
// one) 10 t.
TEST_F(GoldenTest, TheLargestRelativeErrorMayBeTenTimesTheMeans) {
  std::vector<float> values(100, 1.0f);
  const auto write = [&](const std::string& name, float first) {
    values[0] = first;
    Write(name, NpyFile("<f4", "(100,)", Bytes<float>(values)));
  };
  constexpr float kLimit = 1.0f / 8192;
  write("want.npy", 1);
  write("near.npy", 1 + 9 * kLimit);
  write("far.npy", 1 + 11 * kLimit);
  EXPECT_EQ(Run({"compare", "near.npy", "want.npy", "--standard", "stat"}).exit_code, 0);
  const Outcome far = Run({"compare", "far.npy", "want.npy", "--standard", "stat"});
  EXPECT_EQ(far.exit_code, 1);
  EXPECT_THAT(far.out, HasSubstr("MARE"));
}

}  // namespace
}  // namespace portacl::cli_test
