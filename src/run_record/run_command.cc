#include "run_record/run_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/json_values.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "store/run_files.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

// A longer command would hide the rest of the message, and a part of a command would be useless. So
// it is not shown.
constexpr size_t kMostBytes = 4000;

size_t bytes_of(const std::vector<std::string>& words) {
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + 1;
  return bytes;
}

std::string working_directory() {
  std::error_code ignored;
  return fs::current_path(ignored).string();
}

std::vector<std::string> without(std::vector<std::string> words,
                                 const std::vector<std::string_view>& flags) {
  std::erase_if(words, [&](const std::string& word) {
    return std::find(flags.begin(), flags.end(), word) != flags.end();
  });
  return words;
}

// Returns a line for a shell that runs encode with these arguments in the directory in which the
// command was started.
std::string line_of(std::vector<std::string> arguments, const std::string& directory,
                    const std::string& input_copy) {
  arguments.insert(arguments.begin(), "encode");
  std::string line = shell_command(arguments);
  const bool elsewhere = !directory.empty() && directory != working_directory();
  if (elsewhere) line = shell_command({"cd", directory}) + " && " + line;
  if (input_copy.empty()) return line;
  std::error_code ignored;
  return line + " < " +
         shell_command({elsewhere ? fs::absolute(input_copy, ignored).string() : input_copy});
}

}  // namespace

RunCommand command_of_this_process() {
  RunCommand command;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) command.arguments.push_back(word);
  if (!command.arguments.empty()) command.arguments.erase(command.arguments.begin());
  command.directory = working_directory();
  const bool is_text = std::all_of(command.arguments.begin(), command.arguments.end(),
                                   [](const std::string& word) { return is_valid_utf8(word); });
  if (!is_text || !is_valid_utf8(command.directory) || bytes_of(command.arguments) > kMostBytes)
    return {};
  return command;
}

Json to_json(const RunCommand& command) {
  return {{"arguments", command.arguments}, {"directory", command.directory}};
}

RunCommand run_command_from(const JsonFields& fields) {
  RunCommand command;
  command.directory = fields.string_or("directory", "");
  command.arguments = strings_from(fields, "arguments");
  // The size is checked, because a file that encode did not write may hold anything.
  if (bytes_of(command.arguments) > kMostBytes) return {};
  return command;
}

std::string resume_command(const RunCommand& command, const std::string& input_copy) {
  if (!command.known()) return "";
  return line_of(without(command.arguments, {"--fresh"}), command.directory, input_copy);
}

std::string retry_command(const RunCommand& command, const std::string& input_copy) {
  if (!command.known()) return "";
  // `encode retry-failed` has all flags of `encode run` except these.
  std::vector<std::string> words = without(command.arguments, {"--fresh", "--overwrite", "--pull"});
  const bool named = !words.empty() && !words.front().starts_with('-');
  if (named) words.erase(words.begin());
  words.insert(words.begin(), "retry-failed");
  return line_of(std::move(words), command.directory, input_copy);
}

std::string standard_input_copy(const std::string& cache_dir, const std::string& stream) {
  if (cache_dir.empty()) return "";
  const std::string copy = RunFiles(cache_dir).standard_input(stream);
  for (const char* const suffix : {"", ".gz", ".zst"}) {
    std::error_code ignored;
    if (fs::is_regular_file(copy + suffix, ignored)) return copy + suffix;
  }
  return "";
}

}  // namespace encode
