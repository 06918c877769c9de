#include "hub/download.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/system_call.h"
#include "base/units.h"
#include "hub/retries.h"

namespace encode::hub {
namespace {

// A transfer makes progress only if it brings at least this many bytes. Otherwise a server that
// cuts the connection after every byte could keep encode busy for ever.
constexpr int64_t kProgressBytes = 1 << 20;

Error data_error(ErrorCode code, const FileFacts& file, std::string expected, std::string found) {
  return Error({.code = code,
                .exit_code = ExitCode::kData,
                .what = "the server sends something else than the file that it announces",
                .where = preview(file.path),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "nothing of it was kept; run the same command again. If it fails again, a "
                        "proxy may change the file, or the server is out of order"});
}

// Returns where the body of a response begins in the file, or nullopt if its header does not answer
// "Range: bytes=N-".
std::optional<int64_t> first_byte(const HttpResponse& response) {
  if (response.status == 200) return 0;
  std::string_view range = response.headers.contains("content-range")
                               ? std::string_view(response.headers.at("content-range"))
                               : "";
  constexpr std::string_view kUnit = "bytes ";
  if (!range.starts_with(kUnit)) return std::nullopt;
  range.remove_prefix(kUnit.size());
  int64_t begin = -1;
  std::from_chars(range.data(), range.data() + range.size(), begin);
  return begin < 0 ? std::nullopt : std::optional(begin);
}

// The file <blob>.incomplete of a blob that is not complete yet. Bytes are added at its end, so its
// size says how far an earlier download came. The caller holds the lock of the blob. The functions
// throw the Errors of failed system calls: "hub.cache" and "io.write".
class IncompleteBlob {
 public:
  explicit IncompleteBlob(std::string path);  // opens the file, or creates it

  int64_t bytes() const { return bytes_; }
  void append(std::string_view data);
  void restart();  // drops all bytes
  void sync();
  // Returns the hash of the content, of the kind of `etag`, for which is_content_hash() is true.
  std::string hash(std::string_view etag) const;
  void remove();  // deletes the file

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t bytes_ = 0;
};

IncompleteBlob::IncompleteBlob(std::string path) : path_(std::move(path)) {
  fd_ = UniqueFd(retried([this] {
    return ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  }));
  if (!fd_) throw system_error(kCacheCode, "open a file of the cache", path_, errno);
  bytes_ = file_size(fd_, path_);
}

void IncompleteBlob::append(std::string_view data) {
  write_all(fd_, data.data(), data.size(), path_);
  bytes_ += static_cast<int64_t>(data.size());
}

void IncompleteBlob::restart() {
  if (retried([this] { return ::ftruncate(fd_.get(), 0); }) != 0)
    throw system_error(kCacheCode, "empty a file of the cache", path_, errno);
  bytes_ = 0;
}

void IncompleteBlob::sync() {
  if (retried([this] { return ::fsync(fd_.get()); }) != 0)
    throw system_error(kCacheCode, "sync a file of the cache", path_, errno);
}

std::string IncompleteBlob::hash(std::string_view etag) const {
  constexpr size_t kSha256Digits = 64;
  return etag.size() == kSha256Digits ? sha256_of(fd_, path_) : git_blob_sha1_of(fd_, path_);
}

void IncompleteBlob::remove() { remove_file(path_); }

// One file on its way into the cache.
class Download {
 public:
  Download(const DownloadContext& context, const std::string& commit, const FileFacts& file)
      : context_(context),
        commit_(commit),
        file_(file),
        blob_(context.cache.incomplete(file.etag)),
        retries_(context.settings.retries, preview(file.path), context.observer) {
    if (blob_.bytes() > file_.bytes) blob_.restart();
    old_bytes_ = blob_.bytes();
  }

  // Returns the number of bytes that came over the network.
  int64_t run() {
    fetch_all();
    std::string hash = blob_.hash(file_.etag);
    if (hash != file_.etag && old_bytes_ > 0) {
      context_.observer.note(fmt::format(
          "{}: the part from an earlier download is damaged; the file is downloaded again",
          preview(file_.path)));
      blob_.restart();
      old_bytes_ = 0;
      fetch_all();
      hash = blob_.hash(file_.etag);
    }
    if (hash != file_.etag) {
      blob_.remove();
      throw data_error("hub.hash", file_, fmt::format("content with the hash {}", file_.etag),
                       fmt::format("content with the hash {}", hash));
    }
    blob_.sync();
    return received_;
  }

 private:
  void fetch_all() {
    while (blob_.bytes() < file_.bytes) fetch();
  }

  void fetch() {
    const int64_t before = blob_.bytes();
    begun_ = false;
    const HttpResult result = context_.client.get(
        {.commit = commit_, .path = file_.path, .offset = before, .if_range = validator_},
        [this](const HttpResponse& response, std::string_view bytes) { take(response, bytes); });
    const HttpResponse& response = result.response;
    if (!result.fault && (response.status == 200 || response.status == 206)) {
      if (blob_.bytes() == file_.bytes) return;
      // A complete answer: the server has stated the length of the whole body and has sent all of
      // it.
      if (response.status == 200 && response.headers.contains("content-length"))
        refuse_size(fmt::to_string(blob_.bytes()));
    }
    if (blob_.bytes() - before >= kProgressBytes) retries_.made_progress();
    retries_.wait_or_throw(failure(result), response.retry_after);
  }

  // Returns the reason why a request is repeated. Throws if repeating it is of no use.
  Error failure(const HttpResult& result) {
    constexpr int kRangeNotSatisfiable = 416;
    const HttpResponse& response = result.response;
    const std::string& url = response.url;
    if (!result.fault && response.status == kRangeNotSatisfiable) {
      blob_.restart();
      return answer_error(url, "the rest of the file", "the status 416");
    }
    if (result.fault || response.status >= 400)
      return passing_error(result, context_.client.subject(commit_, file_.path), url);
    return transfer_error({.reason = "the body ended early"}, url);
  }

  void take(const HttpResponse& response, std::string_view bytes) {
    if (!std::exchange(begun_, true)) begin(response);
    const int64_t size = blob_.bytes() + static_cast<int64_t>(bytes.size());
    if (size > file_.bytes) refuse_size(fmt::format("at least {}", size));
    blob_.append(bytes);
    received_ += static_cast<int64_t>(bytes.size());
    context_.observer.progress(file_.path, blob_.bytes(), file_.bytes);
  }

  void begin(const HttpResponse& response) {
    validator_ = response.header("etag");
    if (validator_.starts_with("W/")) validator_.clear();  // If-Range takes only a strong one
    const std::optional<int64_t> first = first_byte(response);
    if (first == blob_.bytes()) return;
    if (first != 0) {
      throw answer_error(
          response.url, fmt::format("the bytes from {} on", blob_.bytes()),
          fmt::format("Content-Range: {}", preview(response.header("content-range"))));
    }
    blob_.restart();
    old_bytes_ = 0;
  }

  [[noreturn]] void refuse_size(const std::string& found) {
    blob_.remove();
    throw data_error("hub.size", file_, fmt::format("{} bytes", file_.bytes),
                     fmt::format("{} bytes", found));
  }

  const DownloadContext& context_;
  const std::string& commit_;
  const FileFacts& file_;
  IncompleteBlob blob_;
  Retries retries_;
  std::string validator_;  // the ETag of the last response, for If-Range; ""
  bool begun_ = false;     // the body of the current response has begun
  int64_t old_bytes_ = 0;  // the bytes that an earlier process has downloaded
  int64_t received_ = 0;
};

}  // namespace

int64_t download_blob(const DownloadContext& context, const std::string& commit,
                      const FileFacts& file) {
  const FileLock lock = context.cache.lock_blob(file.etag);
  // Another program may have downloaded it while this one waited for the lock.
  if (context.cache.has_blob(file.etag, file.bytes)) return 0;
  const int64_t received = Download(context, commit, file).run();
  context.cache.publish_blob(file.etag);
  return received;
}

}  // namespace encode::hub
