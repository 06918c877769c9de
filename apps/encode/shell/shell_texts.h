// The texts that are made from the tree of commands: the help, completions of shells, the manual
// page and the reference.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "shell/command_tree.h"

namespace encode {

// A script that the shell reads once. It offers commands, flags, and values: words, files or
// folders. `root` is the tree of the whole program. None of these functions throws.
std::string bash_completions(const CommandEntry& root);
std::string zsh_completions(const CommandEntry& root);  // also a function file for fpath: _encode
std::string fish_completions(const CommandEntry& root);

// What `encode <path> --help` prints: description, usage, arguments, commands, options in their
// groups, footer. Lines have at most 80 columns, except examples (lines of the footer that begin
// with a space) and single words that are longer.
std::string help_text(const CommandEntry& command);

// "encode compare [OPTIONS] A B"
std::string usage_text(const CommandEntry& command);

// The names of a flag as the help shows them: "-c", "--config". "files..." for an argument that
// takes several values.
std::vector<std::string> shown_names(const FlagEntry& flag);

// The footer of a command in lines of at most 80 columns.
std::string footer_text(const CommandEntry& command);

// The reference of all commands in Markdown: the flags of the config, then a chapter for each
// command with its own flags.
std::string command_reference(const CommandEntry& root);
// The same reference as JSON: {"config_flags": [...], "commands": [...]}. A flag of the config has
// its key.
Json command_reference_json(const CommandEntry& root);

// The manual page encode(1), in the man macros of roff. `date` is YYYY-MM-DD.
std::string manual_page(const CommandEntry& root, const std::string& version,
                        const std::string& date);

}  // namespace encode
