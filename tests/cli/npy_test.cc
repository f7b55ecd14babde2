// .npy files: round trips, versions, and every way in which one can be broken.
#include "cli/cli_runner.h"

namespace portacl::cli_test {
namespace {

class NpyTest : public CliTest {
 protected:
  // Reads `in.npy` and writes it again: gradOutput to a result of the same size.
  Outcome Copy() const {
    return Run({"run", "upsample_nearest_exact2d_backward", "--grad-output", "in.npy", "--size",
                "1,2", "--grad-input", "out.npy"});
  }
  void ExpectRefused(const std::string& file, const std::string& message) const {
    SCOPED_TRACE(message);
    Write("in.npy", file);
    ExpectBadInput(Copy(), message);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.npy"));
  }
};

const std::string kData = Bytes<float>({1.5f, -2.25f});

TEST_F(NpyTest, EveryDataTypeComesBackBitByBit) {
  const std::pair<std::string, std::string> files[] = {
      {"<f2", Bytes<uint16_t>({0x3C01, 0x8001})},  // 1 + 2^-10, the smallest subnormal
      {"<f4", Bytes<uint32_t>({0x3F800001, 0x7F800000})},
      {"<f8", Bytes<double>({0.1, -1e-300})}};
  for (const auto& [descr, data] : files) {
    Write("in.npy", NpyFile(descr, "(1, 1, 1, 2)", data));
    ASSERT_EQ(Copy().exit_code, 0) << descr;
    const std::string out = Read("out.npy");
    EXPECT_EQ(out.substr(out.size() - data.size()), data) << descr;
    EXPECT_THAT(out, testing::HasSubstr("{'descr': '" + descr +
                                        "', 'fortran_order': False, 'shape': (1, 1, 1, 2), }"));
    EXPECT_EQ((out.size() - data.size()) % 64, 0u) << "NumPy aligns the data to 64 bytes";
  }
}

TEST_F(NpyTest, HeadersOfAllVersionsAndSpellingsAreRead) {
  const std::string dictionary =
      "{\"shape\": (1,1 , 1,2L,),  'fortran_order':False,'descr':'<f4'}   \n";
  const auto length4 = [&] {
    const uint32_t size = static_cast<uint32_t>(dictionary.size());
    return Bytes<uint32_t>({size});
  }();
  const std::string files[] = {NpyFile(dictionary, kData),
                               std::string("\x93NUMPY\x02\x00", 8) + length4 + dictionary + kData,
                               std::string("\x93NUMPY\x03\x00", 8) + length4 + dictionary + kData};
  for (const std::string& file : files) {
    Write("in.npy", file);
    const Outcome outcome = Copy();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Bytes(Elements<float>(Read("out.npy"))), kData);
  }
}

TEST_F(NpyTest, DamagedFilesAreRefused) {
  const std::string good = NpyFile("<f4", "(1, 1, 1, 2)", kData);
  ExpectRefused("", "only 0 bytes");
  ExpectRefused("hello, world", "does not start with");
  ExpectRefused(good.substr(0, 9), "truncated");
  ExpectRefused(good.substr(0, 30), "truncated");
  ExpectRefused(good.substr(0, good.size() - 1), "truncated");
  ExpectRefused(NpyFile("<f4", "(1, 3, 8, 8)", std::string(760, '\0')),
                "192 times 4 bytes, but 760 are left");
  ExpectRefused(good + "x", "1 byte is behind the array");
  ExpectRefused(std::string("\x93NUMPY\x09\x00", 8) + good.substr(8), "version 9");
}

TEST_F(NpyTest, HeadersThatAreNotAsTheyShouldBeAreRefused) {
  const auto with = [](const std::string& dictionary) { return NpyFile(dictionary, kData); };
  ExpectRefused(with(""), "malformed header");
  ExpectRefused(with("{'descr': '<f4'"), "malformed header");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': False}"), "lacks one of");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}"), "True or False");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,-2)}"), "not negative");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': False, 'shape': 2}"), "'(' expected");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"),
                "unknown key");
  ExpectRefused(with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
                "structured");
  ExpectRefused(with("{'descr: <f4"), "does not end");
  ExpectRefused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (1,)}"),
                "has the key 'shape' twice");
  ExpectRefused(with("{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}"),
                "has the key 'descr' twice");
}

TEST_F(NpyTest, OtherElementTypesAreRefusedByName) {
  ExpectRefused(NpyFile("<i4", "(1, 1, 1, 2)", kData), "dtype '<i4' is not supported");
  ExpectRefused(NpyFile("|i1", "(1, 1, 1, 8)", kData), "dtype '|i1'");
  ExpectRefused(NpyFile("|u1", "(1, 1, 1, 8)", kData), "has dtype UINT8, but must be FLOAT");
  ExpectRefused(NpyFile(">f4", "(1, 1, 1, 2)", kData), "big-endian");
  ExpectRefused(NpyFile("<c8", "(1, 1, 1, 1)", kData), "dtype '<c8'");
}

TEST_F(NpyTest, SizesThatLieAreRefusedBeforeAnythingIsAllocated) {
  ExpectRefused(NpyFile("<f4", "(1000000, 1000000, 1000, 1)", kData), "truncated");
  ExpectRefused(NpyFile("<f4", "(4611686018427387904, 4, 1, 1)", kData), "more than 2^62");
  ExpectRefused(NpyFile("<f4", "(99999999999999999999, 1, 1, 1)", kData), "too large");
  ExpectRefused(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12) + "{", "4294967295 bytes");
  std::string many = "(";
  for (int i = 0; i < 40; ++i) many += "1, ";
  ExpectRefused(NpyFile("<f4", many + ")", kData), "more than 32 axes");
}

// Extents around a zero may have any product: no element is reached by their strides. Found by the
// fuzzer; the undefined behaviour sanitizer reports it.
TEST_F(NpyTest, EmptyTensorsOfAnyExtentsAreRead) {
  for (const char* const shape : {"(0, 4294967296, 4294967296)", "(4294967296, 4294967296, 0)"}) {
    Write("in.npy", NpyFile("<f4", shape, ""));
    const Outcome outcome = Run({"compare", "in.npy", "in.npy"});
    EXPECT_EQ(outcome.exit_code, 0) << shape << ": " << outcome.err;
  }
}

TEST_F(NpyTest, RanksThatTheOperatorDoesNotTakeAreRefused) {
  ExpectRefused(NpyFile("<f4", "(2,)", kData), "[N, C, H, W]");
  ExpectRefused(NpyFile("<f4", "(1, 1, 1, 1, 2)", kData), "[N, C, H, W]");
  ExpectRefused(NpyFile("<f4", "()", kData.substr(4)), "[N, C, H, W]");
}

TEST_F(NpyTest, BfloatHasNoNpyFile) {
  ExpectBadInput(Run({"run", "upsample_nearest_exact2d_backward", "--dtype", "bf16", "--shape",
                      "1,1,2,2", "--size", "1,1", "--grad-input", "out.npy"}),
                 "NumPy has no bfloat16");
}

}  // namespace
}  // namespace portacl::cli_test
