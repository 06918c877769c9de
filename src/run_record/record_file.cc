#include "run_record/record_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/system_call.h"
#include "store/run_files.h"

namespace encode {
namespace {

// The most bytes of a line. Records are shorter; the limit keeps a damaged line from filling the
// memory.
constexpr size_t kMaxLineBytes = 64 << 10;

std::string line_of(const Json& record) {
  return record.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::string first_line(const RecordFileKind& kind) {
  return line_of({{"encode", kind.name}, {"format", 1}});
}

Error not_ours(const std::string& path, const RecordFileKind& kind) {
  return Error({.code = "records.foreign",
                .exit_code = ExitCode::kCantCreate,
                .what = "the file was not written by encode",
                .where = path,
                .expected = fmt::format("a file that begins with {}",
                                        first_line(kind).substr(0, first_line(kind).size() - 1)),
                .found = "another content, or not a regular file",
                .hint = "move this file away; the run goes on without it"});
}

// Reads up to `size` bytes at `offset`. Returns fewer bytes at the end of the file.
std::string read_at_most(const UniqueFd& fd, size_t size, int64_t offset, const std::string& path) {
  std::string text(size, '\0');
  const std::optional<size_t> bytes = pread_up_to(fd, text, offset);
  if (!bytes) throw system_error("records.read", "read", path, errno);
  text.resize(*bytes);
  return text;
}

struct stat status_of(const UniqueFd& fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) throw system_error("records.stat", "stat", path, errno);
  return status;
}

// Opens a file of this kind. Without O_NONBLOCK, opening a FIFO would wait for a writer. Throws
// Error if the file is of another program.
UniqueFd open_records(const std::string& path, const RecordFileKind& kind, int flags) {
  constexpr mode_t kMode = 0666;
  UniqueFd fd(retried(
      [&] { return ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kMode); }));
  if (!fd && errno == ELOOP) throw not_ours(path, kind);
  if (!fd) throw system_error("records.open", "open", path, errno);
  if (!S_ISREG(status_of(fd, path).st_mode)) throw not_ours(path, kind);
  const std::string line = first_line(kind);
  const std::string head = read_at_most(fd, line.size(), 0, path);
  // A shorter file is accepted: it is the beginning of a file that a full disk has cut off.
  if (!line.starts_with(head)) throw not_ours(path, kind);
  return fd;
}

// Parses the lines of one file into `records`.
void read_lines(const std::string& text, const std::string& path, Records& records) {
  int64_t damaged = 0;
  size_t number = 0;
  size_t first_damaged = 0;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (number == 0) continue;   // the line that names the kind
    if (line.empty()) continue;  // an empty line follows a line that was cut off
    Json record;
    if (line.size() <= kMaxLineBytes)
      record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) {
      if (damaged++ == 0) first_damaged = number + 1;
    } else if (record.contains("dropped")) {
      records.dropped = records.dropped || record["dropped"] == true;
    } else {
      records.lines.push_back(std::move(record));
    }
  }
  if (damaged > 0) {
    records.problems.push_back(fmt::format("{}:{}: {} damaged lines are left out, from this one on",
                                           path, first_damaged, damaged));
  }
}

}  // namespace

RecordFile::RecordFile(std::string path, RecordFileKind kind,
                       std::function<void(const std::string&)> on_problem)
    : path_(std::move(path)), kind_(std::move(kind)), on_problem_(std::move(on_problem)) {}

void RecordFile::add(const Json& record) {
  if (failed_) return;
  try {
    write(line_of(record));
  } catch (const Error& error) {
    failed_ = true;
    fd_.close();
    on_problem_(fmt::format("no more records are written to {}: {}; found {}", path_,
                            error.detail().what, error.detail().found));
  }
}

void RecordFile::write(const std::string& line) {
  if (!fd_) open();
  if (bytes_ + static_cast<int64_t>(line.size()) > kind_.max_bytes) rotate();
  append(line);
}

void RecordFile::open() {
  fd_ = open_records(path_, kind_, O_RDWR | O_APPEND | O_CREAT);
  bytes_ = status_of(fd_, path_).st_size;
  const auto whole_first_line = static_cast<int64_t>(first_line(kind_).size());
  if (bytes_ < whole_first_line) return begin();
  // If a crash or a full disk has cut off the last line, a line end closes it.
  if (read_at_most(fd_, 1, bytes_ - 1, path_) != "\n") append("\n");
}

void RecordFile::begin() {
  if (retried([&] { return ::ftruncate(fd_.get(), 0); }) != 0)
    throw system_error("records.write", "cut", path_, errno);
  bytes_ = 0;
  append(first_line(kind_));
}

void RecordFile::rotate() {
  const std::string older = older_records_path(path_);
  bool dropped = false;
  try {
    open_records(older, kind_, O_RDONLY);
    dropped = true;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kNoInput) throw;
  }
  if (retried([&] { return ::rename(path_.c_str(), older.c_str()); }) != 0)
    throw system_error("records.rename", "rename", path_, errno);
  fd_ = open_records(path_, kind_, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
  begin();
  append(line_of({{"dropped", dropped}}));
}

void RecordFile::append(const std::string& text) {
  write_all(fd_, text.data(), text.size(), path_);
  bytes_ += static_cast<int64_t>(text.size());
}

Records read_records(const std::string& path, const RecordFileKind& kind) {
  Records records;
  struct Opened {
    std::string path;
    UniqueFd fd;
  };
  std::vector<Opened> files;
  // Opens both files before it reads one, so that a rotation in between does not hide records.
  for (const std::string& name : {older_records_path(path), path}) {
    try {
      files.push_back({name, open_records(name, kind, O_RDONLY)});
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::kNoInput) continue;
      records.problems.push_back(fmt::format("{}: {}", name, error.detail().what));
    }
  }
  ino_t last = 0;
  for (const Opened& file : files) {
    try {
      const ino_t inode = status_of(file.fd, file.path).st_ino;
      if (inode == last) continue;  // a rotation has moved the file between the two open()
      last = inode;
      const auto size = static_cast<size_t>(kind.max_bytes) + kMaxLineBytes;
      read_lines(read_at_most(file.fd, size, 0, file.path), file.path, records);
    } catch (const Error& error) {
      records.problems.push_back(fmt::format("{}: {}", file.path, error.detail().what));
    }
  }
  return records;
}

}  // namespace encode
