// The requests that a download sends to a hub: the list of files, the facts of a file, its bytes.
#pragma once

#include <cstdint>
#include <string>

#include "hub/answer_errors.h"
#include "hub/http.h"
#include "hub/listing.h"
#include "hub/observer.h"
#include "hub/settings.h"
#include "hub/url.h"

namespace encode::hub {

struct FileFacts {
  std::string path;
  std::string etag;  // is_content_hash(): what the content must hash to, and the name of the blob
  int64_t bytes = 0;
};

struct BytesWanted {
  std::string commit;
  std::string path;
  int64_t offset = 0;  // of the first byte that is wanted
  // The ETag of an earlier response. If the file has another ETag by now, the server sends the
  // whole file. "": none.
  std::string if_range = {};
};

// Every function that sends a request:
// - follows redirects, at most ten, only to http and https, and never from https to http;
// - sends the token only to the origin of the endpoint, and only if Url::is_private();
// - throws the Errors of answer_errors.h.
// All functions except get() repeat a request after a temporary failure. Not thread-safe.
class HubClient {
 public:
  // `settings` and `observer` must outlive the client. Throws Error "hub.library" and
  // "hub.setting".
  HubClient(const HubSettings& settings, std::string model, PullObserver& observer);

  // Throws what parse_listing() throws, and "hub.limit" for an answer above kMaxListingBytes.
  Listing listing(const std::string& revision);
  // Asks for the size and the hash of a file of `commit`. Throws Error kTempFail "hub.changed" if
  // the server answers for another commit, or if `listed` has another size or hash.
  FileFacts facts(const std::string& commit, const std::string& path, const ListedFile& listed);

  // Sends one request for the bytes of a file. The sink gets only the body of a response with
  // status 200 or 206.
  HttpResult get(const BytesWanted& wanted, const BodySink& sink);

  Subject subject(const std::string& revision, const std::string& path) const;

 private:
  enum class Follow { kAll, kUntilFacts };
  struct Order;
  HttpResult follow(const Order& order, const BodySink& sink);
  HttpResponse insist(const Order& order, const Subject& subject, std::string& body);
  std::string file_url(const std::string& commit, const std::string& path) const;
  bool gets_token(const Url& url) const;

  const HubSettings& settings_;
  const std::string model_;
  PullObserver& observer_;
  Url endpoint_;
  HttpSession session_;
};

}  // namespace encode::hub
