// One .TP for each option, in the groups that the help text shows.
#include "tools/manual/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <portacl/portacl.h>

#include <sstream>

#include "tools/manual/option_words.h"

namespace portacl::cli {
namespace {

struct Meaning {
  const char* name;
  const char* text;
};

constexpr Meaning kExitStatus[] = {
    {"0", "ok"},
    {"1", "a verification or a comparison failed"},
    {"2", "wrong usage or input"},
    {"3", "the machine or the library failed: out of memory, disk full"},
};

constexpr Meaning kEnvironment[] = {
    {"PORTACL_NUM_THREADS", "threads of the kernels; --threads wins"},
    {"PORTACL_ADAPT_THREADS",
     "0: a call uses all its threads, also where waiting for them costs more than they save"},
    {"PORTACL_IMPL", "force one kernel; --impl wins"},
    {"PORTACL_PROFILE", "which product's rules the aclnn API follows; --profile wins"},
    {"PORTACL_EDITION", "8.x or 9.x: which edition of the vendor's pages it follows"},
    {"PORTACL_STRICT", "1: refuse what the aclnn API otherwise accepts with a warning"},
    {"PORTACL_LOG",
     "trace, debug, info, warn, err or off: the log on standard error; calls: a line for each "
     "call, which `portacl cases from-log` reads"},
    {"PORTACL_TRACE", "a file for a timeline of what ran (Chrome's trace format)"},
    {"NO_COLOR", "1: no colours"},
};

// Escapes text for man(7): backslashes, typed hyphens, and characters that would begin a request.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins = escaped.empty() || escaped.back() == '\n';
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// A paragraph with source lines of at most 80 columns, as man(7) asks for.
std::string Filled(const std::string& text) {
  std::istringstream stream(text);
  std::string lines, line;
  for (std::string word; stream >> word;) {
    if (!line.empty() && Escaped(fmt::format("{} {}", line, word)).size() > 80) {
      lines += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return Escaped(lines + line);
}

// Lines as they are, at the width of a terminal.
std::string Verbatim(const std::string& text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", Escaped(text));
}

std::string Entry(const std::string& name, const std::string& value, const std::string& text) {
  const std::string behind = value.empty() ? "" : fmt::format(" \\fI{}\\fR", Escaped(value));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", Escaped(name), behind, Filled(text));
}

std::string OptionEntry(const CLI::Option& option) {
  return Entry(fmt::format("{}", fmt::join(SpellingsOf(option), ", ")),
               TakesValue(option) ? option.get_type_name() : "", option.get_description());
}

std::string CommandText(const CLI::App& command) {
  std::string synopsis;
  for (const CLI::Option* option : Positionals(command)) {
    const std::string name = option->get_name(true);
    synopsis += option->get_required() ? " " + name : " [" + name + "]";
  }
  std::string text = fmt::format(".SS \"portacl {}{} [options]\"\n{}.\n", command.get_name(),
                                 Escaped(synopsis), Filled(command.get_description()));
  for (const CLI::Option* option : Positionals(command)) {
    text += Entry(option->get_name(true), "", option->get_description());
  }
  std::string group;
  for (const CLI::Option* option : NamedOptions(command)) {
    if (option->get_group() != group) {
      group = option->get_group();
      text += fmt::format(".PP\n{}:\n", Escaped(group));
    }
    text += OptionEntry(*option);
  }
  return text + Verbatim(command.get_footer());
}

template <size_t n>
std::string Meanings(const Meaning (&list)[n]) {
  std::string text;
  for (const Meaning& meaning : list) text += Entry(meaning.name, "", meaning.text);
  return text;
}

}  // namespace

std::string ManPage(const CLI::App& app, const std::string& date) {
  std::string commands, options;
  for (const CLI::App* command : Commands(app)) commands += CommandText(*command);
  for (const CLI::Option* option : NamedOptions(app)) options += OptionEntry(*option);
  return fmt::format(
      ".TH PORTACL 1 \"{}\" \"portacl {}\" \"User Commands\"\n"
      ".SH NAME\nportacl \\- image resampling and its gradients on any machine\n"
      ".SH SYNOPSIS\n.B portacl\n.I command\n[\\fIoptions\\fR]\n.br\n.B portacl help\n"
      "[\\fIcommand\\fR]\n"
      ".SH DESCRIPTION\n{}\n"
      "Runs the operators on files, pictures or generated data, shows what the library is,\n"
      "compares results with references, and demonstrates itself on photographs.\n"
      ".SH OPTIONS\n{}.SH COMMANDS\n{}.SH EXIT STATUS\n{}.SH ENVIRONMENT\n{}",
      date, portaclGetVersion(), Filled(app.get_description()), options, commands,
      Meanings(kExitStatus), Meanings(kEnvironment));
}

}  // namespace portacl::cli
