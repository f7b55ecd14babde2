// Wrong usage and wrong input: exit code 2, one line that names the culprit, nothing done.
#include "cli/cli_runner.h"

namespace portacl::cli_test {
namespace {

using Arguments = std::vector<std::string>;

class BadInputTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    Write("g.npy", NpyFile("<f4", "(1, 1, 2, 2)", Bytes<float>({1, 2, 3, 4})));
    Write("half.npy", NpyFile("<f2", "(1, 1, 2, 2)", Bytes<uint16_t>({1, 2, 3, 4})));
    Write("grid.npy", NpyFile("<f4", "(1, 1, 1, 2)", Bytes<float>({0, 0})));
    Write("three.npy", NpyFile("<f4", "(1, 1, 1, 3)", Bytes<float>({0, 0, 0})));
    Write("raw.bin", "12345678");
    Write("text.txt", "hello");
    Write("fake.png", "not a picture");
  }

  void ExpectUpsample(const Arguments& more, const std::string& message) const {
    Expect({"run", "upsample_nearest_exact2d_backward"}, more, message);
  }
  void ExpectSampler(const Arguments& more, const std::string& message) const {
    Expect({"run", "grid_sampler_2d_backward"}, more, message);
  }
  void Expect(Arguments arguments, const Arguments& more, const std::string& message) const {
    SCOPED_TRACE(message);
    arguments.insert(arguments.end(), more.begin(), more.end());
    ExpectBadInput(Run(arguments), message);
  }
};

TEST_F(BadInputTest, CommandsAndOptionsThatDoNotExist) {
  Expect({}, {}, "wanted a command; there are run, info, cases");
  Expect({"runn"}, {}, "unknown command 'runn'; did you mean run?; there are run, info");
  Expect({"run"}, {}, "operator");
  Expect({"help", "runn"}, {}, "unknown command 'runn'");
  Expect({"run", "softmax"}, {}, "unknown operator 'softmax' (portacl info lists all)");
  Expect({"run", "grid_sampler_2d_backwrd"}, {},
         "unknown operator 'grid_sampler_2d_backwrd'; did you mean grid_sampler_2d_backward?");
  Expect({"run", "upsample_bilinear"}, {},
         "'upsample_bilinear'; did you mean upsample_linear, upsample_bilinear2d or "
         "UpsampleBilinear2d? (portacl info");
  Expect({"run", "nearest"}, {}, "; did you mean UpsampleNearest, upsample_nearest or ");
  Expect({"run", "gridsampler2dgrad"}, {},
         "; did you mean grid_sampler_2d_grad or GridSampler2DGrad?");
  Expect({"run", "roialign"}, {}, "; did you mean roi_align or ROIAlign?");
  for (const char* const function : {"aclnnAdd", "aclnnMatmul"}) {  // a companion, PyTorch's
    Expect({"run", function}, {}, " is a function of the library that only programs call (portacl");
  }
  Expect({"run", "GridSample"}, {},
         "GridSample stands for several operators: name GridSampler2D or GridSampler3D");
  Expect({"run", "aclnnResize"}, {},
         "stands for several operators: name upsample_linear or upsample_nearest");
  Expect({"info", "--frobnicate"}, {}, "unknown option '--frobnicate' (portacl help info");
  Expect({"--verison"}, {}, "unknown option '--verison'; did you mean --version?");
  Expect({"--verison", "info"}, {}, "unknown option '--verison'; did you mean --version?");
  Expect({"--json", "info"}, {}, "option '--json' belongs behind the command: portacl info --json");
  Expect({"run", "--jsn"}, {}, "unknown option '--jsn'; did you mean --json?");
  Expect({"compare", "--", "a.npy", "b.npy", "-5"}, {}, "unexpected argument '-5'");
  Expect({"info", "--jsn"}, {}, "unknown option '--jsn'; did you mean --json?");
  ExpectSampler({"--gridgrad", "flow.png"}, "'--gridgrad'; did you mean --grid-grad?");
  ExpectSampler({"--grid_grad=flow.png"}, "'--grid_grad'; did you mean --grid-grad?");
  ExpectSampler({"--padding-mode", "border"}, "'--padding-mode'; did you mean --padding?");
  ExpectSampler({"--num-threads=2"}, "'--num-threads'; did you mean --threads?");
  Expect({"verify", "-o", "x"}, {}, "option '-o'; did you mean --outputs?");
  Expect({"verify", "--library", "x"}, {}, "'--library'; did you mean --lib-dir or --lib?");
  ExpectSampler({"flow.png"}, "unexpected argument 'flow.png' (portacl help run");
  Expect({"compare"}, {}, "compare: A is missing: the results to judge: a folder, or a file");
  Expect({"compare", "g.npy"}, {}, "file of any dtype; usage: portacl compare A G [options] (port");
  Expect({"report", "g"}, {}, "usage: portacl report DIR [OTHER] [options] (portacl help report");
  Expect({"golden", "--case", "x"}, {}, "golden: --output is missing: folder for manifest.json");
  Expect({"cases", "generate", "smoke", "--count", "0"}, {},
         "cases: --count: '0' is not a number from 1 to 10000000 (portacl help cases");
  Expect({"cases", "make"}, {}, "cases: WHAT: 'make' is not one of generate, convert, from-log (");
  Expect({"verify", "--timeout", "0"}, {}, "--timeout: '0' is not a number from 0.1 to 86400 (");
  ExpectSampler({"--align-corners=maybe"}, "--align-corners: 'maybe' is not true or false");
  Expect({"cases", "generate", "models", "--operator", "affine_grid"}, {},
         "cases generate models: there is none of --operator affine_grid");
  ExpectUpsample({"--grad-output"},
                 "--grad-output: wanted FILE|ones|random:SEED, but nothing follows");
  ExpectUpsample({"--size", "1,1", "--size", "2,2"},
                 "--size: wanted once, but it stands 2 times (portacl help run");
}

TEST_F(BadInputTest, FilesThatCannotBeRead) {
  ExpectUpsample({"--grad-output", "missing.npy", "--size", "1,1"}, "missing.npy: no such file");
  ExpectUpsample({"--grad-output", ".npy", "--size", "1,1"}, ".npy");
  std::filesystem::create_symlink("loop.npy", folder_ / "loop.npy");
  ExpectUpsample({"--grad-output", "loop.npy", "--size", "1,1"}, "loop.npy: cannot be read: Too");
  std::filesystem::create_directory(folder_ / "folder.npy");
  ExpectUpsample({"--grad-output", "folder.npy", "--size", "1,1"}, "not a regular file");
  ExpectUpsample({"--grad-output", "text.txt", "--size", "1,1"},
                 "wanted a .npy, .bin, .png or .jpg");
  ExpectUpsample({"--grad-output", "fake.png", "--size", "1,1"}, "not a PNG or JPEG picture");
}

TEST_F(BadInputTest, DamagedPicture) {
  ASSERT_EQ(Run({"run", "upsample_nearest_exact2d_backward", "--shape", "1,3,32,32", "--size",
                 "16,16", "--grad-input", "good.png"})
                .exit_code,
            0);
  Write("cut.png", Read("good.png").substr(0, 60));
  ExpectUpsample({"--grad-output", "cut.png", "--size", "1,1"}, "damaged picture");
}

TEST_F(BadInputTest, RawFilesNeedTypeAndShape) {
  ExpectUpsample({"--grad-output", "raw.bin", "--size", "1,1"}, "--dtype");
  ExpectUpsample({"--grad-output", "raw.bin", "--dtype", "fp32", "--size", "1,1"}, "--shape");
  ExpectUpsample(
      {"--grad-output", "raw.bin", "--dtype", "fp32", "--shape", "1,1,1,3", "--size", "1,1"},
      "8 bytes, but [1, 1, 1, 3] float32 elements need 12");
}

TEST_F(BadInputTest, TypesThatDoNotFit) {
  ExpectUpsample({"--dtype", "int8", "--shape", "1,1,2,2", "--size", "1,1"}, "'int8'");
  ExpectUpsample({"--grad-output", "g.npy", "--dtype", "fp16", "--size", "1,1"},
                 "holds float32, but float16 is wanted");
  ExpectSampler({"--input", "g.npy", "--grid", "identity", "--grad-output", "half.npy"},
                "holds float16, but float32 is wanted");
}

TEST_F(BadInputTest, ShapesThatAreMalformedOrTooLarge) {
  for (const std::string shape : {"1,,2", "a", "1,2,x,4", "1.5,1,1,1", "1,1,2,2,", " 1,1,1,1"}) {
    ExpectUpsample({"--shape=" + shape, "--size", "1,1"}, "--shape");
  }
  ExpectUpsample({"--shape=-1,1,2,2", "--size", "1,1"}, "negative");
  ExpectUpsample({"--shape", "99999999999999999999,1,1,1", "--size", "1,1"}, "--shape");
  ExpectUpsample({"--shape", "4611686018427387904,4,1,1", "--size", "1,1"}, "more than 2^62");
  ExpectUpsample({"--shape", "1,1,100000000,100000000", "--size", "1,1"}, "this machine has");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "100000000,100000000"}, "this machine has");
  ExpectUpsample({"--shape", "1,2,2", "--size", "1,1"}, "[N, C, H, W]");
  ExpectUpsample({"--shape", "1,1,2,2"}, "--size, --scale");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1,1"},
                 "has 2 spatial axes: wanted one for each, or one for all");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "0,1"}, "gradInput");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--scale", "1,2,3"}, "--scale: 3 values");
}

TEST_F(BadInputTest, NumbersThatAreNotNumbers) {
  const Arguments shape = {"--shape", "1,1,2,2", "--scale"};
  for (const std::string scale : {"nan", "inf", "-inf", "two", "1e999", "2x", ""}) {
    ExpectUpsample({"--shape", "1,1,2,2", "--scale=" + scale}, "--scale");
  }
  ExpectUpsample({"--shape", "1,1,2,2", "--scale", "0"}, "not above 0");
  ExpectUpsample({"--shape", "1,1,2,2", "--scale=-2"}, "not above 0");
  ExpectUpsample({"--shape", "1,1,2,2", "--scale", "1e-300"}, "too large");
  ExpectUpsample({"--grad-output", "random:x", "--shape", "1,1,2,2", "--size", "1,1"}, "seed");
  ExpectUpsample({"--grad-output", "random:-1", "--shape", "1,1,2,2", "--size", "1,1"}, "seed");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--range", "0"}, "--range");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--range", "1,nan"}, "--range");
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--range", "1,1"}, "LOW must be below");
}

TEST_F(BadInputTest, GridsThatAreMalformed) {
  const auto grid = [&](const std::string& word, const std::string& message) {
    ExpectSampler({"--input", "g.npy", "--grid", word}, message);
  };
  grid("rotate", "a value is missing");
  grid("rotate:", "--grid rotate");
  grid("rotate:nan", "not a finite number");
  grid("lens:inf", "not a finite number");
  grid("random:1.5", "seed");
  grid("spiral:3", "--grid spiral:3");
  for (const std::string word : {"spiral:3", "identity:1", "rotated", "x.txt"}) {
    grid(word, "wanted identity, rotate:DEGREES, lens:STRENGTH, random:SEED or a .npy");
  }
  grid("three.npy", "--grid: wanted [N, OH, OW, 2]");
  grid("half.npy", "holds float16, but float32 is wanted");
  ExpectSampler({"--input", "g.npy"}, "--grid is needed");
  ExpectSampler({"--grid", "identity"}, "--input is needed");
  ExpectSampler({"--input", "g.npy", "--grid", "grid.npy", "--size", "2,2"}, "is wanted");
  ExpectSampler({"--input", "g.npy", "--grid", "identity", "--size", "2,2,2"}, "--size: 3 values");
  ExpectSampler({"--input", "g.npy", "--grid", "identity", "--grad-output", "grid.npy"},
                "is wanted");
}

TEST_F(BadInputTest, ModesThatDoNotExist) {
  const Arguments base = {"--input", "g.npy", "--grid", "identity"};
  const auto with = [&](const std::string& option, const std::string& value) {
    Arguments arguments = base;
    arguments.insert(arguments.end(), {option, value});
    ExpectSampler(arguments, option);
  };
  with("--interpolation", "linear");
  with("--padding", "wrap");
  with("--mask", "1");
  with("--mask", "1,2");
  with("--mask", "1,0,1");
  with("--profile", "atlas-9");
  with("--threads", "0");
  with("--threads", "-1");
  with("--threads", "99999999999");
  with("--repeat", "0");
  with("--repeat", "x");
}

TEST_F(BadInputTest, OptionsOfTheOtherOperatorAreNotIgnored) {
  ExpectUpsample({"--size", "1,1", "--grid", "identity"}, "--grid does not apply");
  ExpectUpsample({"--size", "1,1", "--input", "g.npy"}, "--input does not apply");
  ExpectUpsample({"--size", "1,1", "--align-corners"}, "--align-corners does not apply");
  ExpectUpsample({"--size", "1,1", "--padding", "zeros"}, "--padding does not apply");
  ExpectUpsample({"--size", "1,1", "--interpolation", "nearest"}, "--interpolation does not apply");
  ExpectUpsample({"--size", "1,1", "--mask", "1,0"}, "--mask does not apply");
  ExpectUpsample({"--size", "1,1", "--grid-grad", "x.npy"}, "--grid-grad does not apply");
  ExpectSampler({"--scale", "2"}, "--scale does not apply");
  ExpectSampler({"--grad-input", "x.npy"},
                "--grad-input does not apply to grid_sampler_2d_backward; it reads --grad-output, "
                "--input, --grid and writes --input-grad, --grid-grad");
  Expect({"run", "affine_grid", "--theta", "ones", "-o", "x.npy"}, {},
         "--output does not apply to affine_grid; it reads --theta and writes --grid");
  Expect({"run", "grid_sampler_2d_backward", "--input", "random:1", "--grid", "random:2",
          "--grad-output", "random:3", "--shape", "1,1,4,4", "--padding", "circular"},
         {},
         "'circular' is not one of zeros, border, reflection; "
         "grid_sampler_2d_padded_backward has it");
}

TEST_F(BadInputTest, ImplementationsThatDoNotExistAreListed) {
  ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--impl", "abacus"},
                 "--impl: 'abacus' is not one of ");
  const Outcome outcome =
      Run({"run", "upsample_nearest_exact2d_backward", "--shape", "1,1,2,2", "--size", "1,1"},
          "PORTACL_IMPL=abacus");
  ExpectBadInput(outcome, "abacus");
}

TEST_F(BadInputTest, ResultsThatHaveNoPlace) {
  const auto write = [&](const std::string& file, const std::string& message) {
    ExpectUpsample({"--shape", "1,1,2,2", "--size", "1,1", "--grad-input", file}, message);
  };
  write("out.txt", ".npy, .bin, .png or .jpg");
  write("out", ".npy, .bin, .png or .jpg");
  write("no/such/folder/out.npy", "cannot be written");
  ExpectUpsample({"--shape", "2,1,2,2", "--size", "1,1", "--grad-input", "out.png"},
                 "does not make a picture");
  ExpectUpsample({"--shape", "1,2,2,2", "--size", "1,1", "--grad-input", "out.png"},
                 "does not make a picture");
  ExpectSampler(
      {"--input", "ones", "--shape", "2,1,2,2", "--grid", "identity", "--grid-grad", "o.png"},
      "does not make a picture");
  ExpectSampler({"--input", "g.npy", "--grid", "identity", "--mask", "1,0", "--grid-grad", "o.npy"},
                "the mask leaves gridGrad out");
  ExpectSampler(
      {"--input", "g.npy", "--grid", "identity", "--mask", "0,1", "--input-grad", "o.npy"},
      "the mask leaves inputGrad out");
  ExpectSampler(
      {"--input", "g.npy", "--grid", "identity", "--input-grad", "o.npy", "--grid-grad", "./o.npy"},
      "--input-grad and --grid-grad are the same file");
  ExpectBadInput(Run({"demo", "g.npy"}), "g.npy");
}

TEST_F(BadInputTest, DiskAndPipeFailuresAreRuntimeErrors) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Outcome full = Run({"info"}, "", "> /dev/full");
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.err, testing::HasSubstr("standard output"));
  std::filesystem::create_symlink("/dev/full", folder_ / "full.npy");
  const Outcome disk = Run({"run", "upsample_nearest_exact2d_backward", "--shape", "1,1,2,2",
                            "--size", "1,1", "--grad-input", "full.npy"});
  EXPECT_EQ(disk.exit_code, 3);
  EXPECT_THAT(disk.err, testing::HasSubstr("full.npy: writing failed"));
}

}  // namespace
}  // namespace portacl::cli_test
