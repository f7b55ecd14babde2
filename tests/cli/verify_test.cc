// `portacl verify`: portacl itself and other correct kernels pass, planted faults are caught at the
// right cases and elements, and a library that crashes or hangs costs one case.
#include <fmt/format.h>

#include <functional>
#include <regex>
#include <sstream>

#include "cli/cli_runner.h"
#include "support/api/random.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The report's line of functions names `count` functions in `file`. Files are in the order of their
// paths, so `file` may follow another one.
auto HasFunctions(int count, const std::string& file) {
  return testing::ContainsRegex(fmt::format("functions: (.*, )?{} in {}[,\n]", count, file));
}

class VerifyTest : public CliTest {
 protected:
  // Small cases of everything, and some of the boundaries.
  void MakeCases() {
    ASSERT_EQ(Run({"cases", "generate", "smoke", "--count", "480", "-o", "smoke.txt"}).exit_code,
              0);
    ASSERT_EQ(Run({"cases", "generate", "boundary", "-o", "boundary.txt"}).exit_code, 0);
    std::istringstream smoke(Read("smoke.txt")), boundary(Read("boundary.txt"));
    std::string text, line;
    while (std::getline(smoke, line)) text += line + "\n";
    for (int i = 0; std::getline(boundary, line); ++i) {
      if (i % 53 == 0) text += line + "\n";
    }
    Write("cases.txt", text);
  }

  // A third of the cases that the fault may touch, and one in 24 of the others: other ones each
  // `turn`.
  void KeepSome(size_t turn, const std::string& cases, const std::regex& touched) {
    std::istringstream all(cases);
    std::string text, line;
    size_t seen[2] = {turn, turn};
    while (std::getline(all, line)) {
      const bool is_touched = std::regex_search(line, touched);
      if (seen[is_touched]++ % (is_touched ? 3 : 24) == 0) text += line + "\n";
    }
    Write("cases.txt", text);
  }

  Outcome Verify(const std::string& fixture, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments, "FIXTURE=" + fixture);
  }
};

TEST_F(VerifyTest, PortaclPassesEverything) {
  MakeCases();
  ASSERT_EQ(Run({"cases", "generate", "refusals", "-o", "refusals.txt"}).exit_code, 0);
  Write("cases.txt", Read("cases.txt") + Read("refusals.txt"));
  // The library of the build has no other names; it is enough.
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR, "--junit", "j.xml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(Read("j.xml"), HasSubstr("failures=\"0\" errors=\"0\""));
  EXPECT_EQ(Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR, "--binary"}).exit_code,
            0);
}

TEST_F(VerifyTest, BytesAreJudgedToTheLastOne) {
  Write("cases.txt",
        "upsample_nearest2d_v2 name=a dtype=uint8 self=2x3x9x7 out=2x3x12x5 seed=1\n"
        "upsample_nearest1d name=b dtype=uint8 self=1x2x40 out=1x2x90 out.layout=padded\n"
        "upsample_nearest3d name=c dtype=uint8 self=1x2x3x4x5 out=1x2x5x4x3 self.layout=flipped\n"
        "upsample_nearest2d name=d dtype=uint8 self=1x1x2x2 out=1x1x4x4 self.values=constant:255\n"
        "upsample_bilinear2d name=e dtype=uint8 self=1x1x2x2 out=1x1x4x4 expect=161002\n");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--binary"}, {"--standard", "mixed"}}) {
    std::vector<std::string> arguments = {"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
  Write("cases.txt", "upsample_nearest2d_v2 dtype=uint8 self=2x3x9x7 out=2x3x12x5 seed=1\n");
  EXPECT_EQ(Verify("plain").exit_code, 0);
  const Outcome wrong = Verify("bytes_end_at_254", {"--json"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("\"actual\": 254.0"));
}

TEST_F(VerifyTest, AnOperatorThatTheAclnnApiLacksSaysSo) {
  Write("cases.txt", "affine_grid_backward name=a dtype=float32 gridGrad=1x2x3x2 seed=1\n");
  const Outcome outcome = Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("affine_grid_backward is not in the aclnn API\n"));
  EXPECT_THAT(outcome.out, HasSubstr("its outputs are not judged"));
}

TEST_F(VerifyTest, CorrectKernelsPassWhateverTheirOrderAndArithmetic) {
  MakeCases();
  for (const char* const style : {"plain", "reverse", "float64", "fused"}) {
    const Outcome outcome = Verify(style);
    EXPECT_EQ(outcome.exit_code, 0) << style << ": " << outcome.out << outcome.err;
  }
  // They are others than portacl's: the bits differ.
  EXPECT_EQ(Verify("reverse", {"--binary"}).exit_code, 1);
}

using Index = std::vector<int64_t>;

struct Fault {
  const char* name;
  const char* cases;  // every failing case must match it
  // Whether the worst element of an output may be there.
  std::function<bool(const std::string& parameter, const Index& index, const Index& shape)> element;
};

bool Anywhere(const std::string&, const Index&, const Index&) { return true; }
bool AtTheEnd(const std::string&, const Index& index, const Index& shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (index[axis] != shape[axis] - 1) return false;
  }
  return true;
}
bool InY(const std::string& parameter, const Index& index, const Index&) {
  return parameter == "gridGrad" && index.back() == 1;
}
bool InGridGrad(const std::string& parameter, const Index&, const Index&) {
  return parameter == "gridGrad";
}
bool InTheLastChannel(const std::string& parameter, const Index& index, const Index& shape) {
  return parameter == "gridGrad" || index[1] == shape[1] - 1;
}
bool InLocations(const std::string& parameter, const Index&, const Index&) {
  return parameter == "gradLocation";
}
const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = {
      {"axes_swapped", "^(grid|affine)", Anywhere},
      {"no_clip", "paddingMode=border", Anywhere},
      {"clip_keeps_slope", "backward.*paddingMode=border", InGridGrad},
      {"fold_at_centres", "paddingMode=reflection", Anywhere},
      {"source_plus_one", "^upsample", Anywhere},
      {"other_nearest", "^upsample", Anywhere},
      {"scale_ignored", "^upsample.*scale", Anywhere},
      {"scales_swapped", "[23]d.*scales", Anywhere},
      {"half_up", "interpolationMode=nearest", Anywhere},
      {"shifted_half", "^(grid|upsample)", Anywhere},
      {"align_ignored", "alignCorners=1", Anywhere},
      {"weights_swapped", "^(grid|upsample)", Anywhere},
      {"last_tap_missing", "^(grid|upsample)", Anywhere},
      {"cubic_half", "interpolationMode=bicubic", Anywhere},
      {"no_extent_factor", "backward", InGridGrad},
      {"negative_gy", "backward", InY},
      {"last_channel_missing", "backward", InTheLastChannel},
      {"first_image_only", "^(grid|upsample)", Anywhere},
      {"last_one_wins", "backward", Anywhere},
      {"half_pixel_forgotten", "^upsample_(linear|bi|tri)", Anywhere},
      {"not_normalised", "_aa", Anywhere},
      {"cubic_is_linear", "^upsample_bicubic", Anywhere},
      {"resized_back", "^upsample_(linear|bi|tri).*_backward", Anywhere},
      {"translation_doubled", "^affine_grid", Anywhere},
      {"narrow_sum", "backward.*dtype=b?float16", Anywhere},
      {"truncate", "dtype=b?float16", Anywhere},
      {"nan_is_zero", "values=nonfinite", Anywhere},
      {"stale_last", "", AtTheEnd},
      {"dense_strides", "(layout|strides|format)=", Anywhere},
      {"write_outside", "layout=(offset|flipped)", Anywhere},
      {"mask_ignored", "outputMask=", Anywhere},
      {"locations_yx", "^ms_deform_attn", Anywhere},
      {"levels_start_at_0", "^ms_deform_attn", Anywhere},
      {"attention_ignored", "^ms_deform_attn ", Anywhere},
      {"taps_swapped", "^(ms_deform_attn|deform_conv2d)", Anywhere},
      {"location_gradients_of_pixels", "^ms_deform_attn_backward", InLocations},
      {"locations_at_edges", "^ms_deform_attn", Anywhere},
      {"one_sample_a_bin", "^roi_align", Anywhere},
      {"aligned_not_shifted", "^roi_align.*aligned=1", Anywhere},
      {"rois_of_the_first_image", "^roi_align", Anywhere},
      {"upper_tap_missing", "^roi_align", Anywhere},
      {"roi_scale_ignored", "^roi_align.*spatialScale", Anywhere},
      {"samples_summed", "^roi_align", Anywhere},
      {"offsets_yx", "^deform_conv2d", Anywhere},
      {"modulation_ignored", "^deform_conv2d.*modulated=1", Anywhere},
      {"one_offset_group", "^deform_conv2d", Anywhere},
      {"dilation_ignored", "^deform_conv2d", Anywhere},
      {"groups_ignored", "^deform_conv2d", Anywhere},
      {"bias_missing", "^deform_conv2d ", Anywhere},
      {"windows_do_not_overlap", "^adaptive_avg_pool", Anywhere},
      {"windows_summed", "^adaptive_avg_pool", Anywhere}};
  return faults;
}

TEST_F(VerifyTest, EveryPlantedFaultIsFoundAtTheRightElements) {
  MakeCases();
  const std::string cases = Read("cases.txt");
  const auto step = static_cast<size_t>(portacl_test::ByRunLength(1, 5));
  for (size_t i = 0; i < Faults().size(); i += step) {
    const Fault& fault = Faults()[i];
    const std::regex touched(fault.cases);
    Outcome outcome;
    for (size_t turn = i; turn < i + 3 && outcome.exit_code != 1; ++turn) {
      KeepSome(turn, cases, touched);  // most faults are in each
      outcome = Verify(fault.name, {"--json"});
    }
    EXPECT_EQ(outcome.exit_code, 1) << fault.name << " was not found: " << outcome.err;
    const json report = json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << fault.name;
    for (const json& entry : report.at("cases")) {
      if (entry.at("passed")) continue;
      const std::string text = entry.at("case");
      EXPECT_TRUE(std::regex_search(text, touched)) << fault.name << ": " << text;
      for (const json& output : entry.at("outputs")) {
        if (output.at("passed")) continue;
        EXPECT_TRUE(fault.element(output.at("parameter"), output.at("worst")[0].at("index"),
                                  output.at("shape")))
            << fault.name << ": " << output.dump();
      }
    }
  }
}

const char* const kSevens =
    "upsample_nearest_exact2d name=six self=1x1x5x6 out=1x1x5x6\n"
    "upsample_nearest_exact2d name=seven self=1x1x5x7 out=1x1x5x7\n"
    "upsample_nearest_exact2d name=eight self=1x1x5x8 out=1x1x5x8\n";

TEST_F(VerifyTest, ACrashAnExitAndAHangCostOneCase) {
  Write("cases.txt", kSevens);
  struct Failure {
    const char* fault;
    const char* timeout;  // a busy machine takes its time for the good cases, too
    const char* message;
  };
  const Failure failures[] = {{"crash", "600", "the library crashed: signal 6 (Aborted)"},
                              {"exit", "600", "the library ended the process with exit status 5"},
                              {"hang", "10", "no answer within 10 s; the process was ended"}};
  for (const auto& [fault, timeout, message] : failures) {
    const Outcome outcome =
        Verify(fault, {"--timeout", timeout, "--junit", "j.xml", "--report", "r.html"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr(std::string("seven\n  ") + message));
    EXPECT_THAT(outcome.out, HasSubstr("its outputs are not judged"));
    EXPECT_THAT(outcome.out,
                HasSubstr("FAILED: 1 of 3 cases failed, 1 of them not judged; 2 of 2"));
    EXPECT_THAT(Read("j.xml"), HasSubstr("tests=\"3\" failures=\"0\" errors=\"1\""));
    EXPECT_THAT(Read("r.html"), HasSubstr(message));
  }
}

TEST_F(VerifyTest, AWrongStatusFails) {
  Write("cases.txt",
        "upsample_nearest_exact1d name=null self=1x1x2 out=1x1x4 null=self expect=161001\n");
  EXPECT_EQ(Verify("plain").exit_code, 0);
  const Outcome outcome = Verify("null_accepted");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("accepted, but status 161001 is wanted"));
  Write("cases.txt",
        "upsample_nearest_exact1d self=1x1x2 out=1x1x4 self.format=NCL scales=-1 expect=161002\n");
  EXPECT_THAT(Verify("plain").out, HasSubstr("accepted, but status 161002 is wanted"));
}

TEST_F(VerifyTest, FilesThatADeviceWroteAreJudged) {
  Write("cases.txt", kSevens);
  ASSERT_EQ(Run({"golden", "cases.txt", "-o", "device"}).exit_code, 0);
  EXPECT_EQ(Run({"verify", "cases.txt", "--outputs", "device"}).exit_code, 0);
  std::filesystem::remove_all(Path("device/eight"));
  const Outcome outcome = Run({"verify", "cases.txt", "--outputs", "device"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("device/eight/out.npy: no such file"));
}

TEST_F(VerifyTest, FoldersWithoutALibraryAreNamed) {
  Write("cases.txt", kSevens);
  std::filesystem::create_directories(Path("empty"));
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "empty"}),
                 "empty: no aclnn library in it (looked for libascendcl.so");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "nowhere"}), "nowhere: no such folder");
  ExpectBadInput(Run({"verify", "cases.txt"}), "wanted either --lib-dir");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib", "empty"}), "wanted --lib-dir empty");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib", "./no.so"}), "./no.so: no such file");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "empty", "--seed", "-1"}),
                 "--seed: '-1' is not a seed");
  Write("empty/libopapi.so", "no library");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "empty"}),
                 "portacl: empty/libopapi.so: file too short");
}

TEST_F(VerifyTest, ALibraryWithoutARuntimeIsRefusedByNamesAtOnce) {
  Write("cases.txt", kSevens);
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/without_runtime"});
  ExpectBadInput(outcome, "the library has no aclrtDestroyStream, aclrtMemcpy");
  EXPECT_THAT(outcome.err, Not(HasSubstr("terminate")));
}

TEST_F(VerifyTest, WhatFailingCasesHaveInCommonIsSaid) {
  MakeCases();
  const std::pair<const char*, const char*> faults[] = {{"no_clip", "paddingMode border"},
                                                        {"scale_ignored", "scales"},
                                                        {"half_up", "interpolationMode nearest"},
                                                        {"last_image_missing", "N above 1"}};
  for (const auto& [fault, trait] : faults) {
    const Outcome outcome = Verify(fault, {"--report", "r.html"});
    EXPECT_THAT(outcome.out,
                testing::ContainsRegex(std::string("all [0-9]+ cases have: [^;]*") + trait))
        << outcome.out;
    EXPECT_THAT(Read("r.html"), HasSubstr(trait));
  }
  EXPECT_THAT(Verify("plain").out, Not(HasSubstr("cases have")));
}

// A user's library is linked to libportacl.so, which has every function. If the library lacks a
// function, or has it under a C++ name, portacl's function would be judged instead.
TEST_F(VerifyTest, AFunctionThatTheLibraryIsOnlyLinkedToFails) {
  const std::string own = PORTACL_FIXTURE_DIR "/own_kernel";
  Write("cases.txt",
        std::string(kSevens) + "upsample_nearest_exact1d name=other self=1x1x5 out=1x1x9\n");
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", own, "--junit", "j.xml", "--report", "r.html"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: 1 of 4 cases failed, 1 of them not judged; 3 of 3"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("other\n  aclnnUpsampleNearestExact1dGetWorkspaceSize "
                                     "comes from .*libportacl.so[.0-9]*, not from " +
                                     own));
  EXPECT_THAT(outcome.out, HasFunctions(2, own + "/libopapi.so"));
  for (const char* const file : {"j.xml", "r.html"}) {
    EXPECT_THAT(Read(file), HasSubstr(own + "/libopapi.so")) << file;
    EXPECT_THAT(Read(file), testing::ContainsRegex("libportacl.so[.0-9]*, not from " + own))
        << file;
  }
  const Outcome as_json = Run({"verify", "cases.txt", "--lib-dir", own, "--json"});
  const json functions = json::parse(as_json.out).at("functions");
  EXPECT_EQ(functions.at("aclnnUpsampleNearestExact2d"), own + "/libopapi.so");
  EXPECT_THAT(functions.at("aclrtMalloc").get<std::string>(), HasSubstr("libportacl.so"));
}

// A runtime in the folder is found before the operators, and has them too where it is portacl's.
TEST_F(VerifyTest, ARuntimeBesideTheLibraryDoesNotAnswerForIt) {
  std::filesystem::create_directories(Path("lib"));
  std::filesystem::create_symlink(PORTACL_FIXTURE_DIR "/own_kernel/libopapi.so",
                                  Path("lib/libopapi.so"));
  std::filesystem::create_symlink(PORTACL_LIBRARY_DIR "/libportacl.so", Path("lib/libascendcl.so"));
  Write("cases.txt",
        std::string(kSevens) + "upsample_nearest_exact1d name=other self=1x1x5 out=1x1x9\n");
  const Outcome outcome = Run({"verify", "cases.txt", "--lib-dir", "lib"});
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: 1 of 4 cases failed, 1 of them not judged; 3 of 3"));
  EXPECT_THAT(outcome.out, HasFunctions(2, PORTACL_FIXTURE_DIR "/own_kernel/libopapi.so"));
}

// A link to portacl beside a library of one's own is there to be found by it, not to be judged.
TEST_F(VerifyTest, PortaclBesideAnOwnLibraryDoesNotAnswerForIt) {
  std::filesystem::create_directories(Path("lib"));
  std::filesystem::create_symlink(PORTACL_FIXTURE_DIR "/own_kernel/libopapi.so",
                                  Path("lib/libopapi.so"));
  Write("cases.txt",
        std::string(kSevens) + "upsample_nearest_exact1d name=other self=1x1x5 out=1x1x9\n");
  for (const char* const name : {"libportacl.so", "libopapi_nn.so"}) {
    std::filesystem::create_symlink(PORTACL_LIBRARY_DIR "/libportacl.so", Path("lib") + "/" + name);
    const Outcome outcome = Run({"verify", "cases.txt", "--lib-dir", "lib"});
    EXPECT_EQ(outcome.exit_code, 1) << name << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("FAILED: 1 of 4 cases failed, 1 of them not judged"));
    EXPECT_THAT(outcome.out, HasSubstr("not from lib")) << name;
    std::filesystem::remove(Path("lib") + "/" + name);
  }
  const Outcome named = Run(
      {"verify", "cases.txt", "--lib-dir", "lib", "--lib", PORTACL_LIBRARY_DIR "/libportacl.so"});
  EXPECT_THAT(named.out, HasSubstr("FAILED: 1 of 4 cases failed, 1 of them not judged"));
}

// Nor beside a vendor's library that has the name of portacl's second one.
TEST_F(VerifyTest, PortaclBesideAnotherCustOpapiDoesNotAnswerForIt) {
  std::filesystem::create_directories(Path("lib"));
  std::filesystem::copy_file(PORTACL_LIBRARY_DIR "/libportacl.so", Path("lib/libportacl.so.0"));
  std::filesystem::create_symlink("libportacl.so.0", Path("lib/libportacl.so"));
  std::filesystem::copy_file(PORTACL_FIXTURE_DIR "/own_kernel/libopapi.so",
                             Path("lib/libcust_opapi.so"));
  Write("cases.txt",
        std::string(kSevens) + "upsample_nearest_exact1d name=other self=1x1x5 out=1x1x9\n");
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", "lib"}, "LD_LIBRARY_PATH=" + Path("lib"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: 1 of 4 cases failed, 1 of them not judged"));
  EXPECT_THAT(outcome.out, HasSubstr("not from lib"));
}

// A forced family that ref stands in for would pass without having run.
TEST_F(VerifyTest, KernelsThatPORTACL_IMPL_DoesNotReachAreCounted) {
  Write("cases.txt", kSevens);
  const Outcome ref =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR}, "PORTACL_IMPL=ref");
  EXPECT_EQ(ref.exit_code, 0) << ref.out << ref.err;
  EXPECT_EQ(ref.err, "");
  const json info = RunJson({"info", "--json"});
  if (info.dump().find("\"avx2\"") == std::string::npos) GTEST_SKIP() << "no AVX2 here";
  Write("cases.txt",
        Read("cases.txt") + "upsample_nearest_exact2d name=nothing self=1x1x1x1 out=1x1x1x1\n");
  const Outcome avx2 = Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR, "--binary"},
                           "PORTACL_IMPL=avx2");
  EXPECT_EQ(avx2.exit_code, 0) << avx2.out << avx2.err;
  Write("cases.txt", "upsample_nearest_exact2d_backward gradOutput=1x3x8x13 out=1x3x8x5\n");
  const Outcome path =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR}, "PORTACL_IMPL=avx2:permute");
  EXPECT_EQ(path.exit_code, 0) << path.out << path.err;
  EXPECT_EQ(path.err, "") << "the path ran";
  Write("cases.txt", kSevens);
  const Outcome own = Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/own_kernel"},
                          "PORTACL_IMPL=avx2");
  EXPECT_EQ(own.exit_code, 0) << own.out << own.err;
}

TEST_F(VerifyTest, ALibraryOfAnyNameIsNamed) {
  std::filesystem::copy_file(PORTACL_FIXTURE_DIR "/own_kernel/libopapi.so", Path("mine.so"));
  Write("cases.txt", kSevens);
  for (const char* const name : {"./mine.so", "mine.so"}) {  // not only on the loader's path
    const Outcome outcome = Run({"verify", "cases.txt", "--lib", name});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasFunctions(2, Path("mine.so")));
  }
  Write("cases.txt", "upsample_nearest_exact1d self=1x1x5 out=1x1x9\n");
  EXPECT_THAT(Run({"verify", "cases.txt", "--lib", "./mine.so"}).out, HasSubstr("/mine.so"));
}

TEST_F(VerifyTest, TheExampleOfAnOwnKernelIsRightInEveryCase) {
  for (const char* const kind : {"boundary", "smoke"}) {
    ASSERT_EQ(Run({"cases", "generate", kind, "--operator", "upsample_nearest_exact2d", "-o",
                   "cases.txt"})
                  .exit_code,
              0);
    const Outcome outcome =
        Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/own_kernel", "--binary"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
}

// In each dtype and layout, and in one run as in the next.
TEST_F(VerifyTest, AWriteBesideATensorIsNamedByTheByte) {
  Write("cases.txt",
        "upsample_nearest_exact2d name=float self=1x1x5x6 out=1x1x5x6\n"
        "upsample_nearest_exact2d name=half dtype=float16 self=1x1x5x6 out=1x1x5x6\n"
        "grid_sampler_2d name=flipped input=1x1x5x6 grid=1x5x6x2 out.layout=flipped\n");
  const std::pair<const char*, std::vector<const char*>> faults[] = {
      {"write_past",
       {"out was written past its end: 4 bytes, the first is byte 120 of 120",
        "out was written past its end: 2 bytes, the first is byte 60 of 60"}},
      {"write_far_past",
       {"out was written past its end: 4096 bytes, the first is byte 120 of 120"}},
      {"write_before",
       {"out was written before its beginning: 4 bytes, the first is byte -4",
        "out was written before its beginning: 2 bytes, the first is byte -2"}},
      {"write_past_workspace",
       {"the workspace was written past its end: 2 bytes, the first is byte 64 of 64"}}};
  for (const auto& [fault, messages] : faults) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Outcome outcome = Verify(fault);
      EXPECT_EQ(outcome.exit_code, 1);
      EXPECT_THAT(outcome.out, HasSubstr("FAILED: 3 of 3 cases failed; 3 of 3 outputs are"))
          << fault;
      for (const char* const message : messages) EXPECT_THAT(outcome.out, HasSubstr(message));
    }
  }
}

TEST_F(VerifyTest, AnInputThatIsWrittenIsNamedAndTheOutputsAreJudged) {
  Write("cases.txt",
        std::string(kSevens) + "grid_sampler_2d_backward name=back input=1x2x5x7 grid=1x3x4x2\n");
  const Outcome outcome = Verify("write_input");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("seven\n  self is an input, but byte 12 of it was written "
                                     "(element 3 of its storage)\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("back\n  gradOutput is an input, but byte 12 of it was written"));
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: 4 of 4 cases failed; 5 of 5 outputs are"));
}

// No element of the input was written: an element's number would mislead the reader.
TEST_F(VerifyTest, AWriteBesideAnInputIsNoWriteOfIt) {
  Write("cases.txt", "upsample_nearest_exact2d name=float self=1x1x5x6 out=1x1x5x6\n");
  const Outcome outcome = Verify("write_past_input");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("self is an input, but memory beside it was written"));
  EXPECT_THAT(outcome.out, HasSubstr("self was written past its end: "));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("of its storage")));
}

TEST_F(VerifyTest, WhatNobodyWroteIsCalledSo) {
  Write("cases.txt",
        "upsample_nearest_exact2d name=number self=1x1x2x3 out=1x1x2x3\n"
        "upsample_nearest_exact2d name=half dtype=float16 self=1x1x2x3 out=1x1x2x3\n"
        "upsample_nearest_exact1d name=nan self=1x1x1 out=1x1x1 self.values=nonfinite seed=54\n");
  const Outcome outcome = Verify("stale_last", {"--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const json report = json::parse(outcome.out);
  for (const json& entry : report.at("cases")) {
    const json& output = entry.at("outputs")[0];
    EXPECT_EQ(output.at("never_written"), 1) << entry;
    EXPECT_EQ(output.at("nan_mismatch"), 0) << entry;
    EXPECT_EQ(output.at("worst")[0].at("actual"), "never written") << entry;
  }
  EXPECT_THAT(Verify("stale_last").out, HasSubstr("out: 1 of 6 elements were never written\n"
                                                  "  out[0, 0, 1, 2] was never written, golden "));
}

TEST_F(VerifyTest, AMissingOperatorCostsItsCasesOnly) {
  Write("cases.txt",
        std::string(kSevens) + "grid_sampler_2d name=sampler input=1x1x5x7 grid=1x2x2x2\n");
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/own_runtime"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("1 of 4 cases failed, 1 of them not judged; 3 of 3 outputs are"));
  EXPECT_THAT(outcome.out,
              HasSubstr("sampler\n  the library has no aclnnGridSampler2DGetWorkspaceSize\n"));
  // The report says what it cannot check.
  EXPECT_THAT(outcome.err, HasSubstr("the library's runtime has no aclrtLaunchHostFunc, "));
}

// ---- how a kernel meets the interface ----------------------------------------------------------

struct Kind {
  const char* fault;
  std::vector<const char*> words;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"in_phase_1", {"computed before phase 2"}},
      {"at_once", {"ignores the stream"}},
      {"reads_output_at_once",
       {"  ignores the stream: it is right if the work before it on the stream is done by phase 2; "
        "and reads its output before it writes it: it is right if that is 0\n"}},
      {"handles_in_phase_2", {"reads handles in phase 2", "tensor is not a live handle"}},
      {"plan_kept", {"keeps addresses of an earlier call"}},
      {"memo_stale", {"keeps results of an earlier call", "in the second call, with seed=1"}},
      {"first_call_only", {"keeps something of an earlier call"}},
      {"reads_workspace", {"reads its workspace before it writes it"}},
      {"reads_output", {"reads its output before it writes it"}},
      {"late_thread", {"is not done when the stream is synchronised"}},
      {"reads_past_input", {"reads past self: its end was passed at byte 120 of 120"}},
      {"now_and_then", {"is not always right: the same calls differ from run to run"}},
      {"uses_past_input", {"reads past self: its end was passed at byte 120 of 120"}},
      {"reads_before_input", {"reads before self: first at byte -4"}},
      {"reads_past_input_times_0", {"reads past an input"}}};
  return kinds;
}

TEST_F(VerifyTest, TheKindOfAFaultIsNamed) {
  Write("cases.txt",
        "upsample_nearest_exact2d name=one self=1x1x5x6 out=1x1x5x6\n"
        "upsample_nearest_exact2d name=two self=2x3x4x5 out=2x3x9x7 self.layout=padded\n");
  for (const auto& [fault, words] : Kinds()) {
    const Outcome outcome = Verify(fault, {"--jobs", "1"});
    EXPECT_EQ(outcome.exit_code, 1) << fault;
    EXPECT_THAT(outcome.out, HasSubstr("FAILED one\n")) << fault;
    for (const char* const word : words) EXPECT_THAT(outcome.out, HasSubstr(word)) << fault;
  }
  for (const char* const right : {"plain", "waits"}) {
    const Outcome outcome = Verify(right);
    EXPECT_EQ(outcome.exit_code, 0) << right << outcome.out << outcome.err;
  }
}

TEST_F(VerifyTest, TheKindOfAFaultIsInEveryReport) {
  Write("cases.txt", "upsample_nearest_exact2d name=one self=1x1x5x6 out=1x1x5x6\n");
  const Outcome outcome =
      Verify("in_phase_1", {"--json", "--junit", "j.xml", "--report", "r.html"});
  const std::string words = "computed before phase 2: it is right if its inputs are there";
  EXPECT_THAT(json::parse(outcome.out).at("cases")[0].at("fault").get<std::string>(),
              HasSubstr(words));
  EXPECT_THAT(Read("j.xml"), HasSubstr("message=\"" + words));
  EXPECT_THAT(Read("r.html"), HasSubstr(words));
}

// A kernel that is wrong whatever it meets has no such fault.
TEST_F(VerifyTest, AWrongKernelKeepsItsNumbersAlone) {
  Write("cases.txt", kSevens);
  const Outcome outcome = Verify("source_plus_one", {"--json"});
  const json report = json::parse(outcome.out);
  for (const json& entry : report.at("cases")) {
    EXPECT_FALSE(entry.contains("fault")) << entry;
    EXPECT_FALSE(entry.contains("error")) << entry;
  }
}

TEST_F(VerifyTest, AfterThreeHangsOfAFunctionTheRestIsNotRun) {
  std::string cases;
  for (int i = 1; i <= 5; ++i) {
    cases += fmt::format("upsample_nearest_exact2d name=c{} self=1x1x{}x7 out=1x1x{}x7\n", i, i, i);
  }
  Write("cases.txt", cases + "upsample_nearest_exact1d name=other self=1x1x5 out=1x1x9\n");
  const Outcome outcome = Verify("hang", {"--timeout", "5", "--jobs", "1", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  int late = 0, not_run = 0;
  const json report = json::parse(outcome.out);
  for (const json& entry : report.at("cases")) {
    const std::string error = entry.value("error", "");
    late += error == "no answer within 5 s; the process was ended" ? 1 : 0;
    not_run += error == "not run: aclnnUpsampleNearestExact2d gave no answer in time in 3 cases";
    EXPECT_EQ(entry.at("passed"), entry.at("name") == "other");
  }
  EXPECT_EQ(late, 3);
  EXPECT_EQ(not_run, 2);
}

TEST_F(VerifyTest, ACrashTellsItsAddressAndItsStack) {
  Write("cases.txt", kSevens);
  const Outcome outcome = Verify("crash_at_null");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("the library crashed: signal 11 (Segmentation fault) at "
                                     "address 0x0, which is close to null\n    #0 "));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("    #0 [^\n]*fixture/libopapi.so[+]0x[0-9a-f]+"));
}

TEST_F(VerifyTest, TheSeedChoosesTheOrderOfCases) {
  std::string cases;
  for (int i = 2; i < 20; ++i) {
    cases += fmt::format("upsample_nearest_exact2d self=1x1x1x{} out=1x1x1x{}\n", i, i);
  }
  Write("cases.txt", cases);
  const auto order = [&](const char* seed) {
    const Outcome outcome = Verify("tells", {"--seed", seed, "--jobs", "1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    return outcome.err;
  };
  const std::string one = order("1");
  EXPECT_EQ(order("1"), one);
  EXPECT_NE(order("2"), one);
}

TEST_F(VerifyTest, WhereErrorsLieIsSaid) {
  Write("cases.txt", kSevens);
  EXPECT_THAT(Verify("stale_last").out, HasSubstr("the errors of each of 3 outputs are all in its "
                                                  "last column, in its last row\n"));
  EXPECT_THAT(Verify("source_plus_one").out, Not(HasSubstr("the errors of each")));
}

TEST_F(VerifyTest, GoldensBitsHaveNoErrorToTell) {
  Write("cases.txt", "upsample_bilinear2d dtype=float16 self=1x1x5x6 out=1x1x9x11\n");
  const Outcome outcome = Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR});
  EXPECT_THAT(outcome.out, HasSubstr("; all elements have golden's bits\n"));
}

}  // namespace
}  // namespace portacl::cli_test
