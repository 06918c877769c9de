// `encode pull`: downloads a model into the cache of huggingface_hub.
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
  int64_t bytes = 0;          // of all files
  int64_t fetched_bytes = 0;  // came over the network now
};

// Reads "org/name" or "org/name@revision". Throws Error kUsage "hub.name".
PullRequest parse_pull_request(const std::string& text);

// Downloads the files that needed_files() names, and then makes the revision lead to them. Files
// that the cache has are not downloaded again. A file is complete and checked when it gets its
// name, so a process that is killed leaves a cache that a later call completes. Blocks until the
// model is there. Throws Error:
//   "hub.offline"  kUnavailable  HF_HUB_OFFLINE is set
//   "hub.disk"     kIoError      the files do not fit on the disk
// and what needed_files(), HubClient, CacheRepository and download_blob() throw.
PullResult pull(const PullRequest& request, const HubSettings& settings, PullObserver& observer);

}  // namespace encode::hub
