// `portacl run`: results, sources, modes, profiles and what is printed.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>
#include <span>

#include "cli/cli_runner.h"
#include "src/ops/operator_list.h"

namespace portacl::cli_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunTest : public CliTest {
 protected:
  // gradOutput 0..7 in a 4 x 2 picture.
  void WriteCounting() const {
    Write("g.npy", NpyFile("<f4", "(1, 1, 4, 2)", Bytes<float>({0, 1, 2, 3, 4, 5, 6, 7})));
  }
};

// FNV-1a over bytes, written apart from the program's.
std::string Fnv1a(const std::string& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211u;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::vector<float> ExpectedOfCounting() {
  std::vector<float> expected(32, 0.0f);
  expected[0] = 6;
  expected[4] = 22;
  return expected;
}

TEST_F(RunTest, UpsampleGivesTheDocumentedExampleThroughEveryApi) {
  WriteCounting();
  for (const std::string op :
       {"upsample_nearest_exact2d_backward", "aclnnUpsampleNearestExact2dBackward",
        "upsample_nearest_exact2d_grad", "UpsampleNearestExact2dGrad"}) {
    for (const std::string profile : {"native", "atlas-a2", "atlas-a3", "open"}) {
      const Outcome outcome = Run({"run", op, "--grad-output", "g.npy", "--size", "8,4", "--scale",
                                   "2", "--profile", profile, "--grad-input", "out.npy"});
      ASSERT_EQ(outcome.exit_code, 0) << op << " " << profile << ": " << outcome.err;
      EXPECT_EQ(Elements<float>(Read("out.npy")), ExpectedOfCounting()) << op << " " << profile;
      std::filesystem::remove(folder_ / "out.npy");
    }
  }
}

TEST_F(RunTest, RegionsComeFromAFile) {
  WriteCounting();
  Write("boxes.npy",
        NpyFile("<f4", "(3, 5)", Bytes<float>({0, 0, 0, 2, 4, 0, 0, 0, 2, 2, 0, 0, 2, 2, 4})));
  std::vector<std::string> words = {"run", "roi_align", "--input", "g.npy", "--boxes", "boxes.npy"};
  EXPECT_THAT(Run(words).err, HasSubstr("--pooled-height is needed: a whole number"));
  for (const char* word : {"--pooled-height", "2", "--pooled-width", "1", "--sampling-ratio", "1",
                           "--output", "out.npy"}) {
    words.emplace_back(word);
  }
  const Outcome outcome = Run(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // The bins' centres: (1, 1) and (3, 1), then half as far apart from each other.
  EXPECT_THAT(Elements<float>(Read("out.npy")), ElementsAre(3, 7, 2, 4, 6, 7));
  words[5] = "random:1";
  EXPECT_THAT(Run(words).err, HasSubstr("--boxes is needed: a file"));
  words[5] = "g.npy";
  EXPECT_THAT(Run(words).err, HasSubstr("--boxes: wanted [K, 5], but the shape is"));
}

TEST_F(RunTest, LevelsOfDeformableAttentionAreAList) {
  // Two levels of one pixel each, sampled in their middles: 3 * 10 + 5 * 20 if the levels follow
  // each other.
  Write("value.npy", NpyFile("<f4", "(1, 2, 1, 1)", Bytes<float>({10, 20})));
  Write("at.npy", NpyFile("<f4", "(1, 1, 1, 2, 1, 2)", Bytes<float>({0.5, 0.5, 0.5, 0.5})));
  Write("weights.npy", NpyFile("<f4", "(1, 1, 1, 2, 1)", Bytes<float>({3, 5})));
  const std::vector<std::string> words = {"run",         "ms_deform_attn", "--value",  "value.npy",
                                          "--locations", "at.npy",         "--output", "out.npy",
                                          "--weights",   "weights.npy"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return Run(more);
  };
  for (const std::string profile : {"native", "open"}) {
    const Outcome outcome = run({"--spatial-shapes", "1,1,1,1", "--profile", profile});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(Elements<float>(Read("out.npy")), ElementsAre(130)) << profile;
  }
  ASSERT_EQ(run({"--spatial-shapes", "1,1,1,1", "--level-start-index", "1,0"}).exit_code, 0);
  EXPECT_THAT(Elements<float>(Read("out.npy")), ElementsAre(110));
  ExpectBadInput(run({}), "--spatial-shapes is needed: whole numbers, as in 32,48,16,24");
  ExpectBadInput(run({"--spatial-shapes", "1,1,1"}),
                 "--spatial-shapes: 3 numbers, but each level has two, H and W");
  ExpectBadInput(run({"--spatial-shapes", "1,1,1,1", "--level-start-index", "0,x"}),
                 "--level-start-index");
  EXPECT_NE(run({"--spatial-shapes", "1,1,2,2"}).exit_code, 0);
  for (const std::string number : {"4294967297", "2147483648", "0", "-1"}) {
    for (const std::string profile : {"native", "open"}) {
      ExpectBadInput(run({"--spatial-shapes", number + ",1,1,1", "--profile", profile}),
                     "--spatial-shapes: " + number + " is not from 1 to 2147483647");
    }
  }
  ExpectBadInput(run({"--spatial-shapes", "65536,65536,1,1"}),
                 "--spatial-shapes: level 1 would start at 4294967296, above 2147483647");
  ExpectBadInput(run({"--spatial-shapes", "1,1,1,1", "--level-start-index", "0,4294967297"}),
                 "--level-start-index: 4294967297 is not from 0 to 2147483647");
}

TEST_F(RunTest, ExtentsOfOptionsFitInto32Bits) {
  Write("input.npy", NpyFile("<f4", "(1, 1, 2, 2)", Bytes<float>({1, 2, 3, 4})));
  Write("offset.npy", NpyFile("<f4", "(1, 2, 2, 2)", Bytes<float>({0, 0, 0, 0, 0, 0, 0, 0})));
  const auto run = [&](std::vector<std::string> more) {
    const std::vector<std::string> words = {"run",       "deformable_offsets", "--input",
                                            "input.npy", "--offset",           "offset.npy"};
    more.insert(more.begin(), words.begin(), words.end());
    return Run(more);
  };
  ASSERT_EQ(run({"--kernel-size", "1,1"}).exit_code, 0);
  const std::string wanted = " is not from 1 to 2147483647";
  ExpectBadInput(run({"--kernel-size", "9223372036854775807,2"}),
                 "--kernel-size: 9223372036854775807" + wanted);
  ExpectBadInput(run({"--kernel-size=-1,1"}), "--kernel-size: -1" + wanted);
  ExpectBadInput(run({"--kernel-size", "1,0"}), "--kernel-size: 0" + wanted);
  ExpectBadInput(run({"--kernel-size", "2147483647,2147483647"}),
                 "columns: shape [1, 1, 4294967294");
  ExpectBadInput(run({"--kernel-size", "1,1", "--offset-groups", "0"}),
                 "--offset-groups: 0" + wanted);
  WriteCounting();
  Write("boxes.npy", NpyFile("<f4", "(1, 5)", Bytes<float>({0, 0, 0, 2, 4})));
  const std::vector<std::string> words = {
      "run",       "roi_align",      "--input", "g.npy",          "--boxes",
      "boxes.npy", "--pooled-width", "1",       "--pooled-height"};
  for (const std::string number : {"0", "4294967297"}) {
    std::vector<std::string> all = words;
    all.push_back(number);
    ExpectBadInput(Run(all), "--pooled-height: " + number + wanted);
  }
  ExpectBadInput(Run({"run", "roi_align_backward", "--grad-output", "g.npy", "--boxes", "boxes.npy",
                      "--size", "8"}),
                 "--size: 1 values, but roi_align_backward has N, H, W of the input");
}

TEST_F(RunTest, APathIsForcedByTheNameThatReportsHave) {
  std::vector<std::string> words = {
      "run",     "grid_sampler_2d_backward", "--input", "random:1", "--shape", "1,3,9,7", "--grid",
      "identity"};
  const std::string path = RunJson(words).at("path");
  words.insert(words.end(), {"--impl", path});
  EXPECT_EQ(RunJson(words).at("path"), path);
  words.back() = path.substr(0, path.find(':')) + ":nonsense";
  EXPECT_EQ(Run(words).exit_code, 2);
  words.back() = "nonsense:direct";
  ExpectBadInput(Run(words), "--impl: 'nonsense' is not one of");
}

TEST_F(RunTest, AConvolutionIsMovedByAFileOfOffsets) {
  // A kernel of one tap on 2 x 2 pixels, moved by (1, 0), (0, 0), (0, -1) and (-1, -1): planes of
  // x, then of y.
  Write("input.npy", NpyFile("<f4", "(1, 1, 2, 2)", Bytes<float>({1, 2, 3, 4})));
  Write("weight.npy", NpyFile("<f4", "(1, 1, 1, 1)", Bytes<float>({10})));
  Write("bias.npy", NpyFile("<f4", "(1,)", Bytes<float>({7})));
  Write("offset.npy", NpyFile("<f4", "(1, 2, 2, 2)", Bytes<float>({1, 0, 0, -1, 0, 0, -1, -1})));
  Write("masked.npy",
        NpyFile("<f4", "(1, 3, 2, 2)", Bytes<float>({1, 0, 0, -1, 0, 0, -1, -1, 1, 2, 3, 0.5})));
  const auto run = [&](std::vector<std::string> more) {
    const std::vector<std::string> words = {"run",      "deform_conv2d", "--input",  "input.npy",
                                            "--weight", "weight.npy",    "--output", "out.npy"};
    more.insert(more.begin(), words.begin(), words.end());
    return Run(more);
  };
  for (const std::string profile : {"native", "open"}) {
    const Outcome outcome = run({"--offset", "offset.npy", "--profile", profile});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(Elements<float>(Read("out.npy")), ElementsAre(20, 20, 10, 10)) << profile;
    EXPECT_THAT(outcome.out, testing::ContainsRegex("bias .*zeros"));
    EXPECT_THAT(outcome.out, HasSubstr("masks off"));
    ASSERT_EQ(run({"--offset", "masked.npy", "--bias", "bias.npy", "--columns", "columns.npy",
                   "--profile", profile})
                  .exit_code,
              0);
    EXPECT_THAT(Elements<float>(Read("out.npy")), ElementsAre(27, 47, 37, 12)) << profile;
    EXPECT_THAT(Elements<float>(Read("columns.npy")), ElementsAre(2, 4, 3, 0.5)) << profile;
  }
  ExpectBadInput(run({"--offset", "random:1"}), "--offset is needed: a file");
  ExpectBadInput(
      Run({"run", "deform_conv2d", "--input", "random:1", "--shape", "1,1,2,2", "--weight",
           "random:2", "--offset", "offset.npy", "--output", "out.npy"}),
      "--weight random:2: its shape is not known, because --shape is the shape of --input");
  ExpectBadInput(Run({"run", "deform_conv2d_backward", "--input", "input.npy", "--weight",
                      "weight.npy", "--offset", "offset.npy", "--input-grad", "out.npy"}),
                 "--columns is needed: the file that deform_conv2d --columns FILE wrote");
  ExpectBadInput(run({"--offset", "offset.npy", "--stride", "1,1,1"}),
                 "--stride: 3 numbers, wanted 1 or 2");
  ExpectBadInput(run({"--offset", "offset.npy", "--padding", "zeros"}),
                 "--padding: 'zeros' is not an integer; wanted integers with commas");
  Write("weight.bin", Bytes<float>({10}));
  ExpectBadInput(Run({"run", "deform_conv2d", "--input", "input.npy", "--weight", "weight.bin",
                      "--offset", "offset.npy"}),
                 "--weight weight.bin: its shape is not known, because --shape is the shape of "
                 "--input; give a .npy file");
  EXPECT_NE(run({"--offset", "offset.npy", "--stride", "2"}).exit_code, 0);
}

TEST_F(RunTest, ANameWithoutARankTakesTheRankOfTheTensors) {
  const auto run = [&](const std::string& op, const std::string& shape, const std::string& size) {
    const auto report =
        RunJson({"run", op, "--shape", shape, "--size", size, "--grad-input", "out.npy"});
    return report.value("operator", "") + " " +
           TensorNamed(report, "grad_input").at("shape").dump();
  };
  EXPECT_EQ(run("upsample_nearest_exact_backward", "2,3,8", "4"),
            "upsample_nearest_exact1d_backward [2,3,4]");
  EXPECT_EQ(run("upsample_nearest_exact_backward", "1,3,8,6", "4,3"),
            "upsample_nearest_exact2d_backward [1,3,4,3]");
  EXPECT_EQ(RunJson({"run", "grid_sampler_backward", "--input", "ones", "--shape", "1,1,4,4",
                     "--grid", "identity"})
                .value("operator", ""),
            "grid_sampler_2d_backward");
  ExpectBadInput(Run({"run", "upsample_nearest_exact_backward", "--shape", "8,8", "--size", "4"}),
                 "takes [N, C, L] or [N, C, H, W] or [N, C, D, H, W], but the shape is [8, 8]");
}

TEST_F(RunTest, TheApiThatWasCalledIsNamed) {
  WriteCounting();
  const auto api = [&](const std::string& op, const std::string& profile) {
    return RunJson({"run", op, "--grad-output", "g.npy", "--size", "2,1", "--profile", profile})
        .value("api", "");
  };
  EXPECT_EQ(api("upsample_nearest_exact2d_backward", "native"), "native C++ API");
  EXPECT_EQ(api("upsample_nearest_exact2d_backward", "open"),
            "aclnnUpsampleNearestExact2dBackward");
  EXPECT_EQ(api("upsample_nearest_exact2d_grad", "open"),
            "aclopCompileAndExecute UpsampleNearestExact2dGrad");
}

TEST_F(RunTest, GraphNamesGiveTheBitsOfTheirAclnnFunctions) {
  struct Row {
    std::string graph, aclnn;
    std::vector<std::string> options;
    std::vector<std::string> outputs;
  };
  const std::vector<std::string> points = {"--input",   "random:1", "--grad-output",  "random:2",
                                           "--padding", "border",   "--align-corners"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), points.begin(), points.end());
    return more;
  };
  const std::vector<Row> rows = {
      {"UpsampleNearestExact2dGrad",
       "aclnnUpsampleNearestExact2dBackward",
       {"--grad-output", "random:1", "--shape", "2,3,8,9", "--size", "4,3", "--scale", "2,3"},
       {"grad_input"}},
      {"UpsampleNearestExact3dGrad",
       "aclnnUpsampleNearestExact3dBackward",
       {"--grad-output", "random:1", "--shape", "1,2,4,8,9", "--size", "2,4,3", "--scale", "2,2,3"},
       {"grad_input"}},
      {"GridSampler2DGrad",
       "aclnnGridSampler2DBackward",
       with({"--shape", "2,3,8,9", "--grid", "rotate:20"}),
       {"input_grad", "grid_grad"}},
      {"GridSampler3DGrad",
       "aclnnGridSampler3DBackward",
       with({"--shape", "1,2,4,8,9", "--grid", "random:3", "--interpolation", "nearest"}),
       {"input_grad", "grid_grad"}}};
  for (const Row& row : rows) {
    const auto report = [&](const std::string& op) {
      std::vector<std::string> arguments = {"run", op};
      arguments.insert(arguments.end(), row.options.begin(), row.options.end());
      return RunJson(arguments);
    };
    const auto want = report(row.aclnn), got = report(row.graph);
    EXPECT_EQ(got.value("api", ""), "aclopCompileAndExecute " + row.graph);
    for (const std::string& output : row.outputs) {
      EXPECT_EQ(TensorNamed(got, output), TensorNamed(want, output)) << row.graph;
    }
  }
  ExpectBadInput(Run({"run", "GridSampler2DGrad", "--input", "ones", "--shape", "1,1,4,4", "--grid",
                      "identity", "--mask", "1,0"}),
                 "--mask does not apply to GridSampler2DGrad");
}

// Operators without an aclnn function run by graph name too. The vendor's axes of rotated rois
// stand in another order.
TEST_F(RunTest, GraphNamesWithoutAnAclnnFunctionGiveTheBitsOfTheNativeApi) {
  Write("rois.npy",
        NpyFile("<f4", "(2, 6)", Bytes<float>({0, 4, 3, 5, 2, 0.5F, 0, 2, 5, 3, 4, -0.25F})));
  Write("grad.npy", NpyFile("<f4", "(2, 1, 2, 2)", Bytes<float>({1, 2, 3, 4, 5, 6, 7, 8})));
  Write("offset.npy",
        NpyFile("<f4", "(1, 3, 2, 2)",
                Bytes<float>({0.5F, -1, 0.25F, 2, 1, 0, -0.5F, 0.75F, 1, 0.5F, 0.25F, 2})));
  Write("columns.npy", NpyFile("<f4", "(1, 2, 2, 2)", Bytes<float>({1, 2, 3, 4, 5, 6, 7, 8})));
  struct Row {
    std::string graph, native;
    std::vector<std::string> options, outputs;
  };
  const std::vector<std::string> bins = {"--boxes",        "rois.npy", "--pooled-height",  "2",
                                         "--pooled-width", "2",        "--sampling-ratio", "2"};
  const std::vector<std::string> image = {"--input",  "random:1",   "--shape",       "1,2,2,2",
                                          "--offset", "offset.npy", "--kernel-size", "1,1"};
  const auto with = [](std::vector<std::string> these, const std::vector<std::string>& more) {
    these.insert(these.end(), more.begin(), more.end());
    return these;
  };
  const std::vector<Row> rows = {{"RoiAlignRotated",
                                  "roi_align_rotated",
                                  with(bins, {"--input", "random:1", "--shape", "1,3,6,8"}),
                                  {"output"}},
                                 {"RoiAlignRotatedGrad",
                                  "roi_align_rotated_backward",
                                  with(bins, {"--grad-output", "grad.npy", "--size", "1,6,8"}),
                                  {"grad_input"}},
                                 {"DeformableOffsets", "deformable_offsets", image, {"columns"}},
                                 {"DeformableOffsetsGrad",
                                  "deformable_offsets_backward",
                                  with(image, {"--grad-output", "columns.npy"}),
                                  {"input_grad", "offset_grad"}}};
  for (const Row& row : rows) {
    const auto got = RunJson(with({"run", row.graph}, row.options));
    const auto want = RunJson(with({"run", row.native}, row.options));
    EXPECT_EQ(got.value("api", ""), "aclopCompileAndExecute " + row.graph);
    EXPECT_EQ(want.value("api", ""), "native C++ API");
    for (const std::string& output : row.outputs) {
      EXPECT_EQ(TensorNamed(got, output), TensorNamed(want, output)) << row.graph;
    }
  }
}

// The symbols of a tensor's extents, with as many axes for "*".
std::vector<std::string> SymbolsOf(const ops::Parameter& tensor, size_t axes) {
  static const std::vector<std::string> kAxes[] = {{"L"}, {"H", "W"}, {"D", "H", "W"}};
  std::vector<std::string> symbols;
  for (size_t i = 0; i < ops::PartsOf(tensor); ++i) {
    const std::string part(ops::PartOf(tensor, i));
    if (part.back() != '*') {
      symbols.push_back(part);
      continue;
    }
    for (const std::string& axis : kAxes[axes - 1]) {
      symbols.push_back(part.substr(0, part.size() - 1) + axis);
    }
  }
  return symbols;
}

std::string Extents(const std::vector<std::string>& symbols) {
  static const std::map<std::string, std::string> kExtents = {
      {"N", "2"}, {"C", "3"},  {"L", "4"},  {"D", "2"},  {"H", "4"},
      {"W", "3"}, {"OL", "9"}, {"OD", "3"}, {"OH", "9"}, {"OW", "6"}};
  std::string text;
  for (const std::string& symbol : symbols) text += "," + kExtents.at(symbol);
  return text.substr(1);
}

// Options for a call of an operator, from the list: its arrays, the shape of the first array that
// is not a gradient of the others, and the size that arrays do not give.
std::vector<std::string> OptionsFor(const std::string& op, size_t axes) {
  if (op == "affine_grid") return {"--theta", "random:1", "--shape", "2,2,3", "--size", "4,3"};
  if (op == "affine_grid_backward") return {"--grid-grad", "random:1", "--shape", "2,4,3,2"};
  const auto* const function = *std::find_if(
      std::begin(ops::kNativeFunctions), std::end(ops::kNativeFunctions),
      [&](const ops::Signature* native) { return ops::RowOf(native->op).name == op; });
  std::vector<std::string> options, told, shape, size;
  for (const ops::Parameter& p : function->parameters) {
    const std::vector<std::string> symbols = SymbolsOf(p, axes);
    if (ops::IsInput(p.kind)) {
      options.push_back("--");
      for (const char* c = p.name; *c != '\0'; ++c) {  // "gradOutput" is --grad-output
        if (std::isupper(*c) != 0) options.back() += '-';
        options.back() += static_cast<char>(std::tolower(*c));
      }
      options.push_back("random:" + std::to_string(options.size()));
      if (shape.empty() || p.name == std::string("input")) shape = symbols;
      if (p.kind == ops::Kind::kGrid) size.assign(symbols.begin() + 1, symbols.end() - 1);
      told.insert(told.end(), symbols.begin(), symbols.end());
    }
    for (const std::string& symbol : symbols) {
      const bool open =
          ops::IsWritten(p.kind) && std::find(told.begin(), told.end(), symbol) == told.end();
      if (open) size.push_back(symbol);
    }
  }
  options.insert(options.end(), {"--shape", Extents(shape)});
  if (!size.empty()) options.insert(options.end(), {"--size", Extents(size)});
  return options;
}

// Or rois, or lists of strides.
bool TakesIndices(const std::string& op) {
  const auto is_index = [](const ops::Parameter& p) {
    return p.dtypes == &ops::kIndices || p.name == std::string_view("boxes") ||
           p.name == std::string_view("kernelSize");
  };
  return std::any_of(std::begin(ops::kNativeFunctions), std::end(ops::kNativeFunctions),
                     [&](const ops::Signature* native) {
                       return ops::RowOf(native->op).name == op &&
                              std::any_of(native->parameters.begin(), native->parameters.end(),
                                          is_index);
                     });
}

// The spatial axes of the function or graph operator of a name; 2 where it leaves them open.
size_t AxesOf(const std::string& function, const std::string& op) {
  for (const auto& table : {std::span<const ops::Signature* const>(ops::kAclnnFunctions),
                            std::span<const ops::Signature* const>(ops::kGraphOperators)}) {
    for (const ops::Signature* const row : table) {
      if (row->name == function && row->traits.axes > 0) return row->traits.axes;
    }
  }
  return op.find("3d") != std::string::npos ? 3 : 2;
}

TEST_F(RunTest, EveryNameGivesTheSameBitsThroughItsOwnApiAndThroughTheNativeOne) {
  size_t graphs = 0, functions = 0;
  const auto info = RunJson({"info"});
  for (const auto& entry : info.at("names")) {
    const std::string name = entry.at("name"), op = entry.at("operator");
    if (TakesIndices(op)) continue;  // portacl run loads none
    const auto report = [&](const std::string& profile) {
      std::vector<std::string> arguments = {"run", name, "--profile", profile};
      const std::vector<std::string> options = OptionsFor(op, AxesOf(entry.at("also"), op));
      arguments.insert(arguments.end(), options.begin(), options.end());
      return RunJson(arguments);
    };
    const auto native = report("native");
    EXPECT_EQ(native.value("operator", ""), name);
    if (entry.at("also") == "") continue;  // the aclnn API lacks it
    const auto own = report("open");
    EXPECT_EQ(own.at("outputs"), native.at("outputs")) << name;
    const std::string api = own.at("api"), also = entry.at("also");
    EXPECT_TRUE(api.ends_with(also)) << name << ": " << api;
    ++(api == also ? functions : graphs);
  }
  EXPECT_GE(functions, 30u);
  EXPECT_GE(graphs, 25u);
}

TEST_F(RunTest, InputsSayWhatTheyAreMadeOf) {
  WriteCounting();
  const std::vector<std::string> sampler = {
      "run", "grid_sampler_2d_backward", "--input", "g.npy", "--grid", "random:7", "--mask", "0,1"};
  const auto report = RunJson(sampler);
  EXPECT_EQ(TensorNamed(report, "grad_output").value("source", ""), "ones");
  EXPECT_EQ(TensorNamed(report, "input").value("source", ""), "g.npy");
  EXPECT_EQ(TensorNamed(report, "grid").value("source", ""), "random:7");
  EXPECT_FALSE(TensorNamed(report, "grid_grad").contains("source"));
  const std::string text = Run(sampler).out;
  for (const char* const row : {"grad_output .* ones\n", "input .* g.npy\n", "random:7\n"}) {
    EXPECT_THAT(text, testing::ContainsRegex(row));
  }
}

TEST_F(RunTest, ForwardFunctionsGiveWhatIsDocumented) {
  Write("i.npy", NpyFile("<f8", "(1, 1, 2, 2)", Bytes<double>({1, 2, 3, 4})));
  const auto of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--output", "o.npy"});
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Elements<double>(Read("o.npy"));
  };
  EXPECT_THAT(of({"upsample_nearest", "--input", "i.npy", "--size", "2,4"}),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(of({"upsample_linear", "--input", "i.npy", "--size", "2,3", "--align-corners"}),
              ElementsAre(1, 1.5, 2, 3, 3.5, 4));
  EXPECT_THAT(of({"grid_sampler", "--input", "i.npy", "--grid", "rotate:180", "--interpolation",
                  "nearest"}),
              ElementsAre(4, 3, 2, 1));
  Write("t.npy", NpyFile("<f8", "(1, 2, 3)", Bytes<double>({1, 0, 0, 0, 1, 0})));
  RunJson({"run", "affine_grid", "--theta", "t.npy", "--size", "2,2", "--grid", "g.npy"});
  EXPECT_THAT(Elements<double>(Read("g.npy")),
              ElementsAre(-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5));
}

TEST_F(RunTest, ScaleAloneGivesTheSizeOfAForwardFunction) {
  const auto shape = [&](const std::string& scale) {
    return TensorNamed(RunJson({"run", "upsample_nearest_exact2d", "--input", "ones", "--shape",
                                "1,1,5,4", "--scale", scale}),
                       "output")
        .at("shape")
        .dump();
  };
  EXPECT_EQ(shape("2"), "[1,1,10,8]");
  EXPECT_EQ(shape("1.5"), "[1,1,7,6]");
  EXPECT_EQ(shape("0.1"), "[1,1,1,1]");
}

TEST_F(RunTest, OneNumberIsTheSizeOfEveryAxis) {
  const auto shape = [&](const std::string& op, const std::string& input) {
    const auto report = RunJson({"run", op, "--input", "ones", "--shape", input, "--size", "6"});
    return TensorNamed(report, "output").at("shape");
  };
  EXPECT_EQ(shape("upsample_linear", "1,1,4,8"), nlohmann::json({1, 1, 6, 6}));
  EXPECT_EQ(shape("upsample_nearest", "1,1,4,8,2"), nlohmann::json({1, 1, 6, 6, 6}));
  const auto grid = RunJson({"run", "grid_sampler_2d", "--input", "ones", "--shape", "1,1,4,8",
                             "--grid", "identity", "--size", "6"});
  EXPECT_EQ(TensorNamed(grid, "output").at("shape"), nlohmann::json({1, 1, 6, 6}));
  RunJson({"run", "upsample_linear", "--input", "ones", "--shape", "1,1,2", "--size", "4", "-o",
           "line.npy"});
  EXPECT_EQ(Elements<float>(Read("line.npy")), std::vector<float>(4, 1));
}

TEST_F(RunTest, AntialiasChoosesTheFunctionOfANameWithoutARank) {
  const auto run = [&](const std::string& op, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",     op,        "--input", "random:1",
                                          "--shape", "1,1,8,8", "--size",  "3,3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments);
  };
  const auto plain = run("upsample_linear", {}), smooth = run("upsample_linear", {"--antialias"});
  EXPECT_EQ(plain.value("operator", ""), "upsample_bilinear2d");
  EXPECT_EQ(smooth.value("operator", ""), "upsample_bilinear2d_aa");
  EXPECT_EQ(smooth.at("outputs"), run("upsample_bilinear2d_aa", {}).at("outputs"));
  EXPECT_NE(smooth.at("outputs"), plain.at("outputs"));
  for (const char* const op : {"upsample_bilinear2d", "upsample_nearest"}) {
    ExpectBadInput(
        Run({"run", op, "--input", "ones", "--shape", "1,1,8,8", "--size", "3,3", "--antialias"}),
        "--antialias does not apply");
  }
}

TEST_F(RunTest, AnOperatorThatTheAclnnApiLacksSaysSo) {
  ExpectBadInput(Run({"run", "affine_grid_backward", "--grid-grad", "ones", "--shape", "1,2,2,2",
                      "--profile", "open"}),
                 "affine_grid_backward is not in the aclnn API");
}

TEST_F(RunTest, TheDefaultProfileIsThatOfTheEnvironmentOrOfTheName) {
  WriteCounting();
  const auto profile = [&](const std::string& op, const std::string& prefix) {
    const Outcome outcome =
        Run({"run", op, "--grad-output", "g.npy", "--size", "2,1", "--json"}, prefix);
    return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out).value("profile", "")
                                  : outcome.err;
  };
  EXPECT_EQ(profile("upsample_nearest_exact2d_backward", ""), "native");
  EXPECT_EQ(profile("aclnnUpsampleNearestExact2dBackward", ""), "atlas-a2");
  EXPECT_EQ(profile("upsample_nearest_exact2d_backward", "PORTACL_PROFILE=open"), "open");
  EXPECT_EQ(profile("aclnnUpsampleNearestExact2dBackward", "PORTACL_PROFILE=native"), "native");
  EXPECT_THAT(profile("upsample_nearest_exact2d_backward", "PORTACL_PROFILE=atlas-training"),
              testing::HasSubstr("161002"));
  EXPECT_THAT(profile("upsample_nearest_exact2d_backward", "PORTACL_PROFILE=x"),
              testing::HasSubstr("PORTACL_PROFILE: 'x' is not one of native"));
}

TEST_F(RunTest, ProfilesDecideWhatIsAccepted) {
  WriteCounting();
  ExpectBadInput(Run({"run", "upsample_nearest_exact2d_backward", "--grad-output", "g.npy",
                      "--size", "2,1", "--profile", "atlas-training"}),
                 "161002");
  ExpectBadInput(Run({"run", "upsample_nearest_exact2d_grad", "--grad-output", "g.npy", "--size",
                      "2,1", "--profile", "atlas-training"}),
                 "100024");
  const std::vector<std::string> bicubic = {
      "run",      "grid_sampler_2d_backward", "--input", "random:1", "--shape", "1,1,4,4", "--grid",
      "random:2", "--interpolation",          "bicubic", "--profile"};
  auto with = bicubic;
  with.emplace_back("atlas-a2");
  ExpectBadInput(Run(with), "161002");
  with.back() = "open";
  EXPECT_EQ(Run(with).exit_code, 0);
}

TEST_F(RunTest, Upsample1dSumsEachSignal) {
  Write("g.npy", NpyFile("<f8", "(1, 2, 4)", Bytes<double>({1, 2, 3, 4, 10, 20, 30, 40})));
  ASSERT_EQ(Run({"run", "upsample_nearest_exact1d_backward", "--grad-output", "g.npy", "--size",
                 "2", "--grad-input", "out.npy"})
                .exit_code,
            0);
  EXPECT_THAT(Elements<double>(Read("out.npy")), ElementsAre(3, 7, 30, 70));
}

TEST_F(RunTest, ScaleAloneGivesTheSize) {
  const auto shape = [&](const std::string& from, const std::string& scale) {
    return TensorNamed(RunJson({"run", "upsample_nearest_exact2d_backward", "--shape", from,
                                "--scale", scale}),
                       "grad_input")
        .at("shape")
        .dump();
  };
  EXPECT_EQ(shape("1,2,8,6", "2"), "[1,2,4,3]");
  EXPECT_EQ(shape("1,2,8,6", "2,3"), "[1,2,4,2]");
  EXPECT_EQ(shape("1,2,256,256", "1.6"), "[1,2,160,160]");
  EXPECT_EQ(shape("1,1,7,7", "2"), "[1,1,4,4]");  // floor(4 * 2) >= 7
  EXPECT_EQ(shape("1,1,1,1", "8"), "[1,1,1,1]");  // never below 1
  EXPECT_EQ(shape("1,1,4,4", "0.5"), "[1,1,8,8]");
}

TEST_F(RunTest, GridIdentityGivesGradOutputBack) {
  Write("g.npy", NpyFile("<f8", "(1, 1, 2, 3)", Bytes<double>({1, 2, 3, 4, 5, 6})));
  for (const std::string align : {"", "--align-corners"}) {
    std::vector<std::string> arguments = {"run",
                                          "grid_sampler_2d_backward",
                                          "--input",
                                          "random:1",
                                          "--shape",
                                          "1,1,2,3",
                                          "--dtype",
                                          "double",
                                          "--grid",
                                          "identity",
                                          "--grad-output",
                                          "g.npy",
                                          "--interpolation",
                                          "nearest",
                                          "--input-grad",
                                          "out.npy"};
    if (!align.empty()) arguments.push_back(align);
    ASSERT_EQ(Run(arguments).exit_code, 0);
    EXPECT_THAT(Elements<double>(Read("out.npy")), ElementsAre(1, 2, 3, 4, 5, 6)) << align;
  }
}

// In a picture that was turned left by 90 degrees, the sample at (row, column) comes from (column,
// last - row).
TEST_F(RunTest, GridRotateTurnsCounterClockwise) {
  Write("g.npy", NpyFile("<f8", "(1, 1, 3, 3)", Bytes<double>({1, 2, 3, 4, 5, 6, 7, 8, 9})));
  ASSERT_EQ(Run({"run", "grid_sampler_2d_backward", "--input", "ones", "--shape", "1,1,3,3",
                 "--dtype", "fp64", "--grid", "rotate:90", "--grad-output", "g.npy",
                 "--interpolation", "nearest", "--input-grad", "out.npy"})
                .exit_code,
            0);
  EXPECT_THAT(Elements<double>(Read("out.npy")), ElementsAre(7, 4, 1, 8, 5, 2, 9, 6, 3));
}

TEST_F(RunTest, GridLensKeepsTheCentreAndMovesTheCorners) {
  const auto sum = [&](const std::string& strength) {
    EXPECT_EQ(Run({"run", "grid_sampler_2d_backward", "--input", "ones", "--shape", "1,1,5,5",
                   "--dtype", "fp64", "--grid", "lens:" + strength, "--interpolation", "nearest",
                   "--input-grad", "out.npy"})
                  .exit_code,
              0);
    const std::vector<double> weights = Elements<double>(Read("out.npy"));
    EXPECT_GE(weights[12], 1) << "centre";
    double total = 0;
    for (const double weight : weights) total += weight;
    return total;
  };
  EXPECT_EQ(sum("0"), 25);
  EXPECT_LT(sum("1"), 25) << "a barrel looks past the corners";
  EXPECT_EQ(sum("-0.2"), 25) << "a pincushion stays inside";
}

TEST_F(RunTest, MadeDataDependsOnTheSeedAlone) {
  const auto checksum = [&](const std::string& seed) {
    return TensorNamed(RunJson({"run", "upsample_nearest_exact2d_backward", "--grad-output",
                                "random:" + seed, "--shape", "1,1,8,8", "--size", "4,4"}),
                       "grad_output")
        .value("checksum", "");
  };
  EXPECT_EQ(checksum("1"), checksum("1"));
  EXPECT_NE(checksum("1"), checksum("2"));
}

TEST_F(RunTest, ChecksumIsFnv1aOverTheElementsBytes) {
  WriteCounting();
  const auto report = RunJson({"run", "upsample_nearest_exact2d_backward", "--grad-output", "g.npy",
                               "--size", "8,4", "--scale", "2"});
  EXPECT_EQ(TensorNamed(report, "grad_output").value("checksum", ""),
            Fnv1a(Bytes<float>({0, 1, 2, 3, 4, 5, 6, 7})));
  EXPECT_EQ(TensorNamed(report, "grad_input").value("checksum", ""),
            Fnv1a(Bytes(ExpectedOfCounting())));
}

TEST_F(RunTest, FileNamesThatAreNotUtf8GiveValidJson) {
  const std::string name = "o\xff.bin";
  const auto report = RunJson({"run", "upsample_nearest_exact2d_backward", "--shape", "1,1,2,2",
                               "--size", "1,1", "--grad-input", name});
  EXPECT_EQ(TensorNamed(report, "grad_input").value("file", ""), "o\xef\xbf\xbd.bin");
  EXPECT_EQ(Read(name).size(), sizeof(float));
}

TEST_F(RunTest, ChecksumTakesEveryNanForTheSame) {
  const auto checksum = [&](const std::string& dtype, const std::string& bytes) {
    Write("g.bin", bytes);
    return TensorNamed(RunJson({"run", "upsample_nearest_exact2d_backward", "--grad-output",
                                "g.bin", "--dtype", dtype, "--shape", "1,1,1,1", "--size", "1,1"}),
                       "grad_output")
        .value("checksum", "");
  };
  EXPECT_EQ(checksum("float32", Bytes<uint32_t>({0xFFC12345})),
            Fnv1a(Bytes<uint32_t>({0x7FC00000})));
  EXPECT_EQ(checksum("float16", Bytes<uint16_t>({0xFE01})), Fnv1a(Bytes<uint16_t>({0x7E00})));
  EXPECT_EQ(checksum("bf16", Bytes<uint16_t>({0xFFC1})), Fnv1a(Bytes<uint16_t>({0x7FC0})));
  EXPECT_EQ(checksum("double", Bytes<uint64_t>({0xFFF8000000000001})),
            Fnv1a(Bytes<uint64_t>({0x7FF8000000000000})));
  EXPECT_EQ(checksum("float32", Bytes<uint32_t>({0x80000000})),
            Fnv1a(Bytes<uint32_t>({0x80000000})))
      << "-0 stays -0";
}

TEST_F(RunTest, EveryDataTypeGoesThroughRawFiles) {
  const std::vector<std::pair<std::string, size_t>> types = {
      {"float32", 4}, {"float16", 2}, {"bfloat16", 2}, {"float64", 8}};
  for (const auto& [dtype, size] : types) {
    const std::vector<std::string> arguments = {"run",           "grid_sampler_2d_backward",
                                                "--input",       "random:1",
                                                "--shape",       "2,3,6,5",
                                                "--dtype",       dtype,
                                                "--grid",        "random:2",
                                                "--size",        "4,7",
                                                "--grad-output", "random:3",
                                                "--input-grad",  "a.bin",
                                                "--grid-grad",   "b.bin"};
    const auto report = RunJson(arguments);
    EXPECT_EQ(Read("a.bin").size(), 2 * 3 * 6 * 5 * size) << dtype;
    EXPECT_EQ(Read("b.bin").size(), 2 * 4 * 7 * 2 * size) << dtype;
    EXPECT_EQ(TensorNamed(report, "input_grad").value("dtype", ""), dtype);
    EXPECT_EQ(TensorNamed(report, "input_grad").value("checksum", ""), Fnv1a(Read("a.bin")));
  }
}

TEST_F(RunTest, BytesGoThroughTheFunctionsThatCopyThem) {
  const std::string bytes = Bytes<uint8_t>({0, 127, 128, 255});
  Write("in.npy", NpyFile("|u1", "(1, 1, 2, 2)", bytes));
  Write("in.bin", bytes);
  const std::string wide = Bytes<uint8_t>({0, 0, 127, 127, 128, 128, 255, 255});
  for (const std::string file : {"in.npy", "in.bin"}) {
    for (const std::string op : {"aclnnUpsampleNearest2d", "upsample_nearest2d_v2"}) {
      const auto report = RunJson({"run", op, "--input", file, "--dtype", "uint8", "--shape",
                                   "1,1,2,2", "--size", "2,4", "--output", "out.npy"});
      EXPECT_EQ(report.value("profile", ""), op[0] == 'a' ? "atlas-a2" : "native");
      EXPECT_EQ(TensorNamed(report, "output").value("dtype", ""), "uint8");
      EXPECT_EQ(TensorNamed(report, "output").value("checksum", ""), Fnv1a(wide));
      EXPECT_THAT(Read("out.npy"), HasSubstr("'descr': '|u1'"));
      EXPECT_EQ(Bytes(Elements<uint8_t>(Read("out.npy"))), wide);
    }
  }
}

TEST_F(RunTest, PicturesGoInAndOutAsBytes) {
  const std::string bytes = Bytes<uint8_t>({0, 1, 127, 128, 254, 255});
  Write("in.npy", NpyFile("|u1", "(1, 1, 2, 3)", bytes));
  for (const auto& [from, to] :
       {std::pair("in.npy", "a.png"), std::pair("a.png", "b.png"), std::pair("b.png", "c.bin")}) {
    const Outcome outcome = Run({"run", "aclnnUpsampleNearest2d", "--input", from, "--dtype",
                                 "uint8", "--size", "2,3", "--output", to});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(Read("c.bin"), bytes + bytes + bytes);  // pictures are written in colour
}

TEST_F(RunTest, MadeBytesHaveEveryValue) {
  ASSERT_EQ(Run({"run", "aclnnUpsampleNearest2d", "--input", "random:5", "--shape", "1,4,64,64",
                 "--dtype", "uint8", "--size", "64,64", "--output", "out.bin"})
                .exit_code,
            0);
  const std::string out = Read("out.bin");
  EXPECT_EQ(std::set<char>(out.begin(), out.end()).size(), 256u);
}

TEST_F(RunTest, WhatTakesNoBytesSaysSo) {
  for (const std::string op : {"aclnnUpsampleBilinear2d", "aclnnUpsampleNearestExact2d"}) {
    ExpectBadInput(Run({"run", op, "--input", "ones", "--shape", "1,1,2,2", "--dtype", "uint8",
                        "--size", "2,4"}),
                   "has dtype UINT8, but must be FLOAT");
  }
}

// By hand: the numbers of a row of four, halved. Rounded halves up, as PyTorch and Pillow do.
TEST_F(RunTest, OneApiResizesPicturesAsBytes) {
  Write("in.npy", NpyFile("|u1", "(1, 1, 1, 4)", Bytes<uint8_t>({0, 255, 10, 11})));
  const std::vector<std::string> run = {"run",      "upsample_linear", "--input", "in.npy",
                                        "--dtype",  "uint8",           "--size",  "1,2",
                                        "--output", "out.npy"};
  const auto report = RunJson(run);
  EXPECT_EQ(report.value("profile", ""), "native");
  EXPECT_EQ(Bytes(Elements<uint8_t>(Read("out.npy"))), Bytes<uint8_t>({128, 11}));
  for (const std::string exact : {"pillow", "pillow<13"}) {
    std::vector<std::string> as_pillow = run;
    as_pillow.insert(as_pillow.end(), {"--exact", exact});
    const Outcome outcome = Run(as_pillow);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("antialias on, exact " + exact));
    // Three elements each, with weights 3/7, 3/7 and 1/7.
    EXPECT_EQ(Bytes(Elements<uint8_t>(Read("out.npy"))), Bytes<uint8_t>({111, 45}));
  }
}

TEST_F(RunTest, ShowsOnlyTensorsOfTheCall) {
  const auto result = Run({"run", "adaptive_avg_pool2d_backward", "--shape", "1,2,3,4", "--size",
                           "6,8", "--grad-input", "out.npy"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("\ngrad_output "));
  EXPECT_THAT(result.out, testing::HasSubstr("\ngrad_input "));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("\n ")));  // a name is missing
}

TEST_F(RunTest, LanczosTakesEveryRankAndNoCorners) {
  const auto run = [this](const std::string& shape, const std::string& size, const char* more) {
    return Run({"run", "upsample_lanczos", "--input", "ones", "--shape", shape, "--size", size,
                "--output", "out.npy", more});
  };
  for (const auto& [shape, size] :
       {std::pair{"1,1,9", "3"}, {"1,1,2,9", "2,3"}, {"1,1,2,2,9", "2,2,3"}}) {
    ASSERT_EQ(run(shape, size, "--antialias").exit_code, 0) << shape;
    for (const float element : Elements<float>(Read("out.npy"))) EXPECT_NEAR(element, 1, 1e-6);
  }
  ExpectBadInput(run("1,1,2,9", "2,3", "--align-corners"), "alignCorners is true, but must be");
  for (const char* const exact : {"--exact=pillow", "--exact=pillow<13"}) {
    ASSERT_EQ(Run({"run", "upsample_lanczos", "--input", "ones", "--shape", "1,1,2,9", "--dtype",
                   "uint8", "--size", "2,3", "--output", "out.npy", exact})
                  .exit_code,
              0);
    EXPECT_EQ(Bytes(Elements<uint8_t>(Read("out.npy"))), Bytes<uint8_t>({1, 1, 1, 1, 1, 1}));
  }
}

TEST_F(RunTest, ExactIsForPicturesOfOneApi) {
  const auto run = [this](const std::string& op, const std::string& dtype,
                          const std::string& exact) {
    return Run({"run", op, "--input", "ones", "--shape", "1,1,2,2", "--dtype", dtype, "--size",
                "2,4", "--exact", exact});
  };
  ExpectBadInput(run("upsample_linear", "float32", "pillow"),
                 "--exact pillow: Pillow's bits are for uint8, but --input is float32");
  ExpectBadInput(run("upsample_linear", "uint8", "opencv"), "unknown value 'opencv'");
  ExpectBadInput(run("upsample_nearest", "uint8", "pillow"), "--exact is for upsample_linear");
  ExpectBadInput(run("aclnnUpsampleBilinear2d", "float32", "pillow"), "portacl's own API");
}

TEST_F(RunTest, VolumesHaveGoldensBitsThroughBothApis) {
  ASSERT_EQ(Run({"golden", "-o", "want", "--case",
                 "grid_sampler_3d_backward name=g input=2x3x4x5x6 grid=2x3x2x7x3 seed=2"})
                .exit_code,
            0);
  ASSERT_EQ(Run({"golden", "-o", "more", "--case",
                 "upsample_nearest_exact3d_backward name=u gradOutput=1x2x6x4x9 out=1x2x3x4x5 "
                 "seed=3"})
                .exit_code,
            0);
  for (const char* const profile : {"native", "atlas-a2"}) {
    RunJson({"run", "grid_sampler_backward", "--profile", profile, "--input", "want/g/input.npy",
             "--grid", "want/g/grid.npy", "--grad-output", "want/g/gradOutput.npy", "--input-grad",
             "i.npy", "--grid-grad", "g.npy"});
    EXPECT_EQ(Read("i.npy"), Read("want/g/inputGrad.npy")) << profile;
    EXPECT_EQ(Read("g.npy"), Read("want/g/gridGrad.npy")) << profile;
    RunJson({"run", "upsample_nearest_exact_backward", "--profile", profile, "--grad-output",
             "more/u/gradOutput.npy", "--size", "3,4,5", "--grad-input", "u.npy"});
    EXPECT_EQ(Read("u.npy"), Read("more/u/out.npy")) << profile;
  }
}

TEST_F(RunTest, MadeGridsOfVolumes) {
  const auto sample = [](const std::string& grid) {
    return std::vector<std::string>{"run",          "grid_sampler_3d_backward",
                                    "--input",      "ones",
                                    "--shape",      "1,1,2,3,4",
                                    "--grid",       grid,
                                    "--input-grad", "w.npy"};
  };
  RunJson(sample("identity"));
  // On its pixels' centres every point counts once.
  const std::string weights = Read("w.npy");
  for (const float weight : Elements<float>(weights)) EXPECT_NEAR(weight, 1, 1e-5);
  ExpectBadInput(Run(sample("rotate:15")), "--grid: rotate and lens are for pictures");
  std::vector<std::string> flat = sample("identity");
  flat.insert(flat.end(), {"--size", "2,2"});
  ExpectBadInput(Run(flat), "--size: 2 values, but grid_sampler_3d_backward has 3 spatial axes");
}

TEST_F(RunTest, SavedInputsGiveTheSameResultAgain) {
  for (const auto& [dtype, extension] : std::vector<std::pair<std::string, std::string>>{
           {"float32", ".npy"}, {"bfloat16", ".bin"}}) {
    const auto report = RunJson({"run", "grid_sampler_2d_backward", "--input", "random:1",
                                 "--shape", "2,3,6,5", "--dtype", dtype, "--grid", "lens:0.4",
                                 "--grad-output", "random:3", "--save-inputs", "in/" + dtype});
    const auto file = [&dtype = dtype](const std::string& name) {
      return "in/" + dtype + "/" + name;
    };
    EXPECT_EQ(TensorNamed(report, "grad_output").value("file", ""), file("gradOutput" + extension));
    const auto again =
        RunJson({"run", "grid_sampler_2d_backward", "--input", file("input" + extension), "--shape",
                 "2,3,6,5", "--dtype", dtype, "--grid", file("grid" + extension), "--grad-output",
                 file("gradOutput" + extension)});
    for (const char* const name : {"grad_output", "input", "grid", "input_grad", "grid_grad"}) {
      EXPECT_EQ(TensorNamed(again, name).value("checksum", "a"),
                TensorNamed(report, name).value("checksum", "b"))
          << dtype << " " << name;
    }
  }
}

TEST_F(RunTest, SavedInputsOfFortranOrderAreDense) {
  Write("f.npy", NpyFile("<f4", "(1, 1, 4, 2)", Bytes<float>({0, 2, 4, 6, 1, 3, 5, 7}), true));
  RunJson({"run", "upsample_nearest_exact2d_backward", "--grad-output", "f.npy", "--size", "2,1",
           "--save-inputs", "."});
  const std::string saved = Read("gradOutput.npy");
  EXPECT_EQ(saved.substr(saved.size() - 32), Bytes<float>({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(RunTest, AFolderForInputsThatCannotBeIsNamedAndNothingWritten) {
  Write("taken", "x");
  ExpectBadInput(Run({"run", "upsample_nearest_exact2d_backward", "--shape", "1,1,2,2", "--size",
                      "1,1", "--save-inputs", "taken", "--grad-input", "o.npy"}),
                 "--save-inputs taken: cannot be made");
  EXPECT_FALSE(std::filesystem::exists(Path("o.npy")));
}

TEST_F(RunTest, MaskLeavesResultsOut) {
  const auto names = [&](const std::string& mask) {
    const auto report = RunJson({"run", "grid_sampler_2d_backward", "--input", "ones", "--shape",
                                 "1,1,2,2", "--grid", "identity", "--mask", mask});
    std::string text;
    for (const auto& output : report.at("outputs")) text += output.value("name", "") + " ";
    return text;
  };
  EXPECT_EQ(names("1,1"), "input_grad grid_grad ");
  EXPECT_EQ(names("1,0"), "input_grad ");
  EXPECT_EQ(names("0,1"), "grid_grad ");
}

TEST_F(RunTest, ModesReachTheOperator) {
  const auto checksum = [&](const std::vector<std::string>& modes) {
    std::vector<std::string> arguments = {"run",           "grid_sampler_2d_backward",
                                          "--input",       "random:1",
                                          "--shape",       "1,2,7,9",
                                          "--grid",        "lens:0.8",
                                          "--grad-output", "random:2"};
    arguments.insert(arguments.end(), modes.begin(), modes.end());
    return TensorNamed(RunJson(arguments), "input_grad").value("checksum", "");
  };
  const std::string standard = checksum({});
  EXPECT_EQ(standard, checksum({"--interpolation", "bilinear", "--padding", "zeros"}));
  std::vector<std::string> all = {standard};
  for (const std::vector<std::string>& modes :
       {std::vector<std::string>{"--interpolation", "nearest"},
        {"--interpolation", "bicubic"},
        {"--padding", "border"},
        {"--padding", "reflection"},
        {"--align-corners"}}) {
    all.push_back(checksum(modes));
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << "two modes gave the same bits";
}

TEST_F(RunTest, ThreadsAndImplementationsGiveTheSameBits) {
  const std::vector<std::string> base = {"run",           "grid_sampler_2d_backward",
                                         "--input",       "random:1",
                                         "--shape",       "2,5,33,47",
                                         "--grid",        "random:2",
                                         "--grad-output", "random:3"};
  const auto with = [&](const std::vector<std::string>& more) {
    auto arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments);
  };
  const auto one = with({"--threads", "1"}), three = with({"--threads", "3"}),
             ref = with({"--impl", "ref"});
  EXPECT_EQ(one.value("threads", 0), 1);
  EXPECT_EQ(three.value("threads", 0), 3);
  EXPECT_THAT(ref.value("path", ""), testing::StartsWith("ref"));
  EXPECT_EQ(one.at("outputs"), three.at("outputs"));
  EXPECT_EQ(one.at("outputs"), ref.at("outputs"));
}

TEST_F(RunTest, RepeatIsCountedAndTimesAreSensible) {
  const auto report = RunJson({"run", "upsample_nearest_exact2d_backward", "--shape", "1,3,64,64",
                               "--scale", "2", "--repeat", "5"});
  const auto& time = report.at("time_s");
  EXPECT_EQ(time.at("runs").size(), 5u);
  EXPECT_GT(time.at("best").get<double>(), 0);
  EXPECT_LE(time.at("best").get<double>(), time.at("median").get<double>());
  EXPECT_EQ(report.at("bytes").get<double>(), 4 * (3 * 64 * 64 + 3 * 32 * 32));
  EXPECT_NEAR(report.at("gb_per_s").get<double>(),
              report.at("bytes").get<double>() / time.at("best").get<double>() / 1e9, 1e-6);
}

TEST_F(RunTest, TheTextSaysWhatWasDone) {
  WriteCounting();
  const Outcome outcome = Run({"run", "upsample_nearest_exact2d_backward", "--grad-output", "g.npy",
                               "--size", "8,4", "--scale", "2", "--grad-input", "o.npy"});
  for (const char* part :
       {"upsample_nearest_exact2d_backward", "scale 2,2", "native C++ API", "threads", "time",
        "GB/s", "float32", "[1, 1, 8, 4]", "o.npy", "checksum"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b["))) << "no colours outside a terminal";
  EXPECT_EQ(outcome.err, "") << "no progress outside a terminal";
}

TEST_F(RunTest, FortranOrderIsReadAsStrides) {
  // 2 x 3: rows 1 2 3 and 4 5 6, stored column by column.
  Write("f.npy", NpyFile("<f4", "(1, 1, 2, 3)", Bytes<float>({1, 4, 2, 5, 3, 6}), true));
  Write("c.npy", NpyFile("<f4", "(1, 1, 2, 3)", Bytes<float>({1, 2, 3, 4, 5, 6})));
  for (const std::string profile : {"native", "atlas-a2"}) {
    for (const std::string op :
         {"upsample_nearest_exact2d_backward", "upsample_nearest_exact2d_grad"}) {
      const auto report = [&](const std::string& file) {
        return RunJson({"run", op, "--grad-output", file, "--size", "2,3", "--profile", profile})
            .at("outputs");
      };
      EXPECT_EQ(report("f.npy"), report("c.npy")) << profile << " " << op;
    }
  }
}

TEST_F(RunTest, EmptyBatchesAreAccepted) {
  const auto report =
      RunJson({"run", "upsample_nearest_exact2d_backward", "--shape", "0,3,4,4", "--size", "2,2"});
  EXPECT_EQ(TensorNamed(report, "grad_input").at("shape").dump(), "[0,3,2,2]");
}

}  // namespace
}  // namespace portacl::cli_test
