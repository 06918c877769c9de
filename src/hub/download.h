// Downloads the bytes of one file.
#pragma once

#include <cstdint>
#include <string>

#include "hub/cache_repository.h"
#include "hub/hub_client.h"
#include "hub/observer.h"

namespace encode::hub {

// What a download needs. All members must outlive the call.
struct DownloadContext {
  HubClient& client;
  const CacheRepository& cache;
  const HubSettings& settings;
  PullObserver& observer;
};

// Makes the blob of a file, unless the cache has it. Goes on where an earlier download stopped, and
// checks the size and the hash before the blob gets its name. Returns the number of bytes that came
// over the network. Throws the Errors of HubClient and CacheRepository, and
//   "hub.size"  kData  the server sends more or fewer bytes than it states
//   "hub.hash"  kData  the bytes do not have the hash that names the file
int64_t download_blob(const DownloadContext& context, const std::string& commit,
                      const FileFacts& file);

}  // namespace encode::hub
