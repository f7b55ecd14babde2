// Cases: the string, JSON, CSV and text forms, and what is said of wrong ones.
#include "tools/testing/case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/api/shape_list.h"
#include "tools/cli_error.h"
#include "tools/testing/call.h"
#include "tools/testing/case_list.h"
#include "tools/testing/generate_cases.h"
#include "tools/testing/values.h"

namespace portacl::golden {
namespace {

using ::testing::HasSubstr;

std::vector<Case> AllKinds() {
  std::vector<Case> all;
  for (const CaseKind& kind : CaseKinds()) {
    GenerateOptions options;
    options.count = 500;
    for (Case& c : GenerateCases(kind.word, options)) all.push_back(std::move(c));
  }
  return all;
}

std::string Refusal(const std::string& text) {
  try {
    static_cast<void>(MakeCall(ParseCase(text)));
  } catch (const cli::BadInput& error) {
    return error.what();
  }
  return "accepted";
}

class CaseFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "portacl-case-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string RefusalOf(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    try {
      static_cast<void>(ReadCases(Path(name)));
    } catch (const cli::BadInput& error) {
      const std::string message = error.what();
      const size_t at = message.find(name);
      return at == std::string::npos ? message : message.substr(at);
    }
    return "accepted";
  }

  std::filesystem::path folder_;
};

TEST(Cases, EveryGeneratedCaseReadsBackFromItsString) {
  for (const Case& c : AllKinds()) {
    const std::string text = ToString(c);
    ASSERT_EQ(ToString(ParseCase(text)), text);
    // NaN among its numbers is not equal to itself.
    if (text.find("nan") == std::string::npos) {
      ASSERT_EQ(ParseCase(text), c) << text;
    }
  }
}

TEST_F(CaseFileTest, EveryFormatReadsBackTheSameCases) {
  const std::vector<Case> cases = AllKinds();
  for (const char* const name : {"a.json", "a.csv", "a.txt"}) {
    WriteCases(Path(name), cases);
    const std::vector<Case> again = ReadCases(Path(name));
    ASSERT_EQ(again.size(), cases.size()) << name;
    for (size_t i = 0; i < cases.size(); ++i) {
      ASSERT_EQ(ToString(again[i]), ToString(cases[i])) << name;
    }
  }
}

TEST_F(CaseFileTest, JsonTakesListsNumbersAndStrings) {
  std::ofstream(Path("a.json")) << R"({"version": 1, "cases": [
    {"operator": "grid_sampler_2d", "direction": "backward", "input": [1, 3, 8, 9],
     "grid": [1, 5, 7, 2], "alignCorners": true, "outputMask": [1, 0], "interpolationMode": 1},
    "upsample_nearest_exact1d self=1x2x3 out=1x2x6 scales=2"]})";
  const std::vector<Case> cases = ReadCases(Path("a.json"));
  EXPECT_EQ(ToString(cases[0]),
            "grid_sampler_2d_backward name=case-0001 dtype=float32 input=1x3x8x9 grid=1x5x7x2 "
            "interpolationMode=nearest alignCorners=1 outputMask=1,0");
  EXPECT_EQ(ToString(cases[1]),
            "upsample_nearest_exact1d name=case-0002 dtype=float32 self=1x2x3 scales=2 out=1x2x6");
}

TEST_F(CaseFileTest, EditorsOfOtherSystemsMayHaveWrittenThem) {
  const std::string mark = "\xEF\xBB\xBF", words = "upsample_nearest_exact1d self=1x2x3 out=1x2x6";
  const std::string lists[][2] = {
      {"a.txt", words + " \r\n\r\n# none\r\n"},
      {"b.csv", "operator,self,out\r\nupsample_nearest_exact1d,1x2x3,1x2x6\r\n"},
      {"c.json", "{\"version\": 1,\r\n\"cases\": [\"" + words + "\"]}\r\n"}};
  for (const auto& [name, text] : lists) {
    std::ofstream(Path(name)) << mark << text;
    const std::vector<Case> cases = ReadCases(Path(name));
    ASSERT_EQ(cases.size(), 1u) << name;
    EXPECT_EQ(ToString(cases[0]),
              "upsample_nearest_exact1d name=case-0001 dtype=float32 self=1x2x3 out=1x2x6");
  }
  EXPECT_EQ(RefusalOf("utf16.txt", std::string("\xFF\xFEu\0p\0", 6)),
            "utf16.txt: is not text in UTF-8: a byte of it is 0");
}

TEST_F(CaseFileTest, MessagesNameFileLineAndField) {
  const std::string head = "{\"version\": 1,\n \"cases\": [\n";
  EXPECT_EQ(RefusalOf("a.json",
                      head + "{\"operator\": \"grid_sampler_2d\",\n  \"input\": [1,\"x\",2]\n}]}"),
            "a.json:4: field input: 'x' is not an integer");
  EXPECT_EQ(RefusalOf("a.json", head + "{\"operator\": \"nothing\"}]}").substr(0, 52),
            "a.json:3: field operator: unknown operator 'nothing'");
  EXPECT_EQ(RefusalOf("a.json", "{\"version\": 2, \"cases\": []}"),
            "a.json:1: field version: 2, but this program reads version 1");
  EXPECT_THAT(RefusalOf("a.json", head + "{]"), HasSubstr("a.json:3: syntax error"));
  EXPECT_EQ(RefusalOf("a.json", "{\"version\": 1}"), "a.json: there is no list called cases");
  EXPECT_EQ(RefusalOf("a.json", head + "]}"), "a.json: there is no case in it");
  EXPECT_THAT(RefusalOf("a.json", head + "{\"name\": \"a\"}]}"),
              HasSubstr("a.json:3: field operator is missing"));
  EXPECT_THAT(RefusalOf("a.csv",
                        "operator,self\nupsample_nearest_exact1d,1x2x3\n"
                        "upsample_nearest_exact1d,1x-2x3\n"),
              HasSubstr("a.csv:3: field self: extent -2 is negative"));
  EXPECT_EQ(RefusalOf("a.csv", "operator,self\nupsample_nearest_exact1d\n"),
            "a.csv:2: 1 cells, but the first row names 2 fields");
  EXPECT_EQ(RefusalOf("a.csv", "operator,self,out,sed\nupsample_nearest_exact1d,1x2x3,1x2x6,\n"),
            "a.csv:1: field sed: no operator has it");
  EXPECT_EQ(RefusalOf("a.json", "[\"upsample_nearest_exact1d\"]"),
            "a.json:1: wanted an object, {\"version\": 1, \"cases\": [...]}");
  EXPECT_THAT(RefusalOf("a.txt", "# two\n\nupsample_nearest_exact1d self=1x2x3 colour=red\n"),
              HasSubstr("a.txt:3: case 'upsample_nearest_exact1d self=1x2x3 colour=red': field "
                        "colour: upsample_nearest_exact1d has no parameter 'colour'"));
  EXPECT_EQ(
      RefusalOf("a.txt", "upsample_nearest_exact1d name=a\nupsample_nearest_exact1d name=a\n"),
      "a.txt:2: field name: 'a' is also the name of the case in line 1");
  EXPECT_THAT(RefusalOf("a.txt", "\nupsample_nearest_exact1d self=1x2x3\n"),
              HasSubstr("a.txt:2: case 'upsample_nearest_exact1d name=case-0001 dtype=float32 "
                        "self=1x2x3': field out is not known: its OL follows from outputSize"));
  EXPECT_THAT(RefusalOf("a.xml", "<a/>"), HasSubstr("wanted a name that ends with .json, .csv"));
}

TEST(Cases, ModelsHaveTheModesOfTheirShapes) {
  const auto mode = [](const Case& c, const char* name) {
    return c.arguments[*c.op->Find(name)].integers.value_or(std::vector<int64_t>{}).at(0);
  };
  const std::vector<Case> models = GenerateCases("models", GenerateOptions());
  size_t found = 0;
  for (const portacl_test::ShapeRow& row : portacl_test::ShapeList()) {
    if (!row.is_grid) continue;
    for (const Case& c : models) {
      if (c.name != row.name) continue;
      ++found;
      EXPECT_EQ(mode(c, "interpolationMode"), row.mode.interpolation) << row.name;
      EXPECT_EQ(mode(c, "paddingMode"), row.mode.padding) << row.name;
    }
  }
  EXPECT_GT(found, 30u);
}

TEST(Cases, ModelsResizeInBothDirections) {
  GenerateOptions options;
  const auto line = [&options](const std::string& name) -> std::string {
    for (const Case& c : GenerateCases("models", options)) {
      if (c.name == name) return ToString(c);
    }
    return "none";
  };
  EXPECT_EQ(line("unet_forward"),
            "upsample_bilinear2d name=unet_forward dtype=float32 self=1x64x128x128 alignCorners=0 "
            "out=1x64x256x256 seed=1");
  options.small = true;
  EXPECT_EQ(line("unet_corners_backward"),
            "upsample_bilinear2d_backward name=unet_corners_backward dtype=float32 "
            "gradOut=1x3x256x256 alignCorners=1 out=1x3x128x128 seed=1");
  EXPECT_EQ(line("audio_forward"),
            "upsample_linear1d name=audio_forward dtype=float32 self=1x3x8192 alignCorners=0 "
            "out=1x3x16384 seed=1");
  EXPECT_EQ(line("brain_backward"),
            "upsample_trilinear3d_backward name=brain_backward dtype=float32 gradOut=1x3x96x112x96 "
            "alignCorners=0 gradInput=1x3x48x56x48 seed=1");
  EXPECT_EQ(line("aa_positions_forward"),
            "upsample_bicubic2d_aa name=aa_positions_forward dtype=float32 x=1x3x37x37 "
            "alignCorners=0 out=1x3x16x16 seed=1");
  EXPECT_EQ(line("nearest_nhwc_forward"),
            "upsample_nearest2d name=nearest_nhwc_forward dtype=float32 self=1x3x128x128 "
            "self.layout=channels_last out=1x3x256x256 out.layout=channels_last seed=1");
  EXPECT_EQ(line("exact_odd_backward"),
            "upsample_nearest_exact2d_backward name=exact_odd_backward dtype=float32 "
            "gradOutput=1x3x101x149 out=1x3x37x53 seed=1");
  EXPECT_EQ(line("unet_bf16_forward"),
            "upsample_bilinear2d name=unet_bf16_forward dtype=bfloat16 self=1x3x128x128 "
            "alignCorners=0 out=1x3x256x256 seed=1");
}

TEST(Cases, WrongFieldsAreRefusedByName) {
  const std::string sampler = "grid_sampler_2d_backward input=1x1x4x4 grid=1x2x2x2 ";
  EXPECT_THAT(Refusal(sampler + "input=1x1x4x4"), HasSubstr("field input: is given twice"));
  EXPECT_THAT(Refusal(sampler + "paddingMode=mirror"), HasSubstr("field paddingMode: 'mirror'"));
  EXPECT_THAT(Refusal(sampler + "alignCorners=2"), HasSubstr("field alignCorners: '2'"));
  EXPECT_THAT(Refusal(sampler + "dtype=int8"), HasSubstr("field dtype: 'int8' is not one of"));
  EXPECT_THAT(Refusal(sampler + "seed=-1"), HasSubstr("field seed: '-1' is not a seed"));
  EXPECT_THAT(Refusal(sampler + "name=a/b"), HasSubstr("field name: 'a/b' is not a name"));
  EXPECT_THAT(Refusal(sampler + "input.colour=1"),
              HasSubstr("field input.colour: a tensor has no"));
  EXPECT_THAT(Refusal(sampler + "paddingMode.layout=flipped"), HasSubstr("is not a tensor"));
  EXPECT_THAT(Refusal(sampler + "inputGrad.values=ones"), HasSubstr("inputGrad is an output"));
  EXPECT_THAT(Refusal(sampler + "input.values=identity"), HasSubstr("'identity' is not one of"));
  EXPECT_THAT(Refusal(sampler + "input.values=uniform:1"), HasSubstr("uniform takes 2 numbers"));
  EXPECT_THAT(Refusal(sampler + "input.values=uniform:1:x"), HasSubstr("not a finite number"));
  EXPECT_THAT(Refusal(sampler + "input.dtype=int32"), HasSubstr("field expect is missing"));
  EXPECT_THAT(Refusal(sampler + "what"), HasSubstr("'what' is not FIELD=VALUE"));
  EXPECT_THAT(Refusal(sampler + "input.layout=flipped input.strides=16,16,4,1"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal(sampler + "inputGrad.layout=expanded"), HasSubstr("cannot be expanded"));
  EXPECT_THAT(Refusal(sampler + "input.strides=16,16,-4,1"),
              HasSubstr("begins 12 elements before its storage"));
  EXPECT_THAT(Refusal(sampler + "input.strides=16,16,4"), HasSubstr("3 of them for shape"));
  EXPECT_THAT(Refusal("grid_sampler_2d_backward input=1x1x4x4"),
              HasSubstr("field gradOutput is not known: its OH follows from grid"));
  EXPECT_THAT(Refusal("upsample_nearest_exact2d self=1x1x2x2"),
              HasSubstr("field outputSize is not known: its OH follows from out (N,C,OH,OW)"));
  EXPECT_THAT(Refusal("upsample_nearest_exact2d_backward gradOutput=1x1x2x2"),
              HasSubstr("field inputSize is not known: its H follows from out (N,C,H,W)"));
  EXPECT_THAT(Refusal("upsample_nearest_exact2d self=1x1x4x4 outputSize=2,2 out=1x1x3x3"),
              HasSubstr("field outputSize is 2,2, but out has OH = 3"));
  EXPECT_THAT(
      Refusal("upsample_nearest_exact2d_backward gradOutput=1x1x4x4 outputSize=4,2 out=1x1x2x2"),
      HasSubstr("field outputSize is 4,2, but gradOutput has OW = 4"));
  EXPECT_THAT(Refusal("grid_sampler_2d input=1x1x4x4 grid=1x2x2"),
              HasSubstr("field grid has 3 extents, but grid is N,OH,OW,2"));
  EXPECT_THAT(Refusal("upsample_nearest_exact1d self=1x1x99999999999999 outputSize=4"),
              HasSubstr("needs"));
  EXPECT_THAT(Refusal("grid_sampler_2d_backward direction=forward"),
              HasSubstr("no direction forward"));
}

TEST(Cases, BytesAreThoseOfNearestResizingAlone) {
  for (const char* const op : {"upsample_nearest1d", "upsample_nearest1d_v2", "upsample_nearest2d",
                               "upsample_nearest2d_v2", "upsample_nearest3d"}) {
    const OperatorRow& row = *FindOperator(op);
    const std::string shape = row.axes == 1 ? "1x2x40" : row.axes == 2 ? "1x2x8x5" : "1x2x4x5x2";
    const std::string text = fmt::format("{} dtype=uint8 self={} out={}", op, shape, shape);
    const Call call = MakeCall(ParseCase(text));
    EXPECT_EQ(ToString(call.source), text);
    const std::vector<double> made = call.input().Values();
    EXPECT_EQ(made, MakeValues("integers:0:255", Draw(0, 0), 80, nullptr));
    EXPECT_EQ(call.input().bytes().size(), 80u);
    // Values that are no bytes are rounded to the nearest, even one.
    const Call others = MakeCall(ParseCase(text + " self.values=uniform:-300:600"));
    const std::vector<double> all = MakeValues("uniform:-300:600", Draw(0, 0), 80, nullptr);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(others.input().Values()[i], std::clamp(std::nearbyint(all[i]), 0.0, 255.0)) << i;
    }
  }
  for (const OperatorRow& row : Operators()) {
    if (TakesBytes(row)) continue;
    Case c;
    c.op = &row;
    c.dtype = cli::kUInt8;
    c.arguments.resize(row.parameters.size());
    EXPECT_THAT(Refusal(ToString(c)),
                HasSubstr(std::string(row.name) + " has no dtype uint8; only these have it: "
                                                  "upsample_nearest1d_v2, upsample_nearest1d, "))
        << row.name;
    EXPECT_EQ(ParseCase(ToString(c) + " expect=161002").dtype, cli::kUInt8);  // to be refused
  }
}

TEST(Cases, GeneratedBytesAreThoseThatTheProfileTakes) {
  for (const char* const profile : {"", "atlas-a2", "atlas-training", "ascend-950"}) {
    GenerateOptions options;
    options.profile = profile;
    std::set<std::string> names;
    for (const Case& c : GenerateCases("boundary", options)) {
      if (c.dtype == cli::kUInt8) names.insert(c.op->name);
    }
    const std::string_view p = profile;
    EXPECT_EQ(names.contains("upsample_nearest3d"), p.empty() || p == "ascend-950") << profile;
    EXPECT_EQ(names.contains("upsample_nearest1d"), p != "ascend-950") << profile;
    EXPECT_TRUE(names.contains("upsample_nearest2d")) << profile;
    EXPECT_TRUE(names.contains("upsample_nearest2d_v2")) << profile;
  }
}

TEST(Cases, ShapesFollowFromThoseThatAreGiven) {
  const Call call = MakeCall(ParseCase("grid_sampler_2d_backward input=2x3x8x9 grid=2x5x7x2"));
  EXPECT_EQ(call.tensor("gradOutput").shape(), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(call.tensor("inputGrad").shape(), (Shape{2, 3, 8, 9}));
  EXPECT_EQ(call.tensor("gridGrad").shape(), (Shape{2, 5, 7, 2}));
  const Call up =
      MakeCall(ParseCase("upsample_nearest_exact2d_backward gradOutput=1x2x8x6 out=1x2x4x3"));
  EXPECT_EQ(up.at("outputSize").integers, (Shape{8, 6}));
  EXPECT_EQ(up.at("inputSize").integers, (Shape{1, 2, 4, 3}));
  const Call scaled =
      MakeCall(ParseCase("upsample_nearest_exact1d_backward gradOutput=1x2x8 outputSize=9 scales=2 "
                         "out=1x2x4"));  // beside a scale it is not used
  EXPECT_EQ(scaled.at("outputSize").integers, (Shape{9}));
}

TEST(Cases, EveryLayoutHoldsTheSameValues) {
  const std::string plain = "upsample_nearest_exact2d self=2x3x4x5 out=2x3x8x10 seed=9";
  const std::vector<double> values = MakeCall(ParseCase(plain)).tensor("self").Values();
  for (const std::string& layout : LayoutWords()) {
    const Call call = MakeCall(ParseCase(plain + " self.layout=" + layout));
    const ViewTensor& self = call.tensor("self");
    // An expanded axis keeps its last index.
    if (layout != "expanded") {
      EXPECT_EQ(self.Values(), values) << layout;
    }
    if (layout != "contiguous" && layout != "offset") {
      EXPECT_NE(self.strides(), cli::DenseStrides(self.shape())) << layout;
    }
    EXPECT_EQ(self.Dense().size(), values.size() * 4) << layout;
  }
}

TEST(Values, AreTheDocumentedGenerator) {
  // SplitMix64 from 1234567, as its authors publish it.
  EXPECT_EQ(Draw(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(Draw(1234567, 4), 16408922859458223821u);
  const std::vector<double> ramp = MakeValues("ramp", 5, 4, nullptr);
  EXPECT_EQ(ramp, (std::vector<double>{0, 1, 2, 3}));
  for (const double value : MakeValues("integers:-2:3", 5, 500, nullptr)) {
    EXPECT_TRUE(value >= -2 && value <= 3 && value == static_cast<int>(value)) << value;
  }
  for (const double value : MakeValues("uniform:2:4", 5, 500, nullptr)) {
    EXPECT_TRUE(value >= 2 && value < 4) << value;
  }
}

}  // namespace
}  // namespace portacl::golden
