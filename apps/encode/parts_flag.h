// The option --parts of the commands that publish the rows of shards.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "encode/config.h"

namespace encode {

class PartsFlag {
 public:
  void add(CLI::App& app);
  // Sets output.parts if the option is given.
  void set(RunConfig& config) const;
  // Returns the option as words of a command line, none if it is not given.
  std::vector<std::string> words() const;

 private:
  std::string name_;
};

}  // namespace encode
