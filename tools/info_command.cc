// `portacl info`: what the library is and what it runs on, from portaclGetInfo().
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/library_info.h"
#include "tools/run_names.h"
#include "tools/terminal.h"

namespace portacl::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string WordOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.dump();
  std::string words;
  for (const Json& entry : value) words += (words.empty() ? "" : " ") + WordOf(entry);
  return words.empty() ? "none" : words;
}

// Refuses a PORTACL_PROFILE that every operator of the aclnn API refuses.
void CheckProfile() {
  const char* profile = std::getenv("PORTACL_PROFILE");
  if (profile == nullptr || *profile == '\0' || portaclSetProfile(profile) == PORTACL_OK) return;
  throw BadInput(fmt::format("PORTACL_PROFILE is \"{}\": {}", profile, portaclGetErrorMessage()));
}

// The forced implementation, with a word where no operator can have it.
std::string ImplText(const Json& info) {
  std::string forced = info.value("impl", "");
  if (forced.empty()) return "the best available";
  const std::string family = forced.substr(0, forced.find(':'));  // without its path
  for (const Json& kernels : info.value("operators", Json::object())) {
    for (const Json& kernel : kernels) {
      if (kernel.value("name", "") == family && kernel.value("available", false)) return forced;
    }
  }
  return forced + " (not on this machine)";
}

// How many NVIDIA GPUs there are, or why none.
std::string CudaText(const Json& cuda) {
  const int devices = cuda.value("devices", 0);
  if (devices == 0) return "no GPU: " + cuda.value("why_none", "");
  return fmt::format("{} GPU{}", devices, devices == 1 ? "" : "s");
}

// "avx512, avx2, ref"; what this CPU cannot run in brackets.
std::string KernelList(const Json& kernels) {
  std::string list;
  for (const KernelInfo& kernel : KernelsOf(kernels)) {
    if (!list.empty()) list += ", ";
    list += kernel.available ? kernel.name : "(" + kernel.name + ")";
  }
  return list;
}

std::string InfoText(const Json& info) {
  using enum Table::Align;
  Table table({kLeft, kLeft});
  for (const auto& [key, value] : info.items()) {
    if (key == "operators" || key == "functions") continue;
    std::string label = key;
    std::replace(label.begin(), label.end(), '_', ' ');
    table.AddRow({label, key == "impl"   ? ImplText(info)
                         : key == "cuda" ? CudaText(value)
                                         : WordOf(value)});
  }
  std::string text = table.Text();
  if (!info.contains("operators")) return text;
  Table operators({kLeft, kLeft, kLeft});
  operators.AddHeading({"operator", "also called", "kernels (in brackets: not here)"});
  for (const RunName& name : RunNames()) {
    const Json kernels = info["operators"].value(name.library, Json::array());
    operators.AddRow({name.name, name.alias == name.name ? "" : name.alias, KernelList(kernels)});
  }
  return text + "\n" + operators.Text() + "\n" + AnyRankText() + "\n";
}

// The library's own object, and the names that `portacl run` takes.
Json InfoJson() {
  Json info = LibraryInfo();
  for (const RunName& name : RunNames()) {
    info["names"].push_back({{"name", name.name},
                             {"also", name.alias},
                             {"any_rank", name.any_rank},
                             {"operator", name.library}});
  }
  return info;
}

}  // namespace

void AddInfoCommand(CLI::App& app, Action& action) {
  CLI::App* info = app.add_subcommand("info", "Show version, CPU, kernels, threads and profile");
  const auto json = std::make_shared<bool>(false);
  info->add_flag("--json", *json, "print a JSON object");
  info->callback([json, &action] {
    action = [json] {
      CheckProfile();
      Print(*json ? JsonText(InfoJson()) : InfoText(LibraryInfo()));
      return kExitOk;
    };
  });
}

}  // namespace portacl::cli
