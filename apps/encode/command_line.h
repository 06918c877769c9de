// From argv to a verb, with errors in the form of the project.
#pragma once

#include <string>
#include <vector>

namespace encode {

// Parses and runs; returns the exit code. Throws Error: kUsage for a command line that makes no
// sense, naming the nearest flag or verb, and whatever the verb throws.
int run_command_line(std::vector<std::string> arguments);

}  // namespace encode
