#include "hub/answer_errors.h"

#include <fmt/format.h>
#include <utility>

#include "base/units.h"

namespace encode::hub {
namespace {

constexpr size_t kShownBytes = 300;

// Returns "403, GatedRepo: Access to this model is restricted". All of it is the server's text.
std::string answer(const HttpResponse& response) {
  std::string text = fmt::format("the status {}", response.status);
  const std::string code = response.header("x-error-code");
  const std::string message = response.header("x-error-message");
  if (!code.empty()) text += fmt::format(", {}", preview(code));
  if (!message.empty()) text += fmt::format(": {}", preview(message, kShownBytes));
  return text;
}

struct Meaning {
  ErrorCode code;
  std::string what;
  std::string expected;
  std::string hint;
};

Error error_of(Meaning meaning, const HttpResponse& response) {
  return Error({.code = meaning.code,
                .what = std::move(meaning.what),
                .where = preview(response.url, kShownBytes),
                .expected = std::move(meaning.expected),
                .found = answer(response),
                .hint = std::move(meaning.hint)});
}

constexpr const char* kTokenHint =
    "set HF_TOKEN to a token of an account that has access "
    "(https://huggingface.co/settings/tokens)";

Meaning no_model(const Subject& subject) {
  return {.code = "hub.model",
          .what = fmt::format("the server has no model '{}', or hides it", subject.model),
          .expected = "a public model, or a token of an account that may read it",
          .hint = fmt::format("check the name; for a private model {}", kTokenHint)};
}

Meaning no_revision(const Subject& subject) {
  return {.code = "hub.revision",
          .what = fmt::format("the model '{}' has no revision '{}'", subject.model,
                              preview(subject.revision)),
          .expected = "a branch, a tag or a commit of the model",
          .hint = "leave the revision out for the main branch"};
}

Meaning no_file(const Subject& subject) {
  return {.code = "hub.file",
          .what = fmt::format("the server lists the file '{}', but does not have it",
                              preview(subject.path)),
          .expected = "the file",
          .hint = "try again; if it stays away, choose another revision of the model"};
}

Meaning gated(const Subject& subject) {
  return {
      .code = "hub.gated",
      .what = fmt::format("the owner of '{}' asks you to accept conditions first", subject.model),
      .expected = "a token of an account that has access to the model",
      .hint = subject.with_token
                  ? fmt::format("open the page of the model ({}) with the account of your token "
                                "and ask for access",
                                subject.model)
                  : fmt::format("ask for access on the page of the model, then {}", kTokenHint)};
}

Meaning forbidden(const Subject& subject) {
  return {.code = "hub.forbidden",
          .what = "the server does not allow this download",
          .expected = "permission to read the model",
          .hint = subject.with_token ? "check that the token is valid and may read this model"
                                     : kTokenHint};
}

}  // namespace

bool may_pass(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

Error refused_error(const HttpResponse& response, const Subject& subject) {
  const std::string code = response.header("x-error-code");
  if (code == "RevisionNotFound") return error_of(no_revision(subject), response);
  if (code == "EntryNotFound") return error_of(no_file(subject), response);
  if (code == "GatedRepo") return error_of(gated(subject), response);
  if (code == "RepoNotFound") return error_of(no_model(subject), response);
  // Without a token, the hub answers 401 even for a model that does not exist.
  if (response.status == 404 || (response.status == 401 && !subject.with_token))
    return error_of(subject.path.empty() ? no_model(subject) : no_file(subject), response);
  if (response.status == 401 || response.status == 403)
    return error_of(forbidden(subject), response);
  return answer_error(response.url, "the status 200", answer(response));
}

Error busy_error(const HttpResponse& response) {
  const std::string wait =
      response.retry_after ? fmt::format(" in {} s", response.retry_after->count()) : " later";
  return error_of(
      {.code = "hub.busy",
       .what = "the server is busy or out of order",
       .expected = "an answer",
       .hint = fmt::format("run the same command again{}: it goes on where it stopped", wait)},
      response);
}

Error transfer_error(const TransferFault& fault, const std::string& url) {
  ErrorDetail detail = {.code = "hub.cut",
                        .what = "the transfer was cut off or came to a stop",
                        .where = preview(url, kShownBytes),
                        .expected = "the whole file",
                        .found = preview(fault.reason, kShownBytes),
                        .hint = "run the same command again: it goes on where it stopped"};
  if (fault.kind == TransferFault::Kind::kConnect) {
    detail.exit_code = ExitCode::kUnavailable;
    detail.code = "hub.connect";
    detail.what = "the server cannot be reached";
    detail.expected = "a connection";
    detail.hint = "check the network, the proxy (https_proxy) and HF_ENDPOINT";
  } else if (fault.kind == TransferFault::Kind::kTls) {
    detail.exit_code = ExitCode::kUnavailable;
    detail.code = "hub.tls";
    detail.what = "the server's certificate cannot be trusted, or it does not speak TLS";
    detail.expected = "a certificate that the system trusts";
    detail.hint = "if your network has certificates of its own, name their file in SSL_CERT_FILE";
  }
  return Error(std::move(detail));
}

Error passing_error(const HttpResult& result, const Subject& subject, const std::string& url) {
  if (result.fault) {
    if (result.fault->kind == TransferFault::Kind::kTls) throw transfer_error(*result.fault, url);
    return transfer_error(*result.fault, url);
  }
  if (may_pass(result.response.status)) return busy_error(result.response);
  throw refused_error(result.response, subject);
}

Error answer_error(const std::string& url, std::string expected, std::string found) {
  return Error({.code = "hub.answer",
                .what = "the server does not answer as a Hugging Face Hub does",
                .where = preview(url, kShownBytes),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "check HF_ENDPOINT and the proxy: a page of a login or of a firewall may "
                        "be in between"});
}

}  // namespace encode::hub
