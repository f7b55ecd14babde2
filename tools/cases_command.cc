// `portacl cases`: lists of cases, made by rule or read from a log, in any of their formats.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/parse.h"
#include "tools/terminal.h"
#include "tools/testing/call_log.h"
#include "tools/testing/case_list.h"
#include "tools/testing/generate.h"

namespace portacl::cli {
namespace {

struct CasesCommand {
  std::string what, from, output, seed, profile, op;
  int64_t count = 0;
  bool small = false;
};

std::vector<golden::Case> Generated(const CasesCommand& options) {
  const auto& kinds = golden::CaseKinds();
  const bool known = std::any_of(kinds.begin(), kinds.end(),
                                 [&](const auto& kind) { return options.from == kind.word; });
  if (!known) {
    std::string words;
    for (const auto& kind : kinds) words += fmt::format(" {}", kind.word);
    throw BadInput(fmt::format("cases generate: '{}' is not one of{}", options.from, words));
  }
  golden::GenerateOptions generate;
  generate.count = options.count;
  if (!options.seed.empty()) generate.seed = ParseSeed(options.seed, "--seed");
  generate.small = options.small;
  generate.profile = options.profile;
  generate.op = options.op;
  return golden::GenerateCases(options.from, generate);
}

int RunCases(const CasesCommand& options) {
  std::vector<golden::Case> cases;
  if (options.what == "generate") {
    cases = Generated(options);
  } else if (options.what == "from-log") {
    cases = golden::ReadCallLog(options.from);
  } else {
    cases = golden::ReadCases(options.from);
  }
  if (options.output.empty()) {
    std::string text;
    for (const golden::Case& c : cases) text += golden::ToString(c) + "\n";
    Print(text);
    return kExitOk;
  }
  golden::WriteCases(options.output, cases);
  Print(fmt::format("cases: {} in {}\n", cases.size(), options.output));
  return kExitOk;
}

std::string KindsText() {
  std::string text = "Kinds of `generate`:";
  for (const auto& kind : golden::CaseKinds()) {
    text += fmt::format("\n  {:<10} {}", kind.word, kind.help);
  }
  return text;
}

}  // namespace

void AddCasesCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("cases", "Make, convert and check lists of cases");
  const auto options = std::make_shared<CasesCommand>();
  command
      ->add_option("WHAT", options->what,
                   "make a list; read one and write it again; or list what a program called, from "
                   "its log of calls (PORTACL_LOG=calls)")
      ->required()
      ->type_name("generate|convert|from-log")
      ->check(CLI::IsMember({"generate", "convert", "from-log"}).description(""));
  command->add_option("FROM", options->from, "generate: the kind (below); else the file")
      ->required()
      ->type_name("FILE|smoke|random|boundary|models|refusals");
  command
      ->add_option("-o,--output", options->output,
                   "list to write, .json, .csv or .txt (default: strings on standard output)")
      ->type_name("FILE");
  command->add_option("--count", options->count, "smoke, random: how many (default: 200)")
      ->check(CLI::Range(1, 10000000).description(""))
      ->type_name("N");
  command->add_option("--seed", options->seed, "random: default 1")->type_name("N");
  command->add_flag("--small", options->small, "models: the small form of each shape");
  command->add_option("--profile", options->profile, "only what it accepts (default: open)")
      ->type_name("atlas-a2|atlas-a3|atlas-training|open")
      ->check(CLI::IsMember({"atlas-a2", "atlas-a3", "atlas-training", "open"}).description(""));
  command->add_option("--operator", options->op, "only this one (default: all)")
      ->type_name("OPERATOR");
  command->footer(KindsText());
  command->callback([options, &action] { action = [options] { return RunCases(*options); }; });
}

}  // namespace portacl::cli
