// Where the tests find the files of the checkout and what the build has made.
#pragma once

#include <string>
#include <string_view>

namespace encode::testing {

// Returns the path of a file of the checkout, such as "docs/errors.md".
std::string source_file(std::string_view name);
// Returns the path of tests/data/<name>. The variable ENCODE_TEST_DATA names another folder if a
// test runs on another machine than the one on which it was built.
std::string test_data(std::string_view name);
// Returns the path of a file in the build folder. encode_built_files() defines the names of
// programs and libraries.
std::string built_file(std::string_view name);

}  // namespace encode::testing
