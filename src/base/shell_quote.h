// Makes command lines that people can copy into a shell. Any thread may call this function. It
// throws no Error.
#pragma once

#include <string>
#include <vector>

namespace encode {

// Returns a command line that a shell splits into these words: "encode run --input 'my texts.csv'".
// The result is printable ASCII: other bytes are escaped inside $'...', which bash, zsh, ksh and
// busybox know. A word must not have the byte 0, which no argument of a program can have.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace encode
