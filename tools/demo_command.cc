// `portacl demo`: the operators at work on photographs, verified, on one page that explains itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/demo/scene.h"
#include "tools/demo/verification.h"
#include "tools/terminal.h"
#include "tools/testing/host_tensors.h"

namespace portacl::cli {
namespace {

struct DemoOptions {
  std::string folder = "portacl-demo";
  bool json = false;
};

struct VerifiedCase {
  std::string name;
  DataType dtype;
  Verification verification;
};

std::vector<DemoScene> PlayScenes(Progress& progress) {
  using Play = DemoScene (*)();
  constexpr Play kScenes[] = {UpsampleScene, RotationScene,  LensScene,
                              ModesScene,    DataTypesScene, ResizingScene};
  std::vector<DemoScene> scenes;
  for (const Play play : kScenes) {
    progress.Show(static_cast<int>(scenes.size()), "scenes");
    scenes.push_back(play());
  }
  return scenes;
}

std::vector<VerifiedCase> VerifyCases(const std::vector<DemoScene>& scenes) {
  size_t total = 0;
  for (const DemoScene& scene : scenes) total += scene.cases.size() * kAllDataTypes.size();
  Progress progress(static_cast<int>(total));
  std::vector<VerifiedCase> verified;
  for (const DemoScene& scene : scenes) {
    for (const DemoCase& demo_case : scene.cases) {
      for (const DataType dtype : kAllDataTypes) {
        progress.Show(static_cast<int>(verified.size()),
                      fmt::format("{}, {}", demo_case.name, DataTypeName(dtype)));
        verified.push_back(
            {demo_case.name, dtype, VerifyAgainstRef(golden::InDType(demo_case.call, dtype))});
      }
    }
  }
  return verified;
}

int CountFailures(const std::vector<DemoScene>& scenes, const std::vector<VerifiedCase>& cases) {
  int failures = 0;
  for (const VerifiedCase& c : cases) failures += c.verification.problem.empty() ? 0 : 1;
  for (const DemoScene& scene : scenes) {
    for (const DemoCheck& check : scene.checks) failures += check.ok ? 0 : 1;
  }
  return failures;
}

// How many results were compared with ref, over all cases.
size_t CountComparisons(const std::vector<VerifiedCase>& cases) {
  size_t count = 0;
  for (const VerifiedCase& c : cases) count += c.verification.compared.size();
  return count;
}

std::string CaseTable(const std::vector<VerifiedCase>& cases) {
  using enum Table::Align;
  Table table({kLeft, kLeft, kRight, kRight, kLeft, kLeft, kLeft});
  table.AddHeading({"", "path", "time", "GB/s", "checksum", "aclnn", "verdict"});
  std::string last;
  for (const VerifiedCase& c : cases) {
    const Verification& v = c.verification;
    const bool ok = v.problem.empty();
    const std::string dtype = DataTypeName(c.dtype);
    if (c.name != last) table.AddTitle(c.name);
    table.AddRow({"  " + dtype, v.kernel, SecondsText(v.seconds), fmt::format("{:.2f}", v.gb_per_s),
                  v.checksum,
                  !v.aclnn ? "no " + dtype
                  : ok     ? "equal"
                           : "",
                  ok ? "ok" : v.problem},
                 ok ? Style::kGood : Style::kBad);
    last = c.name;
  }
  return table.Text() +
         fmt::format(
             "\nok: the same bits as the reference kernels, by the path named and with {}\n"
             "no float64: the aclnn function does not take it\n",
             fmt::join(cases.front().verification.compared, ", "));
}

std::string CheckTable(const std::vector<DemoScene>& scenes) {
  using enum Table::Align;
  Table table({kLeft, kLeft, kLeft});
  for (const DemoScene& scene : scenes) {
    for (const DemoCheck& check : scene.checks) {
      table.AddRow({check.name, check.detail, check.ok ? "ok" : "FAILED"},
                   check.ok ? Style::kGood : Style::kBad);
    }
  }
  return table.Text();
}

Sheet MakeSheet(std::vector<DemoScene>& scenes, const std::vector<VerifiedCase>& cases,
                int failures) {
  Sheet sheet;
  sheet.title = "portacl: image resampling and its gradients";
  sheet.subtitle = fmt::format(
      "Made by `portacl demo`, version {}. Each operator was also called in float16, bfloat16, "
      "float32 and float64 and its results compared with those of the reference kernels.",
      portaclGetVersion());
  sheet.badge_good = failures == 0;
  sheet.badge = failures == 0 ? fmt::format("{} of {} results equal ref bit by bit", cases.size(),
                                            cases.size())
                              : fmt::format("FAILED: {} of the checks", failures);
  for (DemoScene& scene : scenes) sheet.sections.push_back(scene.section);
  sheet.footer = {
      "Photographs: Chelsea the cat by Stéfan van der Walt (CC0); Eileen Collins by NASA (public "
      "domain); a cup of coffee by Rachel Michetti (CC0). All from scikit-image, cropped to 256 "
      "× 256 pixels.",
      "In gradient pictures mid-grey is 0, and each colour channel has its own gradient. "
      "Lettering: Roboto, Google (Apache-2.0)."};
  return sheet;
}

int WritePictures(const std::filesystem::path& folder, const Sheet& sheet) {
  int written = 1;
  WriteImage((folder / "contact-sheet.png").string(), DrawSheet(sheet));
  for (size_t i = 0; i < sheet.sections.size(); ++i) {
    WriteImage((folder / fmt::format("section-{}.png", i + 1)).string(),
               DrawSection(sheet.sections[i]));
    ++written;
    for (const auto& row : sheet.sections[i].rows) {
      for (const Panel& panel : row) {
        if (panel.file.empty()) continue;
        WriteImage((folder / panel.file).string(), panel.image);
        ++written;
      }
    }
  }
  return written;
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    throw BadInput(fmt::format("{}: cannot be made a folder: {}", folder, error.message()));
  }
}

nlohmann::ordered_json DemoJson(const std::vector<DemoScene>& scenes,
                                const std::vector<VerifiedCase>& cases, int failures,
                                const std::string& sheet_path) {
  nlohmann::ordered_json json = {
      {"ok", failures == 0}, {"failures", failures}, {"contact_sheet", sheet_path}};
  for (const VerifiedCase& c : cases) {
    const Verification& v = c.verification;
    json["cases"].push_back({{"case", c.name},
                             {"dtype", DataTypeName(c.dtype)},
                             {"path", v.kernel},
                             {"time_s", v.seconds},
                             {"gb_per_s", v.gb_per_s},
                             {"checksum", v.checksum},
                             {"compared", v.compared},
                             {"ok", v.problem.empty()},
                             {"problem", v.problem}});
  }
  for (const DemoScene& scene : scenes) {
    for (const DemoCheck& check : scene.checks) {
      json["checks"].push_back({{"name", check.name}, {"detail", check.detail}, {"ok", check.ok}});
    }
  }
  return json;
}

int RunDemo(const DemoOptions& options) {
  MakeFolder(options.folder);
  std::vector<DemoScene> scenes;
  {
    Progress progress(6);
    scenes = PlayScenes(progress);
  }
  const std::vector<VerifiedCase> cases = VerifyCases(scenes);
  const int failures = CountFailures(scenes, cases);
  const std::filesystem::path folder(options.folder);
  const int written = WritePictures(folder, MakeSheet(scenes, cases, failures));
  const std::string sheet_path = (folder / "contact-sheet.png").string();
  if (options.json) {
    Print(JsonText(DemoJson(scenes, cases, failures, sheet_path)));
  } else {
    Print(CaseTable(cases) + "\n" + CheckTable(scenes) + "\n");
    Print(fmt::format("{} pictures in {}; begin with {}\n", written, options.folder,
                      Styled(sheet_path, Style::kBold)));
    Print(failures == 0
              ? fmt::format("demo: {}, {} cases, {} comparisons with ref, all bits equal\n",
                            Styled("ok", Style::kGood), cases.size(), CountComparisons(cases))
              : fmt::format("demo: {}, {} of the lines above\n", Styled("FAILED", Style::kBad),
                            failures));
  }
  return failures == 0 ? kExitOk : kExitCheckFailed;
}

}  // namespace

void AddDemoCommand(CLI::App& app, Action& action) {
  CLI::App* demo = app.add_subcommand("demo", "Draw the operators' work on photographs, verified");
  const auto options = std::make_shared<DemoOptions>();
  demo->add_option("DIR", options->folder, "folder for the pictures (default: portacl-demo)")
      ->type_name("FOLDER");
  demo->add_flag("--json", options->json, "print a JSON object");
  demo->callback([options, &action] { action = [options] { return RunDemo(*options); }; });
}

}  // namespace portacl::cli
