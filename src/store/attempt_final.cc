#include "store/attempt_final.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "store/attempt_folders.h"
#include "store/layout.h"
#include "store/run_files.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Opens the file, because a client of NFS asks its server then.
std::optional<FinalSeen::FileMark> mark_of(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  const UniqueFd fd(retried([&] { return ::open(path.c_str(), kFlags); }));
  if (!fd && means_absent(errno)) return std::nullopt;
  struct stat info = {};
  if (!fd || ::fstat(fd.get(), &info) != 0) throw system_error("store.final", "open", path, errno);
  return FinalSeen::FileMark{
      .inode = info.st_ino,
      .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
      .bytes = info.st_size};
}

// After its own change of a directory, a client of NFS reads the directory again.
void forget_directory(const std::string& directory) {
  const AtomicFile probe(RunFiles(directory).job(0), 0);
}

[[noreturn]] void refuse_taken(const std::string& from) {
  throw Error({.code = "store.taken",
               .exit_code = ExitCode::kTempFail,
               .what = "another run of this output is publishing it",
               .where = from,
               .expected = "the finished matrix of this run",
               .found = "no file: the other run has deleted it, so that only one of them publishes",
               .hint = "run the same command again when that run has ended"});
}

// Deletes the same matrix of all other attempts, so that they cannot publish it.
void disarm_others(const std::string& from) {
  const std::string own = parent_directory(from);
  const std::string attempts = parent_directory(own);
  const std::string name = std::filesystem::path(from).filename().string();
  forget_directory(attempts);
  for (const std::string& attempt : attempts_in(attempts)) {
    if (attempt != own) remove_attempt_final(join_path(attempt, name));
  }
}

struct Move {
  std::string from;
  std::string to;
  std::optional<FinalSeen::FileMark> mark = {};  // of `from`; nullopt: it does not exist
};

Move move_of(const std::string& from, const std::string& to) {
  return {.from = from, .to = to, .mark = mark_of(from)};
}

// Returns true if the call has failed only because a server of NFS has got it twice.
bool is_done(const Move& move) { return move.mark && mark_of(move.to) == move.mark; }

void rename_or_refuse(const Move& move) {
  if (retried([&] { return ::rename(move.from.c_str(), move.to.c_str()); }) == 0) return;
  if (!means_absent(errno) && errno != ESTALE)
    throw system_error("store.final", "rename", move.to, errno);
  if (!is_done(move)) refuse_taken(move.from);
}

enum class Claim { kOurs, kOfAnother, kNoLinks };

Claim claim(const Move& manifest) {
  if (retried([&] { return ::link(manifest.from.c_str(), manifest.to.c_str()); }) == 0)
    return Claim::kOurs;
  if (errno == EEXIST) return is_done(manifest) ? Claim::kOurs : Claim::kOfAnother;
  if (means_absent(errno) || errno == ESTALE) refuse_taken(manifest.from);
  return Claim::kNoLinks;
}

// Moves the files beside a matrix, and deletes those of an earlier matrix that have no successor;
// then moves the matrix.
void move_rest(const std::string& from, const std::string& to, const Move& manifest) {
  std::vector<Move> moves;
  const std::vector<std::string> sources = final_files(from);
  const std::vector<std::string> names = final_files(to);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (names[i] != to && names[i] != manifest.to && names[i] != publishing_path(to))
      moves.push_back(move_of(sources[i], names[i]));
  }
  for (const Move& move : moves) {
    if (move.mark) {
      rename_or_refuse(move);
    } else if (entry_exists(move.to, "store.final")) {
      if (mark_of(manifest.to) != manifest.mark) refuse_taken(from);
      remove_file(move.to);
    }
  }
  sync_directory(parent_directory(to));
  rename_or_refuse(move_of(from, to));
  sync_directory(parent_directory(to));
}

}  // namespace

FinalSeen look_at_final(const std::string& matrix_path) {
  return {.manifest = mark_of(manifest_path(matrix_path)), .matrix = mark_of(matrix_path)};
}

bool move_final(const std::string& from, const std::string& to, const FinalSeen& seen) {
  const Move manifest = move_of(manifest_path(from), manifest_path(to));
  if (!manifest.mark || !mark_of(from)) refuse_taken(from);
  if (look_at_final(to) != seen) return false;
  const Claim claimed = seen.nothing() ? claim(manifest) : Claim::kNoLinks;
  if (claimed == Claim::kOfAnother) return false;
  if (claimed == Claim::kNoLinks) {
    disarm_others(from);
    forget_directory(parent_directory(to));
    if (look_at_final(to) != seen) return false;
    // The mark tells the next run that encode has made what an interruption leaves.
    write_file_durably(publishing_path(to),
                       seal({{"name", std::filesystem::path(to).filename().string()}}) + "\n");
    try {
      rename_or_refuse(manifest);
    } catch (const Error&) {
      remove_file(publishing_path(to));
      throw;
    }
  }
  sync_directory(parent_directory(to));
  move_rest(from, to, manifest);
  remove_file(publishing_path(to));
  remove_file(manifest.from);
  return true;
}

void remove_attempt_final(const std::string& matrix_path) {
  // The manifest goes first: without it the other files are not published.
  remove_file(manifest_path(matrix_path));
  for (const std::string& path : final_files(matrix_path)) remove_file(path);
}

}  // namespace encode
