// The command that started a run, so that messages can show how to repeat it. Any thread may call
// these functions.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace encode {

struct RunCommand {
  std::vector<std::string> arguments = {};  // what follows the name of the program
  std::string directory = {};               // where it was started; relative paths begin there

  bool known() const { return !arguments.empty(); }
};

// Returns the command of this process. It is not known if it is too long for a message or not
// UTF-8. Throws no Error.
RunCommand command_of_this_process();

Json to_json(const RunCommand& command);
// Throws the Error of JsonFields for a field that is not valid.
RunCommand run_command_from(const JsonFields& fields);

// Both functions return a line for a shell in printable ASCII, such as "encode run --input a.txt
// --output a.npy". The line begins with "cd DIR && " if the command was started in another
// directory. It is "" if the command is not known.
//
// resume_command() returns the command that continues the run. It leaves out --fresh, which would
// delete the results. If the run has read standard input, the command reads the copy, `input_copy`.
std::string resume_command(const RunCommand& command, const std::string& input_copy);
// retry_command() returns the command that encodes the rows that were set aside again.
std::string retry_command(const RunCommand& command, const std::string& input_copy);

// Returns the copy of the standard input that a run of this stream has left in its cache directory;
// "" if there is none. Throws no Error.
std::string standard_input_copy(const std::string& cache_dir, const std::string& stream);

}  // namespace encode
