#include "hub/hub_client.h"

#include <charconv>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hub/retries.h"
#include "model_dir/hub_cache.h"

namespace encode::hub {
namespace {

constexpr int kMaxRedirects = 10;

// Returns the value of an ETag without its quotes and without the mark of a weak one.
std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"'))
    etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

// Returns true for a redirect of the hub to another server that has the bytes of a large file. Such
// a redirect has the size and the hash of the file in its headers.
bool states_facts(const HttpResponse& response) {
  return response.headers.contains("x-linked-etag") && response.headers.contains("x-repo-commit");
}

std::optional<int64_t> size_of(const std::string& text) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && size >= 0 && size <= kMaxFileBytes ? std::optional(size) : std::nullopt;
}

Error changed(const std::string& url, std::string expected, std::string found) {
  return Error({.code = "hub.changed",
                .what = "the model changed on the server while it was downloaded",
                .where = preview(url, 300),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "run the same command again"});
}

Error bad_redirect(const std::string& from, const std::string& location) {
  return answer_error(from,
                      "a redirect to an http or https address without a user or password, "
                      "and not from https to http",
                      fmt::format("a redirect to '{}'", preview(location, 200)));
}

Url parsed_endpoint(const HubSettings& settings) {
  if (std::optional<Url> url = parse_url(settings.endpoint)) return *std::move(url);
  throw answer_error(settings.endpoint, "an http or https address", "another text");
}

}  // namespace

struct HubClient::Order {
  std::string url;
  bool head = false;
  Follow redirects = Follow::kAll;
  std::vector<std::string> headers = {};
  std::chrono::seconds stall{10};
};

HubClient::HubClient(const HubSettings& settings, std::string model, PullObserver& observer)
    : settings_(settings),
      model_(std::move(model)),
      observer_(observer),
      endpoint_(parsed_endpoint(settings)),
      session_(settings.ca_file) {
  if (!settings.token.empty() && !endpoint_.is_private()) {
    observer_.note(
        fmt::format("the token is not sent to {}, because the connection is not "
                    "encrypted",
                    preview(settings.endpoint)));
  }
}

bool HubClient::gets_token(const Url& url) const {
  return !settings_.token.empty() && url.same_origin(endpoint_) && url.is_private();
}

Subject HubClient::subject(const std::string& revision, const std::string& path) const {
  return {.model = model_, .revision = revision, .path = path, .with_token = gets_token(endpoint_)};
}

std::string HubClient::file_url(const std::string& commit, const std::string& path) const {
  return fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, model_, commit,
                     escape_url_path(path));
}

HttpResult HubClient::follow(const Order& order, const BodySink& sink) {
  std::optional<Url> url = parse_url(order.url);
  if (!url) throw answer_error(order.url, "an address", "another text");
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    HttpRequest request = {.url = url->text,
                           .head = order.head,
                           .direct = url->is_loopback(),
                           .headers = order.headers,
                           .stall = order.stall};
    request.headers.emplace_back("Accept-Encoding: identity");  // so that sizes are file sizes
    request.headers.emplace_back("User-Agent: encode");
    if (gets_token(*url)) request.headers.push_back("Authorization: Bearer " + settings_.token);
    HttpResult result = session_.get(request, sink);
    const std::string location = result.response.header("location");
    if (result.fault || !result.response.is_redirect()) return result;
    if (order.redirects == Follow::kUntilFacts && states_facts(result.response)) return result;
    std::optional<Url> next = resolve_location(*url, location);
    if (!next || next->has_credentials || (url->scheme == "https" && next->scheme != "https"))
      throw bad_redirect(order.url, location);
    url = std::move(next);
  }
  throw answer_error(order.url, fmt::format("at most {} redirects", kMaxRedirects),
                     fmt::format("one more redirect, to '{}'", preview(url->text, 200)));
}

HttpResponse HubClient::insist(const Order& order, const Subject& subject, std::string& body) {
  Retries retries(settings_.retries, subject.path.empty() ? model_ : preview(subject.path),
                  observer_);
  while (true) {
    body.clear();
    const HttpResult result =
        follow(order, [&](const HttpResponse& response, std::string_view bytes) {
          body.append(bytes);
          if (static_cast<int64_t>(body.size()) <= kMaxListingBytes) return;
          throw Error({.code = "hub.limit",
                       .what = "the server's answer is too large",
                       .where = preview(response.url, 300),
                       .expected = fmt::format("at most {} bytes", kMaxListingBytes),
                       .found = fmt::format("at least {} bytes", body.size()),
                       .hint = "check the name of the model and HF_ENDPOINT"});
        });
    if (!result.fault && result.response.status < 400) return result.response;
    retries.wait_or_throw(passing_error(result, subject, order.url),
                          result.fault ? std::nullopt : result.response.retry_after);
  }
}

Listing HubClient::listing(const std::string& revision) {
  const std::string url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint,
                                      model_, escape_url_part(revision));
  std::string body;
  insist({.url = url, .stall = settings_.metadata_timeout}, subject(revision, ""), body);
  Listing listing = parse_listing(body, url);
  if (is_commit(revision) && listing.commit != revision)
    throw answer_error(url, fmt::format("the commit {}", revision), listing.commit);
  return listing;
}

FileFacts HubClient::facts(const std::string& commit, const std::string& path,
                           const ListedFile& listed) {
  const std::string url = file_url(commit, path);
  std::string body;
  const HttpResponse response = insist({.url = url,
                                        .head = true,
                                        .redirects = Follow::kUntilFacts,
                                        .stall = settings_.metadata_timeout},
                                       subject(commit, path), body);
  const std::string answered = response.header("x-repo-commit");
  if (!is_commit(answered))
    throw answer_error(url, "a header X-Repo-Commit with a commit",
                       fmt::format("'{}'", preview(answered)));
  if (answered != commit) throw changed(url, fmt::format("the commit {}", commit), answered);
  const std::string linked = response.header("x-linked-etag");
  FileFacts facts = {.path = path,
                     .etag = plain_etag(linked.empty() ? response.header("etag") : linked)};
  if (!is_content_hash(facts.etag)) {
    throw answer_error(url, "a header X-Linked-Etag or ETag with the hash of the file",
                       fmt::format("'{}'", preview(facts.etag)));
  }
  std::optional<int64_t> bytes = size_of(response.header("x-linked-size"));
  if (!bytes && !response.is_redirect()) bytes = size_of(response.header("content-length"));
  if (!bytes) bytes = listed.bytes;
  if (!bytes) throw answer_error(url, "a header that states the size of the file", "none");
  facts.bytes = *bytes;
  if (!listed.etag.empty() && listed.etag != facts.etag)
    throw changed(url, fmt::format("the hash {}", listed.etag), facts.etag);
  if (listed.bytes && *listed.bytes != facts.bytes)
    throw changed(url, fmt::format("{} bytes", *listed.bytes),
                  fmt::format("{} bytes", facts.bytes));
  return facts;
}

HttpResult HubClient::get(const BytesWanted& wanted, const BodySink& sink) {
  Order order = {.url = file_url(wanted.commit, wanted.path), .stall = settings_.download_timeout};
  if (wanted.offset > 0) {
    order.headers.push_back(fmt::format("Range: bytes={}-", wanted.offset));
    if (!wanted.if_range.empty()) order.headers.push_back("If-Range: " + wanted.if_range);
  }
  return follow(order, sink);
}

}  // namespace encode::hub
