// A fixture for the tests of a format, whose inputs are single files.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {

class OneFile : public ::testing::Test {
 protected:
  explicit OneFile(std::string name) : name_(std::move(name)) {}

  // Returns the options of a file with this content.
  InputOptions file(std::string_view content, std::string field = "text") {
    InputOptions options;
    options.path = dir_.write(name_, content);
    options.field = std::move(field);
    return options;
  }
  // Returns the code of the error of such a file.
  std::string code_of(std::string_view content, const std::string& field = "text") {
    return std::string(error_of(file(content, field)).code.name());
  }

  TempDir dir_;

 private:
  std::string name_;
};

}  // namespace encode::testing
