// Parses the command line and runs a command.
#pragma once

#include <string>
#include <vector>

namespace encode {

// Returns the exit code. `arguments` does not contain the name of the program. Throws Error kUsage
// for an invalid command line, and what the command throws.
int run_command_line(std::vector<std::string> arguments);

}  // namespace encode
