#include "hub/pull.h"

#include <fmt/format.h>
#include <set>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/units.h"
#include "hub/cache_repository.h"
#include "hub/download.h"
#include "hub/hub_client.h"
#include "model_dir/hub_cache.h"
#include "model_dir/needed_files.h"
#include "run_plan/memory/disk_space.h"

namespace encode::hub {
namespace {

Error bad_name(const std::string& text) {
  return Error({.code = "hub.name",
                .what = "this is not the name of a model on the hub",
                .where = "command line",
                .expected = "ORG/NAME or ORG/NAME@REVISION, of letters, digits, '.', '_', '-'",
                .found = fmt::format("'{}'", preview(text, 200)),
                .hint = "for example: encode pull sentence-transformers/all-MiniLM-L6-v2"});
}

Error offline(const PullRequest& request) {
  return Error({.code = "hub.offline",
                .what = "downloads are switched off",
                .where = "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE",
                .expected = "permission to use the network",
                .found = "a variable that is set to 1",
                .hint = fmt::format("run it without the variable (HF_HUB_OFFLINE=0 encode pull "
                                    "{}), or copy the model into the cache from another machine",
                                    request.model)});
}

Error disk_full(const std::string& cache, int64_t needed, int64_t free) {
  return Error({.code = "hub.disk",
                .what = "the model does not fit on the disk",
                .where = cache,
                .expected = fmt::format("{} of free space", format_bytes(needed)),
                .found = fmt::format("{} that this user may use", format_bytes(free)),
                .hint = "free space, or name a folder on another disk in HF_HUB_CACHE"});
}

// The download of one model.
class Pull {
 public:
  Pull(const PullRequest& request, const HubSettings& settings, PullObserver& observer)
      : request_(request),
        settings_(settings),
        observer_(observer),
        client_(settings, request.model, observer),
        listing_(client_.listing(request.revision)),
        cache_(settings.cache, request.model, observer) {
    for (const auto& [path, file] : listing_.files) available_.insert(path);
  }

  PullResult run() {
    cache_.create_snapshot(listing_.commit);
    cache_.remove_broken_links(listing_.commit);
    result_.snapshot = cache_.snapshot(listing_.commit);
    result_.commit = listing_.commit;
    while (fetch_round()) {
    }
    cache_.write_ref(request_.revision, listing_.commit);
    result_.files = static_cast<int64_t>(done_.size());
    return std::move(result_);
  }

 private:
  // Downloads the files that are known to be needed. Returns false if all of them are there.
  bool fetch_round() {
    std::vector<FileFacts> files;
    int64_t needed_bytes = 0;
    for (const std::string& path : needed_files(available_, result_.snapshot, request_.code)) {
      if (done_.contains(path)) continue;
      files.push_back(client_.facts(listing_.commit, path, listing_.files.at(path)));
      const FileFacts& file = files.back();
      if (!cache_.has_blob(file.etag, file.bytes)) needed_bytes += file.bytes;
    }
    require_space(needed_bytes);
    for (const FileFacts& file : files) fetch(file);
    return !files.empty();
  }

  void fetch(const FileFacts& file) {
    const DownloadContext context = {client_, cache_, settings_, observer_};
    const int64_t fetched =
        cache_.has_blob(file.etag, file.bytes) ? 0 : download_blob(context, listing_.commit, file);
    cache_.link(listing_.commit, file.path, file.etag);
    done_.insert(file.path);
    result_.bytes += file.bytes;
    result_.fetched_bytes += fetched;
    observer_.finished(file.path, file.bytes, fetched);
  }

  // Counts the bytes of an earlier, unfinished download as needed again, so that the check never
  // promises too much.
  void require_space(int64_t bytes) const {
    const DiskSpace space = disk_space_at(settings_.cache);
    if (bytes > space.usable_bytes) throw disk_full(settings_.cache, bytes, space.usable_bytes);
  }

  const PullRequest& request_;
  const HubSettings& settings_;
  PullObserver& observer_;
  HubClient client_;
  Listing listing_;
  CacheRepository cache_;
  std::set<std::string> available_;
  std::set<std::string> done_;
  PullResult result_;
};

}  // namespace

PullRequest parse_pull_request(const std::string& text) {
  const size_t at = text.find('@');
  PullRequest request = {
      .model = text.substr(0, at),
      .revision = at == std::string::npos ? kDefaultRevision : text.substr(at + 1)};
  // The cache separates the parts of a name by "--", so the hub allows none in a name.
  const bool named = split_path(request.model).size() == 2 && is_safe_path(request.model) &&
                     request.model.find("--") == std::string::npos;
  if (!named || !is_safe_path(request.revision)) throw bad_name(text);
  return request;
}

PullResult pull(const PullRequest& request, const HubSettings& settings, PullObserver& observer) {
  if (settings.offline) throw offline(request);
  return Pull(request, settings, observer).run();
}

}  // namespace encode::hub
