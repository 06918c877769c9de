// The manual page encode(1).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <vector>

#include "encode/exit_code.h"

#include "kernels/kernels.h"
#include "shell/shell_texts.h"

namespace encode {
namespace {

struct Meaning {
  std::string name;
  std::string meaning;
};

std::vector<Meaning> variables() {
  return {
      {"TORCH_ROOT", "Folder of a LibTorch 2.11 (with lib/) that encode-worker uses."},
      {"ARROW_ROOT",
       "Folder of Arrow C++ (libarrow.so, libparquet.so) for Parquet and Arrow files."},
      {"ENCODE_WORKER", "Path of encode-worker, if it is not installed with encode."},
      {"ENCODE_CPU_CAPABILITY",
       fmt::format("Most advanced instruction set to use: {}.", kernels::capabilities_in_words())},
      {"ENCODE_CUDA_KERNELS", "off: use LibTorch's operations instead of the CUDA plugin."},
      {"CUDA_VISIBLE_DEVICES", "The GPUs that encode sees."},
      {"HF_HOME, HF_HUB_CACHE", "Where downloaded models are."},
      {"HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE", "Server, token and network use of encode pull."},
  };
}

// Escapes what roff would read as a command. A hyphen becomes a minus sign, which can be copied.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty() || out.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string item(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", head, escaped(text));
}

std::string flag_item(const FlagEntry& flag) {
  std::string head;
  for (const std::string& name : flag.names)
    head += fmt::format("{}{}", head.empty() ? "" : ", ", bold(name));
  if (flag.kind != ValueKind::kNone) head += " " + italic(flag.placeholder);
  return item(head, flag.help + (flag.required ? " (required)" : ""));
}

// Returns a text with examples. A line that begins with two spaces is an example and stays a line
// of its own.
std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  bool example = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != example) out += indented ? ".PP\n.EX\n" : ".EE\n.PP\n";
    example = indented;
    out += escaped(line) + "\n";
  }
  return out + (example ? ".EE\n" : "");
}

std::string command_section(const CommandEntry& command) {
  std::string synopsis = bold(fmt::format("encode {}", fmt::join(command.path, " ")));
  synopsis += " [" + italic("flags") + "]";
  for (const FlagEntry& value : command.positionals) {
    const std::string name = italic(value.names.front()) + (value.repeats ? " ..." : "");
    synopsis += value.required ? " " + name : " [" + name + "]";
  }
  std::string text = fmt::format(".SS encode {}\n{}\n.PP\n{}.\n", fmt::join(command.path, " "),
                                 synopsis, escaped(command.help));
  if (!command.aliases.empty())
    text += fmt::format("Another name of this command is {}.\n",
                        bold(fmt::format("{}", fmt::join(command.aliases, ", "))));
  bool of_config = command.more_flags;
  for (const FlagEntry& value : command.positionals)
    text += item(italic(value.names.front()), value.help);
  for (const FlagEntry& flag : command.flags) {
    if (flag.of_config()) {
      of_config = true;
    } else {
      text += flag_item(flag);
    }
  }
  if (of_config) text += ".PP\nThe command also takes the flags of the section CONFIG FLAGS.\n";
  if (!command.footer.empty()) text += ".PP\n" + paragraphs(command.footer);
  for (const CommandEntry& sub : command.commands) text += command_section(sub);
  return text;
}

std::string config_flags(const CommandEntry& root) {
  for (const CommandEntry& command : root.commands) {
    if (command.path.back() != kImpliedCommand) continue;
    std::string text;
    for (const FlagEntry& flag : command.flags) {
      if (flag.of_config()) text += flag_item(flag);
    }
    return text;
  }
  return "";
}

}  // namespace

std::string manual_page(const CommandEntry& root, const std::string& version,
                        const std::string& date) {
  std::string text = fmt::format(
      ".\\\" made by `encode man`\n.TH ENCODE 1 \"{}\" \"encode {}\" \"User Commands\"\n"
      ".SH NAME\nencode \\- turn text files into embedding matrices\n"
      ".SH SYNOPSIS\n{} {} [{}]\n.br\n{} {} {} [{}]\n.SH DESCRIPTION\n{}",
      date, escaped(version), bold("encode"), italic("command"), italic("flags"), bold("encode"),
      bold("--config"), italic("FILE"), italic("flags"), paragraphs(root.help));
  for (const FlagEntry& flag : root.flags) text += flag_item(flag);
  text += ".SH COMMANDS\n";
  for (const CommandEntry& command : root.commands) text += command_section(command);
  text +=
      ".SH CONFIG FLAGS\nThese flags set keys of the config. They override the config file for "
      "every stream.\n" +
      config_flags(root) + ".SH ENVIRONMENT\n";
  for (const Meaning& variable : variables()) text += item(bold(variable.name), variable.meaning);
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeFacts& facts : kExitCodes) {
    text += item(bold(std::to_string(static_cast<int>(facts.code))), std::string(facts.summary));
  }
  return text +
         ".PP\nIf a signal ends the program, the exit status is 128 and the number of the "
         "signal.\n.SH SEE ALSO\nThe files of the project in the folder docs, among them config.md "
         "and errors.md.\n";
}

}  // namespace encode
