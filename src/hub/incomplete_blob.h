// A blob that is not complete yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"

namespace encode::hub {

// The file <blob>.incomplete. Bytes are added at its end, so its size says how far an earlier
// download came. The caller holds the lock of the blob. The functions throw the Errors of failed
// system calls: "hub.cache" and "io.write". Not thread-safe.
class IncompleteBlob {
 public:
  explicit IncompleteBlob(std::string path);  // opens the file, or creates it

  int64_t bytes() const { return bytes_; }
  void append(std::string_view data);
  void restart();  // drops all bytes
  void sync();
  // The hash of the content, in the form of `etag`, which is_content_hash().
  std::string hash(std::string_view etag) const;
  void remove();  // deletes the file

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t bytes_ = 0;
};

}  // namespace encode::hub
