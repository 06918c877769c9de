// Recognises texts that are not UTF-8, and says how to convert their files. Any thread may call
// these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "encode/config.h"
#include "encode/text.h"

namespace encode {

// The number of bytes at the start of a file that wide_encoding() uses.
inline constexpr size_t kEncodingBytes = 4096;

// Recognises UTF-16 and UTF-32 by the first bytes of a file. Returns the name that iconv has for
// the encoding: "UTF-16" for a file with a byte order mark, "UTF-16LE" for a file without a mark,
// "" for any other file. Without a mark, only texts are recognised whose characters are mostly from
// Latin-1. Throws no Error.
std::string_view wide_encoding(std::string_view start);

// Returns a command line that converts a text file: "iconv -f UTF-16 -t UTF-8 a.csv > a.utf8.csv".
// A compressed file is decompressed. Throws no Error.
std::string iconv_command(const std::string& path, std::string_view encoding);

// Returns what to do about the file `options.path`, in which `text` is a row that is not UTF-8: the
// command if the bytes look like Windows-1252, which has Latin-1 in it, or else "". Throws no
// Error.
std::string conversion_advice(const InputOptions& options, std::string_view text);

// The rows of an input in which U+FFFD has replaced bytes, in words for a warning.
struct ReplacedRows {
  std::string what;
  std::string advice;
};
// If there are many such rows, the whole file has another encoding. To recognise the encoding,
// reads the input up to the first of them, but at most the first 64 MiB of texts. Throws what
// open_texts() and TextReader throw.
ReplacedRows describe_replaced_rows(const InputOptions& options, const InputScan& scan);

}  // namespace encode
