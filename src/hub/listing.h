// The list of the files of a model, as the hub's API gives it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace encode::hub {

inline constexpr int64_t kMaxListingBytes = 32 << 20;
inline constexpr int64_t kMaxFiles = 20'000;
inline constexpr size_t kMaxPathBytes = 1024;
inline constexpr int64_t kMaxFileBytes = int64_t{1} << 42;  // 4.4 TB

struct ListedFile {
  std::optional<int64_t> bytes = {};
  std::string etag = {};  // the hash that names the blob; "": the list does not say it
};

struct Listing {
  std::string commit;
  std::map<std::string, ListedFile> files;  // by path: "1_Pooling/config.json"
};

// Reads the JSON of /api/models/<id>/revision/<revision>?blobs=true. The text is not trusted. `url`
// is for messages. Throws Error:
//   "hub.answer"  kUnavailable  it is not JSON, or not such a list
//   "hub.limit"   kData         it has too many files
//   "hub.path"    kData         a path leads out of the model, is too long, or has control
//                               characters
Listing parse_listing(std::string_view text, const std::string& url);

// Returns true for what names a blob: the 64 hexadecimal digits of a SHA-256, or the 40 digits of a
// git blob.
bool is_content_hash(std::string_view text);

}  // namespace encode::hub
