#include "store/file_list.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/input_format.h"
#include "base/json_values.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "base/utf8.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr int64_t kMaxPagePathBytes = int64_t{2} << 20;  // far less than kMaxSealedBytes
constexpr ErrorCode kCode = "text.files";
constexpr ErrorCode kDamaged = "store.damaged";
constexpr const char* kPlanAgain =
    "run the same command again; for shards, run `encode shards plan` again first";
constexpr std::string_view kKind = "input_files";
constexpr std::string_view kMark = R"("bytes":[)";  // the first key of a page, after the checksum
constexpr int64_t kMarkBytes = 64;

// Page i has the files [files[i], files[i + 1]) and the bytes [offsets[i], offsets[i + 1]).
struct Index {
  std::vector<int64_t> files;
  std::vector<int64_t> offsets;
  std::vector<std::string> pages;  // their checksums
  std::string checksum = {};       // of the index
};

// The columns of a page.
struct Page {
  Json path = Json::array();
  Json first_row = Json::array();
  Json bytes = Json::array();
  Json sha256 = Json::array();
  Json inode = Json::array();
  Json mtime_ns = Json::array();
  int64_t path_bytes = 0;

  bool is_full() const {
    return std::ssize(path) == kListPageFiles || path_bytes >= kMaxPagePathBytes;
  }
  void add(const ScannedFile& file) {
    path.push_back(file.path);
    first_row.push_back(file.first_row);
    bytes.push_back(file.bytes);
    sha256.push_back(file.sha256);
    inode.push_back(file.inode);
    mtime_ns.push_back(file.mtime_ns);
    path_bytes += std::ssize(file.path);
  }
  std::string text() const {
    return seal({{"path", path},
                 {"first_row", first_row},
                 {"bytes", bytes},
                 {"sha256", sha256},
                 {"inode", inode},
                 {"mtime_ns", mtime_ns}}) +
           "\n";
  }
};

void require_utf8(const ScannedFile& file) {
  if (is_valid_utf8(file.path)) return;
  throw Error({.code = "job.utf8",
               .what = "a path is not valid UTF-8",
               .where = file.path,
               .expected = "a path in UTF-8",
               .found = "other bytes",
               .hint = "rename the file, or make a link to it with a UTF-8 name"});
}

// Gives the text of a list to `write`, line by line.
class ListText {
 public:
  explicit ListText(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  void add(const ScannedFile& file) {
    require_utf8(file);
    if (page_.is_full()) end_page();
    page_.add(file);
    ++files_;
  }
  std::string finish() {  // returns the checksum of the index
    end_page();
    const std::string text = seal({{"kind", kKind},
                                   {"format", kFormat},
                                   {"files", files_},
                                   {"first_files", index_.files},
                                   {"offsets", index_.offsets},
                                   {"pages", index_.pages}}) +
                             "\n";
    write_(text);
    return stated_checksum(text);
  }

 private:
  void end_page() {
    if (page_.path.empty()) return;
    index_.files.push_back(files_ - std::ssize(page_.path));
    index_.offsets.push_back(bytes_);
    const std::string text = page_.text();
    index_.pages.push_back(stated_checksum(text));
    write_(text);
    bytes_ += std::ssize(text);
    page_ = {};
  }

  std::function<void(const std::string&)> write_;
  Index index_;
  Page page_;
  int64_t files_ = 0;
  int64_t bytes_ = 0;
};

std::vector<int64_t> ascending(const JsonFields& fields, const char* key) {
  std::vector<int64_t> numbers;
  for (const Json& number : fields.array(key)) {
    if (!number.is_number_unsigned() || (numbers.empty() && number != 0) ||
        (!numbers.empty() && number.get<int64_t>() <= numbers.back()))
      fields.refuse(key, "ascending numbers from 0", number.dump());
    numbers.push_back(number.get<int64_t>());
  }
  return numbers;
}

// Returns file `i` of a page. Throws what Json throws if a value has another type.
ScannedFile file_of(const Json& page, size_t i) {
  return {.path = page.at("path")[i].get<std::string>(),
          .first_row = page.at("first_row")[i].get<int64_t>(),
          .bytes = page.at("bytes")[i].get<int64_t>(),
          .sha256 = page.at("sha256")[i].get<std::string>(),
          .inode = page.at("inode")[i].get<int64_t>(),
          .mtime_ns = page.at("mtime_ns")[i].get<int64_t>()};
}

// Reads a list. All functions throw Error kData "store.damaged" if it is damaged.
class ListReader {
 public:
  explicit ListReader(const std::string& path)
      : path_(path), file_(open_for_reading(path, kCode)), size_(file_size(file_, path)) {
    checked([&] {
      const int64_t begin = begin_of_last_line();
      parse_index(read(begin, size_), begin);
    });
  }

  const std::string& checksum() const { return index_.checksum; }
  int64_t files() const { return index_.files.back(); }

  ScannedFiles read_files(int64_t begin, int64_t end) const {
    ScannedFiles files;
    const auto first = std::ranges::upper_bound(index_.files, begin) - 1;
    for (auto page = static_cast<size_t>(first - index_.files.begin());
         page < index_.pages.size() && index_.files[page] < end; ++page)
      checked([&] { read_page(page, begin, end, files); });
    return files;
  }

 private:
  template <typename Call>
  void checked(const Call& call) const {
    try {
      call();
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kConfig) throw;
      ErrorDetail detail =
          damage("the list of the input files is damaged", path_, error.detail().expected,
                 fmt::format("{}: {}", error.detail().what, error.detail().found))
              .detail();
      detail.hint = kPlanAgain;
      throw Error(std::move(detail));
    }
  }

  std::string read(int64_t begin, int64_t end) const {
    std::string text(static_cast<size_t>(end - begin), '\0');
    pread_all(file_, text, begin, path_);
    return text;
  }

  int64_t begin_of_last_line() const {
    constexpr int64_t kBlock = int64_t{64} << 10;
    for (int64_t end = size_ - 1; end > 0;) {
      const int64_t begin = std::max<int64_t>(0, end - kBlock);
      const size_t newline = read(begin, end).rfind('\n');
      if (newline != std::string::npos) return begin + static_cast<int64_t>(newline) + 1;
      if (size_ - begin > kMaxSealedBytes)
        throw damage("the last line is too long", path_, "an index", "more than 16 MiB");
      end = begin;
    }
    return 0;
  }

  void parse_index(std::string text, int64_t begin) {
    if (!text.ends_with('\n'))
      throw damage("the file does not end with a newline", path_, "a whole list", "a part");
    text.pop_back();
    const Json json = unseal(text, path_);
    const JsonFields fields(json, path_, kDamaged);
    if (fields.string("kind") != kKind) fields.refuse("kind", std::string(kKind), "another file");
    fields.integer("format", kFormat, kFormat);
    index_.files = ascending(fields, "first_files");
    index_.offsets = ascending(fields, "offsets");
    index_.pages = strings_from(fields, "pages");
    index_.checksum = stated_checksum(text);
    const int64_t files = fields.integer("files", 1, kMaxInteger);
    if (index_.pages.empty() || index_.files.size() != index_.pages.size() ||
        index_.offsets.size() != index_.pages.size() || index_.files.back() >= files ||
        index_.offsets.back() >= begin)
      fields.refuse("pages", "as many numbers as pages", "other numbers");
    index_.files.push_back(files);
    index_.offsets.push_back(begin);
  }

  void read_page(size_t page, int64_t begin, int64_t end, ScannedFiles& files) const {
    const int64_t bytes = index_.offsets[page + 1] - index_.offsets[page];
    if (bytes > kMaxSealedBytes)
      throw damage("a page is too long", path_, "at most 16 MiB", format_bytes(bytes));
    std::string text = read(index_.offsets[page], index_.offsets[page + 1]);
    const bool is_line = text.ends_with('\n');
    text.pop_back();
    if (!is_line || stated_checksum(text) != index_.pages[page])
      throw damage("a page has another checksum", path_, index_.pages[page], stated_checksum(text));
    const Json json = unseal(text, path_);
    const JsonFields fields(json, path_, kDamaged);
    const int64_t first = index_.files[page];
    const auto count = static_cast<size_t>(index_.files[page + 1] - first);
    for (const char* key : {"path", "first_row", "bytes", "sha256", "inode", "mtime_ns"}) {
      if (fields.array(key).size() != count)
        fields.refuse(key, fmt::format("{} values", count), "another number of values");
    }
    const int64_t last = std::min(end, index_.files[page + 1]);
    try {
      for (int64_t file = std::max(begin, first); file < last; ++file) {
        const ScannedFile read = file_of(json, static_cast<size_t>(file - first));
        if (!read.sha256.empty() && !sha256_from_hex(read.sha256))
          fields.refuse("sha256", "64 hexadecimal digits", read.sha256);
        files.push_back(read);
      }
    } catch (const Json::exception& error) {
      throw damage("a page has another value", path_, "paths, numbers and hashes", error.what());
    }
  }

  std::string path_;
  UniqueFd file_;
  int64_t size_;
  Index index_;  // with the end of the last page
};

// Returns false for a list that cannot be read, so that it is replaced.
bool is_there(const FileList& list) {
  try {
    return path_exists(list.path, kCode) && ListReader(list.path).checksum() == list.root;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kData) return false;
    throw;
  }
}

}  // namespace

FileList list_of(const InputOptions& input, const ScannedFiles& files) {
  Sha256 hash;
  InputOptions of_file = input;
  for (const ScannedFile& file : files) {
    of_file.path = file.path;
    const std::string line = fmt::format("{} {} {}\n", name_of(input_format(of_file).compression),
                                         file.bytes, file.sha256);
    hash.update(line.data(), line.size());
  }
  return {.files = std::ssize(files),
          .bytes = files.bytes(),
          .first_path = files.front().path,
          .sha256 = hash.hex()};
}

FileList placed(FileList list, const ScannedFiles& files, const std::string& path) {
  ListText text([](const std::string& /*line*/) {});
  for (const ScannedFile& file : files) text.add(file);
  list.path = std::filesystem::absolute(path).string();
  list.root = text.finish();
  return list;
}

void write_file_list(const FileList& list, const ScannedFiles& files) {
  if (is_there(list)) return;
  AtomicFile file(list.path, 0);
  ListText text([&file](const std::string& line) { file.write(line.data(), line.size()); });
  for (const ScannedFile& one : files) text.add(one);
  text.finish();
  file.commit();
}

ScannedFiles read_file_list(const ListedFiles& listed) {
  const FileList& list = listed.list;
  const ListReader reader(list.path);
  if (reader.checksum() != list.root || reader.files() != list.files || listed.begin < 0 ||
      listed.begin >= listed.end || listed.end > list.files) {
    ErrorDetail detail =
        damage("the list of the input files is another one", list.path,
               fmt::format("{} with the checksum {}", format_count(list.files, "file", "files"),
                           list.root),
               fmt::format("{} with the checksum {}", format_count(reader.files(), "file", "files"),
                           reader.checksum()))
            .detail();
    detail.hint = kPlanAgain;
    throw Error(std::move(detail));
  }
  return reader.read_files(listed.begin, listed.end);
}

void read_listed_files(InputScan& scan) {
  if (scan.listed && scan.files.empty()) scan.files = read_file_list(*scan.listed);
}

ScannedFiles read_list_of_matrix(const FileList& list, const std::string& matrix_path) {
  const std::filesystem::path beside =
      std::filesystem::path(matrix_path)
          .replace_filename(std::filesystem::path(list.path).filename());
  for (const std::string& path : {list.path, beside.string()}) {
    if (!path_exists(path, kCode)) continue;
    const ListReader reader(path);
    return reader.read_files(0, reader.files());
  }
  return {};
}

bool is_foreign_file_list(const std::string& path) {
  if (!entry_exists(path, kCode)) return false;
  if (path_kind(path, kCode) != PathKind::kFile) return true;
  const std::string head = read_head(path, kMarkBytes, kCode);
  return may_begin_text(head) && head.find(kMark) == std::string::npos;
}

}  // namespace encode
