// `portacl info`: facts about the library and its machine, from portaclGetInfo().
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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

// The forced implementation, with a word if no operator can have it.
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
  if (devices == 0) return "none: " + cuda.value("why_none", "");
  return fmt::format("{} GPU{}", devices, devices == 1 ? "" : "s");
}

// The meaning of the library's words; other words are not shown. Counters of calls are not shown,
// because this process makes no calls.
struct InfoLine {
  const char* key;
  const char* label;
  const char* note;
};
constexpr InfoLine kMachine[] = {{"version", "version", ""},
                                 {"cpu", "CPU", ""},
                                 {"instruction_sets", "instruction sets", ""},
                                 {"thread_pool", "thread pool", ""},
                                 {"cuda", "NVIDIA GPUs", ""}};
constexpr InfoLine kSettings[] = {
    {"threads", "PORTACL_NUM_THREADS", "threads of the kernels"},
    {"adapt_threads", "PORTACL_ADAPT_THREADS", "fewer where waiting costs more"},
    {"impl", "PORTACL_IMPL", "kernels that are forced"},
    {"profile", "PORTACL_PROFILE", "what the aclnn API accepts"},
    {"edition", "PORTACL_EDITION", "the pages that the aclnn API follows"},
    {"strict", "PORTACL_STRICT", "refuses what otherwise gets a warning"}};

template <size_t kSize>
std::string LinesOf(const Json& info, const InfoLine (&lines)[kSize]) {
  using enum Table::Align;
  Table table({kLeft, kLeft, kLeft});
  for (const InfoLine& line : lines) {
    if (!info.contains(line.key)) continue;
    const std::string key = line.key;
    table.AddRow({line.label,
                  key == "impl"   ? ImplText(info)
                  : key == "cuda" ? CudaText(info[key])
                                  : WordOf(info[key]),
                  line.note});
  }
  return table.Text();
}

// "avx512, avx2, ref"; kernels that this CPU cannot run are in brackets.
std::string KernelList(const Json& kernels) {
  std::string list;
  for (const KernelInfo& kernel : KernelsOf(kernels)) {
    if (!list.empty()) list += ", ";
    list += kernel.available ? kernel.name : "(" + kernel.name + ")";
  }
  return list;
}

// The operators by their kernels, as most have the same.
std::string OperatorsText(const Json& operators) {
  using enum Table::Align;
  std::vector<std::pair<std::string, Table>> tables;
  for (const RunName& name : RunNames()) {
    const std::string kernels = KernelList(operators.value(name.library, Json::array()));
    const auto has = [&](const auto& table) { return table.first == kernels; };
    auto table = std::find_if(tables.begin(), tables.end(), has);
    if (table == tables.end()) {
      table = tables.insert(table, {kernels, Table({kLeft, kLeft})});
      table->second.AddHeading({"kernels: " + kernels, "the vendor's name"});
    }
    table->second.AddRow({name.name, name.alias});
  }
  std::string text;
  for (const auto& [kernels, table] : tables) text += "\n" + table.Text();
  return text;
}

std::string InfoText(const Json& info) {
  std::string text = LinesOf(info, kMachine) + "\n" + LinesOf(info, kSettings);
  if (!info.contains("operators")) return text;
  return text +
         "\nOperators by the names that `portacl run` takes. Above each list are its\n"
         "kernels: a call takes the first that can do it (in brackets: not on this CPU).\n" +
         OperatorsText(info["operators"]) + "\n" + AnyRankText() + "\n";
}

// Every function of the aclnn API, and who computes it: docs/aten.md explains the words.
std::string FunctionsText(const Json& info) {
  using enum Table::Align;
  Table table({kLeft, kLeft});
  for (const Json& names : info.value("functions", Json::object())) {
    for (const Json& name : names.value("aclnn", Json::array())) table.AddRow({name, "exact"});
  }
  for (const Json& name : info.value("companion", Json::array())) table.AddRow({name, "exact"});
  const Json aten = info.value("aten", Json::object());
  for (const auto& [name, right] : aten.items()) {
    const bool identity = right.get<std::string>().starts_with("alias(");
    table.AddRow({name, identity ? "no device layout" : "PyTorch's"});
  }
  return table.Text();
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
  const auto functions = std::make_shared<bool>(false);
  info->add_flag("--functions", *functions, "list the functions of the aclnn API")
      ->excludes("--json");
  info->callback([json, functions, &action] {
    action = [json, functions] {
      CheckProfile();
      if (*functions) {
        Print(FunctionsText(LibraryInfo()));
        return kExitOk;
      }
      Print(*json ? JsonText(InfoJson()) : InfoText(LibraryInfo()));
      return kExitOk;
    };
  });
}

}  // namespace portacl::cli
