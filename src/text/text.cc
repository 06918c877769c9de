#include "encode/text.h"

#include <cerrno>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/system_call.h"
#include "text/row_reader.h"
#include "text/scanned_reader.h"

namespace encode {

std::unique_ptr<TextReader> open_texts(const InputOptions& options) {
  return std::make_unique<RowReader>(options, RowReader::Purpose::kRead);
}

std::unique_ptr<ScannedTexts> open_scanned_texts(const InputOptions& options,
                                                 const InputScan& scan) {
  return std::make_unique<ScannedReader>(options, scan);
}

InputScan scan_texts(const InputOptions& options,
                     const std::function<void(const RejectedRow&)>& on_rejected) {
  return RowReader(options, RowReader::Purpose::kScan).scan(on_rejected);
}

InputOptions spool_standard_input(const InputOptions& options, const std::string& spool_path) {
  if (options.format == TextFormat::kAuto) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "text.format",
                 .what = "the format of standard input is not set",
                 .where = "-",
                 .expected = "lines, jsonl, json, csv or tsv",
                 .found = "no format",
                 .hint = "set the format"});
  }
  AtomicFile spool(spool_path, 0);
  std::vector<char> block(RowReader::kBlockBytes);
  for (;;) {
    const ssize_t n = retried([&] { return ::read(STDIN_FILENO, block.data(), block.size()); });
    if (n < 0) throw system_error("io.read", "read", "standard input", errno);
    if (n == 0) break;
    spool.write(block.data(), static_cast<size_t>(n));
  }
  spool.commit();
  InputOptions spooled = options;
  spooled.path = spool_path;
  return spooled;
}

}  // namespace encode
