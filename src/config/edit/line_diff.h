// Shows how a text differs from another one.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Returns the shortest list of deleted and added lines as hunks with three lines of context, in the
// form of `diff -u`; "" if the texts are equal. `name` is for the two lines of the head. Lines are
// shown by printable(), without a carriage return at their end. Time and memory grow with the
// number of lines times the number of changed lines. Does not throw Error.
std::string unified_diff(std::string_view before, std::string_view after, const std::string& name);

}  // namespace encode
