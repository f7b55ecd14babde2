// `portacl info`: what the library is and what it runs on, from portaclGetInfo().
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/terminal.h"

namespace portacl::cli {
namespace {

using Json = nlohmann::ordered_json;

Json LibraryInfo() {
  const Json info = Json::parse(portaclGetInfo(), nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) throw RuntimeFailure("portaclGetInfo() did not return a JSON object");
  return info;
}

std::string WordOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.dump();
  std::string words;
  for (const Json& entry : value) words += (words.empty() ? "" : " ") + WordOf(entry);
  return words.empty() ? "none" : words;
}

// "avx512, avx2, ref"; those that this CPU cannot run in brackets.
std::string KernelList(const Json& kernels) {
  std::string list;
  for (const Json& kernel : kernels) {
    const std::string name = kernel.value("name", "?");
    if (!list.empty()) list += ", ";
    list += kernel.value("available", false) ? name : "(" + name + ")";
  }
  return list;
}

std::string InfoText(const Json& info) {
  using enum Table::Align;
  Table table({kLeft, kLeft});
  for (const auto& [key, value] : info.items()) {
    if (key == "operators") continue;
    std::string label = key;
    std::replace(label.begin(), label.end(), '_', ' ');
    const bool unforced = key == "impl" && WordOf(value).empty();
    table.AddRow({label, unforced ? "the best available" : WordOf(value)});
  }
  std::string text = table.Text();
  if (!info.contains("operators")) return text;
  Table operators({kLeft, kLeft});
  operators.AddHeading({"operator", "kernels, best first (in brackets: not on this machine)"});
  for (const auto& [name, kernels] : info["operators"].items()) {
    operators.AddRow({name, KernelList(kernels)});
  }
  return text + "\n" + operators.Text();
}

}  // namespace

void AddInfoCommand(CLI::App& app, Action& action) {
  CLI::App* info = app.add_subcommand("info", "Show version, CPU, kernels, threads and profile");
  const auto json = std::make_shared<bool>(false);
  info->add_flag("--json", *json, "print a JSON object");
  info->callback([json, &action] {
    action = [json] {
      Print(*json ? LibraryInfo().dump(2) + "\n" : InfoText(LibraryInfo()));
      return kExitOk;
    };
  });
}

}  // namespace portacl::cli
