#include "search/searched_run.h"

#include <algorithm>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace encode::testing {

const std::vector<std::string>& SearchedRun::rows() {
  static const std::vector<std::string> kRows = {
      "parse a date", "open the file", "close the file", "sum of numbers", "a b c d e f g",
      "zebra",        "dates",         "the end",        "x y z",          "number of files"};
  return kRows;
}

SearchedRun::SearchedRun() : run_("bert", 1) {
  std::string lines;
  for (const std::string& row : rows()) lines += row + "\n";
  dir().write("rows.txt", lines);
}

void SearchedRun::run(const std::vector<std::string>& extra) const {
  std::vector<std::string> words = extra;
  if (std::find(extra.begin(), extra.end(), "--input") == extra.end())
    words.insert(words.end(), {"--input", texts()});
  const ProgramEnd end = run_.run("out", words);
  ASSERT_EQ(end.exit_code, 0) << end.err;
}

ProgramEnd SearchedRun::search(std::vector<std::string> arguments, const std::string& input) const {
  arguments.insert(arguments.begin(), "search");
  const std::string path = dir().write("standard-input", input);
  const auto redirect = [&path] {
    ::dup2(::open(path.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  };
  return Program(dir().path(), std::move(arguments), {{"TMPDIR", dir().path()}}, redirect).wait();
}

std::vector<Json> SearchedRun::hits(std::vector<std::string> arguments) const {
  const std::vector<std::string> first = {"--matrix", matrix(), "--model", model(),
                                          "--device", "cpu",    "--json"};
  arguments.insert(arguments.begin(), first.begin(), first.end());
  const ProgramEnd end = search(std::move(arguments));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  std::vector<Json> lines;
  std::istringstream out(end.out);
  for (std::string line; std::getline(out, line);) lines.push_back(Json::parse(line));
  return lines;
}

}  // namespace encode::testing
