// Reads any bytes in any format with any policies. The result must be rows or an Error. Three more
// properties must hold:
// - rows_in = rows + rejected;
// - every text is valid UTF-8;
// - the size of a block and a seek do not change the rows.
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/utf8.h"
#include "require.h"
#include "text/row_reader.h"
#include "text/scanned_reader.h"

namespace {

using encode::InputOptions;
using encode::InputScan;
using encode::RowReader;

constexpr size_t kChoiceBytes = 3;
// A block of this size holds a whole input in most cases, and costs less than a usual block.
constexpr size_t kWholeBytes = 8192;

// Writes the data into a file in memory and returns its path. The suffix of the path tells the
// reader the compression, so each compression has its own file.
std::string store(const uint8_t* data, size_t size, int compression) {
  static constexpr const char* kSuffixes[] = {"", ".gz", ".zst"};
  static std::string folder;
  if (folder.empty()) {
    std::string pattern = "/dev/shm/fuzz_text_XXXXXX";
    require(::mkdtemp(pattern.data()) != nullptr, "a folder in memory can be made");
    folder = pattern;
    std::atexit([] {
      for (const char* suffix : kSuffixes) ::unlink((folder + "/in" + suffix).c_str());
      ::rmdir(folder.c_str());
    });
  }
  const std::string path = folder + "/in" + kSuffixes[compression];
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(fd >= 0 && ::write(fd, data, size) == static_cast<ssize_t>(size) && ::close(fd) == 0,
          "a file in memory can be written");
  return path;
}

InputOptions options_from(const uint8_t* choice) {
  InputOptions options;
  constexpr encode::TextFormat kFormats[] = {encode::TextFormat::kLines, encode::TextFormat::kJsonl,
                                             encode::TextFormat::kCsv, encode::TextFormat::kTsv};
  options.format = kFormats[choice[0] % 4];
  if (options.format == encode::TextFormat::kJsonl)
    options.field = (choice[0] & 4) != 0 ? "/a/0" : "a";
  if (options.format == encode::TextFormat::kJsonl && choice[1] >= 128) {
    options.format = encode::TextFormat::kJson;
    if (choice[1] >= 192) options.field.clear();
  }
  if (options.format == encode::TextFormat::kCsv || options.format == encode::TextFormat::kTsv)
    options.field = "a";
  if ((choice[0] & 128) != 0 && !options.field.empty()) {
    const bool columns =
        options.format == encode::TextFormat::kCsv || options.format == encode::TextFormat::kTsv;
    options.text_template = fmt::format("{{{}}}-{{{}}}", options.field, columns ? "a" : "b");
    options.field.clear();
  }
  if ((choice[1] & 32) != 0 && options.names_fields())
    options.filter.where =
        (choice[1] & 16) != 0 ? "length(a) > 1 or a is null" : "a > 1 or a < 'x'";
  options.missing_field = (choice[1] & 64) != 0 ? encode::MissingFieldPolicy::kEmpty
                                                : encode::MissingFieldPolicy::kError;
  options.bad_row =
      (choice[0] & 8) != 0 ? encode::BadRowPolicy::kError : encode::BadRowPolicy::kReject;
  options.utf8 = (choice[0] & 16) != 0 ? encode::Utf8Policy::kError : encode::Utf8Policy::kReplace;
  options.empty_row =
      (choice[0] & 32) != 0 ? encode::EmptyRowPolicy::kReject : encode::EmptyRowPolicy::kKeep;
  options.max_row_bytes = 1 + choice[1] % 64;
  options.limit_rows = (choice[0] & 64) != 0 ? 3 : 0;
  return options;
}

std::vector<std::string> rest_of(encode::TextReader& reader) {
  std::vector<std::string> rows;
  for (encode::Text text; reader.next(text);) {
    require(encode::is_valid_utf8(text.utf8), "every text is UTF-8");
    rows.push_back(fmt::format("{}@{}={} {}", text.row, text.line, text.record, text.utf8));
  }
  return rows;
}

void check(const InputOptions& options, size_t block_bytes, size_t seek_choice) {
  const InputScan scan = RowReader(options, RowReader::Purpose::kScan, kWholeBytes).scan({});
  require(scan.rows_in == scan.rows + scan.rejected + scan.filtered,
          "rows_in = rows + rejected + filtered");
  RowReader whole(options, RowReader::Purpose::kRead, kWholeBytes);
  const std::vector<std::string> rows = rest_of(whole);
  require(static_cast<int64_t>(rows.size()) == scan.rows, "the scan counts the rows");
  RowReader cut(options, RowReader::Purpose::kRead, block_bytes);
  require(rest_of(cut) == rows, "the size of a block does not change the rows");
  const size_t row = seek_choice % (rows.size() + 1);
  encode::ScannedReader again(options, scan, block_bytes);
  again.seek(static_cast<int64_t>(row));
  require(rest_of(again) ==
              std::vector<std::string>(rows.begin() + static_cast<std::ptrdiff_t>(row), rows.end()),
          "reading after a seek gives the same rows");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kChoiceBytes) return 0;
  InputOptions options = options_from(data);
  const int compression = data[0] < 128 ? 0 : 1 + data[2] % 2;
  options.path = store(data + kChoiceBytes, size - kChoiceBytes, compression);
  try {
    check(options, 1 + data[2] % 64U, data[1]);
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().where.empty(),
            "an Error has a code and says where");
    require(error.exit_code() == encode::ExitCode::kData ||
                error.exit_code() == encode::ExitCode::kConfig,
            "the exit code is for bad data or a bad config");
  }
  return 0;
}
