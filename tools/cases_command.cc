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
#include "tools/testing/generate_cases.h"

namespace portacl::cli {
namespace {

struct CasesCommand {
  std::string what, from, output, seed, profile, op;
  int64_t count = 0;
  bool small = false;
};

void CheckKind(const std::string& word) {
  const auto& kinds = golden::CaseKinds();
  if (std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) { return word == kind.word; }))
    return;
  std::string words;
  for (const auto& kind : kinds) words += fmt::format("{}{}", words.empty() ? "" : ", ", kind.word);
  throw BadInput(fmt::format("cases generate: '{}' is not one of {}", word, words));
}

// An option that would change nothing is a mistake: the user means another list.
void CheckOptions(const CasesCommand& options) {
  const bool generate = options.what == "generate";
  if (generate) CheckKind(options.from);
  const bool smoke = generate && options.from == "smoke";
  const bool random = generate && options.from == "random";
  const auto only = [](bool given, const char* option, bool takes, const char* kinds) {
    if (!given || takes) return;
    throw BadInput(fmt::format("{}: goes with `cases generate{}` only", option, kinds));
  };
  only(options.count > 0, "--count", smoke || random, " smoke` and `cases generate random");
  only(!options.seed.empty(), "--seed", random, " random");
  only(options.small, "--small", generate && options.from == "models", " models");
  only(!options.profile.empty(), "--profile", generate, "");
  only(!options.op.empty(), "--operator", generate, "");
}

std::vector<golden::Case> Generated(const CasesCommand& options) {
  golden::GenerateOptions generate;
  generate.count = options.count;
  if (!options.seed.empty()) generate.seed = ParseSeed(options.seed, "--seed");
  generate.small = options.small;
  generate.profile = options.profile;
  generate.op = options.op;
  return golden::GenerateCases(options.from, generate);
}

std::vector<golden::Case> CasesFor(const CasesCommand& options) {
  if (options.what == "generate") return Generated(options);
  return options.what == "from-log" ? golden::ReadCallLog(options.from)
                                    : golden::ReadCases(options.from);
}

int RunCases(const CasesCommand& options) {
  CheckOptions(options);
  const std::vector<golden::Case> cases = CasesFor(options);
  if (cases.empty() && options.what == "generate") {
    throw BadInput(fmt::format(
        "cases generate {}: there is none{}{}", options.from,
        options.op.empty() ? "" : " of --operator " + options.op,
        options.profile.empty() ? "" : " that --profile " + options.profile + " accepts"));
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
      ->type_name("atlas-a2|atlas-a3|atlas-training|ascend-950|open")
      ->check(CLI::IsMember({"atlas-a2", "atlas-a3", "atlas-training", "ascend-950", "open"})
                  .description(""));
  command->add_option("--operator", options->op, "only this one (default: all)")
      ->type_name("CASE_OPERATOR");
  command->footer(KindsText());
  command->callback([options, &action] { action = [options] { return RunCases(*options); }; });
}

}  // namespace portacl::cli
