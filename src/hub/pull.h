// `encode pull`: downloads a model into the cache of huggingface_hub. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/model_directory.h"

#include "hub/observer.h"
#include "hub/settings.h"

namespace encode::hub {

struct PullRequest {
  std::string model;     // "org/name"
  std::string revision;  // a branch, a tag or a commit
  CustomCodePolicy code = CustomCodePolicy::kRefuse;
};

struct PullResult {
  std::string snapshot;  // the folder that encode and Python tools open
  std::string commit;
  int64_t files = 0;
  int64_t bytes = 0;          // the size of all files
  int64_t fetched_bytes = 0;  // came over the network now
};

// Reads "org/name" or "org/name@revision". Throws Error kUsage "hub.name".
PullRequest parse_pull_request(const std::string& text);

// Downloads the files that needed_files() names, and then writes the ref of the revision. Skips
// files that the cache has. A file gets its name only when it is complete and checked, so after a
// kill a later call completes the download. Blocks until the model is complete. Throws Error:
//   "hub.offline"  kUnavailable  HF_HUB_OFFLINE is set
//   "hub.disk"     kIoError      the files do not fit on the disk
// and what needed_files(), HubClient, CacheRepository and download_blob() throw.
PullResult pull(const PullRequest& request, const HubSettings& settings, PullObserver& observer);

}  // namespace encode::hub
