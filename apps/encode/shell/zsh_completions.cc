// zsh: one function for each command, which hands the flags and values to _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell/shell_texts.h"

namespace encode {
namespace {

// A text for use between single quotes. A backslash goes before each character of `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

// Returns what _arguments needs to complete a value: ":message:action".
std::string value_of(const FlagEntry& flag) {
  std::string action;
  if (flag.kind == ValueKind::kFile) action = "_files";
  if (flag.kind == ValueKind::kDirectory) action = "_files -/";
  if (flag.kind == ValueKind::kWords) action = fmt::format("({})", fmt::join(flag.words, " "));
  const std::string message = flag.kind == ValueKind::kWords ? "value" : flag.placeholder;
  return fmt::format(":{}:{}", message, action);
}

std::string flag_line(const FlagEntry& flag) {
  const bool takes_value = flag.kind != ValueKind::kNone;
  std::string names;
  for (const std::string& name : flag.names) {
    // "=" after a long name allows "--flag=value", and "+" after a short one "-cvalue".
    const char* const suffix = !takes_value ? "" : name.starts_with("--") ? "=" : "+";
    names += fmt::format("{}{}{}", names.empty() ? "" : ",", name, suffix);
  }
  if (flag.names.size() > 1) names = "{" + names + "}";
  const std::string value = takes_value ? value_of(flag) : "";
  return fmt::format("    '({})'{}'[{}]{}' \\\n", fmt::join(flag.names, " "), names,
                     escaped(flag.help, "\\[]"), value);
}

std::string positional_line(const FlagEntry& flag, size_t number) {
  const std::string place = flag.repeats ? "*" : fmt::format("{}", number);
  return fmt::format("    '{}{}' \\\n", place, value_of(flag));
}

std::string function_name(const CommandEntry& command) {
  return fmt::format("_encode{}{}", command.path.empty() ? "" : "_", fmt::join(command.path, "_"));
}

std::string zsh_lines(const CommandEntry& command) {
  std::string text;
  for (const FlagEntry& flag : command.flags) text += flag_line(flag);
  for (size_t i = 0; i < command.positionals.size(); ++i)
    text += positional_line(command.positionals[i], i + 1);
  return text;
}

// Returns the function for a command that has subcommands.
std::string parent_function(const CommandEntry& command) {
  std::string described;
  std::string branches;
  for (const CommandEntry& sub : command.commands) {
    std::vector<std::string> names = sub.names();
    for (const std::string& name : names)
      described += fmt::format("        '{}:{}'\n", name, escaped(sub.help, "\\:"));
    branches += fmt::format("        {}) {} ;;\n", fmt::join(names, " | "), function_name(sub));
  }
  // The first word may be a flag of the program or of the implied command.
  const std::string implied = command.path.empty()
                                  ? fmt::format(
                                        "  if [[ $words[2] == -* ]]; then\n    _encode_{}\n"
                                        "    (( CURRENT > 2 )) && return\n  fi\n",
                                        kImpliedCommand)
                                  : "";
  return fmt::format(
      R"({name}() {{
  local context state state_descr line
  typeset -A opt_args
{implied}  _arguments -C \
{flags}    '1: :->command' \
    '*:: :->arguments' && return
  case $state in
    command)
      local -a commands=(
{described}      )
      _describe command commands
      ;;
    arguments)
      case $words[1] in
{branches}      esac
      ;;
  esac
}}

)",
      fmt::arg("name", function_name(command)), fmt::arg("implied", implied),
      fmt::arg("flags", zsh_lines(command)), fmt::arg("described", described),
      fmt::arg("branches", branches));
}

std::string functions_of(const CommandEntry& command) {
  std::string text;
  for (const CommandEntry& sub : command.commands) text += functions_of(sub);
  if (!command.commands.empty()) return text + parent_function(command);
  return text + fmt::format("{}() {{\n  _arguments -S \\\n{}    && return\n}}\n\n",
                            function_name(command), zsh_lines(command));
}

}  // namespace

std::string zsh_completions(const CommandEntry& root) {
  return "#compdef encode\n# zsh completions for encode, made by `encode completions zsh`\n\n" +
         functions_of(root) +
         "# zsh runs this file as the function _encode, or a user sources it.\n"
         "if [[ $funcstack[1] == _encode ]]; then\n  _encode \"$@\"\nelse\n"
         "  compdef _encode encode\nfi\n";
}

}  // namespace encode
