// `portacl compare`: verdicts on both sides of each threshold, special values, files.
#include <cmath>
#include <limits>

#include "cli/cli_runner.h"

namespace portacl::cli_test {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class CompareTest : public CliTest {
 protected:
  int Verdict(const std::vector<double>& actual, const std::vector<double>& golden) const {
    const std::string shape = "(" + std::to_string(actual.size()) + ",)";
    Write("a.npy", NpyFile("<f8", shape, Bytes(actual)));
    Write("g.npy", NpyFile("<f8", shape, Bytes(golden)));
    return Run({"compare", "a.npy", "g.npy"}).exit_code;
  }
};

TEST_F(CompareTest, EqualFilesPass) {
  EXPECT_EQ(Verdict({1, -2, 0, kInf, -kInf, kNan}, {1, -2, 0, kInf, -kInf, kNan}), 0);
  EXPECT_EQ(Verdict({0.0}, {-0.0}), 0);
  EXPECT_EQ(Verdict({}, {}), 0);
}

TEST_F(CompareTest, NotFiniteOnOneSideFails) {
  EXPECT_EQ(Verdict({kNan}, {1}), 1);
  EXPECT_EQ(Verdict({1}, {kNan}), 1);
  EXPECT_EQ(Verdict({kInf}, {1}), 1);
  EXPECT_EQ(Verdict({1}, {kInf}), 1);
  EXPECT_EQ(Verdict({kInf}, {-kInf}), 1);
  EXPECT_EQ(Verdict({kInf}, {kNan}), 1);
}

// One element off by a relative error; T is the threshold of the type.
TEST_F(CompareTest, ThresholdsDependOnTheTypeOfTheResult) {
  struct Type {
    const char* dtype;
    double threshold;
  };
  for (const Type& type : {Type{"float32", 0x1p-13}, Type{"float16", 0x1p-10},
                           Type{"bfloat16", 0x1p-7}, Type{"float64", 0x1p-44}}) {
    // 64 elements of 1 in the type; the reference is double, as golden results are.
    const auto verdict = [&](double first_error, double all_error) {
      const std::string dtype = type.dtype;
      const std::string one = dtype == "float32"    ? Bytes<float>({1})
                              : dtype == "float16"  ? Bytes<uint16_t>({0x3C00})
                              : dtype == "bfloat16" ? Bytes<uint16_t>({0x3F80})
                                                    : Bytes<double>({1});
      std::string actual;
      for (int i = 0; i < 64; ++i) actual += one;
      std::vector<double> golden(64, 1 / (1 + all_error));
      golden[5] = 1 / (1 + first_error);
      Write("a.bin", actual);
      Write("g.npy", NpyFile("<f8", "(64,)", Bytes(golden)));
      return Run({"compare", "a.bin", "g.npy", "--dtype", dtype}).exit_code;
    };
    EXPECT_EQ(verdict(0, 0), 0) << type.dtype;
    EXPECT_EQ(verdict(9.5 * type.threshold, 0), 0) << type.dtype << ": MARE below 10 T";
    EXPECT_EQ(verdict(10.5 * type.threshold, 0), 1) << type.dtype << ": MARE above 10 T";
    EXPECT_EQ(verdict(0.9 * type.threshold, 0.9 * type.threshold), 0) << type.dtype << ": MERE";
    EXPECT_EQ(verdict(1.1 * type.threshold, 1.1 * type.threshold), 1) << type.dtype << ": MERE";
  }
}

TEST_F(CompareTest, ZeroReferencesUseTheAbsoluteFloor) {
  EXPECT_EQ(Verdict({1e-22}, {0}), 0) << "1e-22 / 1e-7 is below 2^-44";
  EXPECT_EQ(Verdict({1e-12}, {0}), 1);
}

TEST_F(CompareTest, TheNumbersAreReported) {
  Write("a.npy", NpyFile("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4.5f})));
  Write("g.npy", NpyFile("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4})));
  const Outcome text = Run({"compare", "a.npy", "g.npy"});
  EXPECT_EQ(text.exit_code, 1);
  for (const char* part :
       {"1 of 4 differ", "MERE", "0.03125", "MARE", "0.125", "[1, 1]", "4.5", "FAILED"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const Outcome json_run = Run({"compare", "a.npy", "g.npy", "--json"});
  const auto json = nlohmann::json::parse(json_run.out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json_run.exit_code, 1);
  EXPECT_FALSE(json.at("passed").get<bool>());
  EXPECT_NEAR(json.at("mere").get<double>(), 0.125 / 4, 1e-8);
  EXPECT_NEAR(json.at("mare").get<double>(), 0.125, 1e-8);
  EXPECT_EQ(json.at("worst_index").get<int>(), 3);
  EXPECT_EQ(json.at("threshold").get<double>(), 0x1p-13);
  EXPECT_TRUE(RunJson({"compare", "g.npy", "g.npy"}).at("passed").get<bool>());
}

TEST_F(CompareTest, StorageOrderDoesNotMatter) {
  Write("f.npy", NpyFile("<f4", "(2, 3)", Bytes<float>({1, 4, 2, 5, 3, 6}), true));
  Write("c.npy", NpyFile("<f4", "(2, 3)", Bytes<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(Run({"compare", "f.npy", "c.npy"}).exit_code, 0);
  Write("d.npy", NpyFile("<f4", "(2, 3)", Bytes<float>({1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(Run({"compare", "f.npy", "d.npy"}).exit_code, 1);
}

TEST_F(CompareTest, ShapesAndFilesThatDoNotFitAreRefused) {
  Write("a.npy", NpyFile("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4})));
  Write("b.npy", NpyFile("<f4", "(4,)", Bytes<float>({1, 2, 3, 4})));
  Write("c.bin", "123456");
  ExpectBadInput(Run({"compare", "a.npy", "b.npy"}), "has shape [2, 2]");
  ExpectBadInput(Run({"compare", "a.npy", "missing.npy"}), "missing.npy: no such file");
  const std::string long_name(300, 'n');
  ExpectBadInput(Run({"compare", "a.npy", long_name}), long_name + ": cannot be read: File name");
  ExpectBadInput(Run({"compare", long_name, "a.npy"}), long_name + ": cannot be read: File name");
  ExpectBadInput(Run({"compare", "c.bin", "a.npy"}), "--dtype");
  ExpectBadInput(Run({"compare", "c.bin", "a.npy", "--dtype", "float32"}), "6 bytes");
  ExpectBadInput(Run({"compare", "c.bin", "a.npy", "--dtype", "word"}), "--dtype");
  ExpectBadInput(Run({"compare", "c.bin", "a.npy", "--dtype", "fp16", "--shape", "x"}), "--shape");
}

TEST_F(CompareTest, SixteenBitTypesAreDecodedExactly) {
  // Smallest subnormal, largest finite, one, minus infinity.
  Write("h.bin", Bytes<uint16_t>({0x0001, 0x7BFF, 0x3C00, 0xFC00}));
  Write("h.npy", NpyFile("<f8", "(4,)", Bytes<double>({0x1p-24, 65504, 1, -kInf})));
  EXPECT_THAT(Run({"compare", "h.bin", "h.npy", "--dtype", "fp16"}).out,
              HasSubstr("0 of 4 differ"));
  Write("b.bin", Bytes<uint16_t>({0x0001, 0x7F7F, 0x3F80, 0xFF80}));
  Write("b.npy", NpyFile("<f8", "(4,)", Bytes<double>({0x1p-133, 0x1.FEp127, 1, -kInf})));
  EXPECT_THAT(Run({"compare", "b.bin", "b.npy", "--dtype", "bf16"}).out,
              HasSubstr("0 of 4 differ"));
}

}  // namespace
}  // namespace portacl::cli_test
