#include "hub/listing.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "hub/answer_errors.h"
#include "model_dir/hub_cache.h"

namespace encode::hub {
namespace {

constexpr size_t kMaxNameBytes = 255;
constexpr ErrorCode kAnswerCode = "hub.answer";

// Returns what is wrong with a path, or "". Names that encode does not need may have any visible
// characters; needed_files() allows fewer.
std::string fault_of(const std::string& path) {
  if (path.size() > kMaxPathBytes) return fmt::format("a path of {} bytes", path.size());
  if (!is_valid_utf8(path) || printable(path) != path || path.find('\n') != std::string::npos)
    return "a path with control characters or bytes that are not UTF-8";
  for (const std::string& name : split_path(path)) {
    if (name.empty()) return "an absolute path, or a path with an empty name";
    if (name == "." || name == "..") return "a path that leads out of the model";
    if (name.size() > kMaxNameBytes) return fmt::format("a name of {} bytes", name.size());
  }
  return "";
}

Error data_error(ErrorCode code, const std::string& url, std::string expected, std::string found) {
  return Error({.code = code,
                .exit_code = ExitCode::kData,
                .what = "the server's list of files is not safe to use",
                .where = preview(url, 300),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "nothing was downloaded; do not use this model or this server if you do "
                        "not trust it"});
}

void require_harmless(const std::string& path, const std::string& url) {
  const std::string fault = fault_of(path);
  if (fault.empty()) return;
  throw data_error("hub.path", url, "relative paths of visible characters without '..'",
                   fmt::format("{}: '{}'", fault, preview(path)));
}

std::string etag_of(const JsonFields& file, const std::string& url) {
  std::string etag = file.string_or("blobId", "");
  if (file.has("lfs"))
    etag = JsonFields(file.object("lfs"), url, kAnswerCode).string_or("sha256", "");
  return is_content_hash(etag) ? etag : "";
}

Listing read_listing(std::string_view text, const std::string& url) {
  const Json json =
      parse_json(text, {.max_bytes = kMaxListingBytes, .max_depth = 64}, url, kAnswerCode);
  const JsonFields fields(json, url, kAnswerCode);
  Listing listing;
  listing.commit = fields.string("sha");
  if (!is_commit(listing.commit))
    fields.refuse("sha", "a commit of 40 hexadecimal digits", preview(listing.commit));
  const Json& siblings = fields.array("siblings");
  if (static_cast<int64_t>(siblings.size()) > kMaxFiles) {
    throw data_error("hub.limit", url, fmt::format("at most {} files", kMaxFiles),
                     fmt::to_string(siblings.size()));
  }
  for (const Json& sibling : siblings) {
    const JsonFields file(sibling, url, kAnswerCode);
    const std::string path = file.string("rfilename");
    require_harmless(path, url);
    ListedFile listed = {.etag = etag_of(file, url)};
    if (file.has("size")) listed.bytes = file.integer("size", 0, kMaxFileBytes);
    if (!listing.files.emplace(path, std::move(listed)).second)
      throw data_error("hub.path", url, "each path once", fmt::format("'{}' twice", preview(path)));
  }
  return listing;
}

}  // namespace

Listing parse_listing(std::string_view text, const std::string& url) {
  try {
    return read_listing(text, url);
  } catch (const Error& error) {
    // Rewords the error, because the JSON reader's hint is for a file that the user can correct.
    const ErrorDetail& detail = error.detail();
    if (detail.code != kAnswerCode) throw;
    throw answer_error(url, detail.expected, fmt::format("{}: {}", detail.what, detail.found));
  }
}

bool is_content_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace encode::hub
