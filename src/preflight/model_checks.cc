#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "encode/model_directory.h"

#include "base/units.h"
#include "base/vocabulary_limit.h"
#include "config/schema.h"
#include "model_dir/prompt_families.h"
#include "preflight/checks.h"
#include "tokenizer/document_tokens.h"
#include "tokenizer/prompt_tokens.h"

namespace encode {

int64_t CheckedExperiment::largest_model_bytes() const {
  int64_t largest = 0;
  for (const auto& [path, model] : models) largest = std::max(largest, model->opened.bytes());
  return largest;
}

namespace {

// Letters, digits, accents and another script, so that most tokenizers have tokens for all of it.
constexpr std::string_view kRoundTripText = "The quick brown fox (No. 42) naïve 世界";

std::string folder_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

constexpr const char* kTokenizerHint =
    "download the whole model directory again: the tokenizer is of another model";

// Tokenizes a text and turns the ids back into tokens.
void round_trip(const ModelDirectory& model, const Tokenizer& tokenizer,
                PreflightFindings& findings) {
  const TokenizeOptions options = {.add_special_tokens = model.add_special_tokens};
  TokenizedRows rows;
  tokenizer.encode(kRoundTripText, options, rows);
  std::vector<TokenOffset> offsets;
  tokenizer.encode_with_offsets(kRoundTripText, options, rows, offsets);
  const bool same = std::ranges::equal(rows.row(0), rows.row(1));
  const bool spelled = std::all_of(rows.ids.begin(), rows.ids.end(), [&tokenizer](int32_t id) {
    return !tokenizer.token(id).empty();
  });
  if (!same || !spelled || rows.row(0).empty()) {
    findings.red("tokenizer", {.code = "tokenizer.round_trip",
                               .what = "the tokenizer fails a round trip",
                               .where = model.transformer_path,
                               .expected = "ids that have a spelling, and the same ids twice",
                               .found = same ? "an id without a token" : "other ids",
                               .hint = kTokenizerHint});
    return;
  }
  if (auto error = outside_vocabulary(rows.row(0), model.vocab_size, IdSource::kTokenizer)) {
    error->where = model.transformer_path;
    error->hint = kTokenizerHint;
    findings.red("tokenizer", *std::move(error));
    return;
  }
  if (tokenizer.vocab_size() > model.vocab_size) {
    findings.yellow(
        "tokenizer",
        fmt::format("the tokenizer has {} tokens, but the model only {}; a row with "
                    "another one is refused",
                    format_count(tokenizer.vocab_size()), format_count(model.vocab_size)),
        "check that the tokenizer belongs to the model");
    return;
  }
  findings.green("tokenizer", fmt::format("{}; a round trip of {} tokens", tokenizer.description(),
                                          rows.row(0).size()));
}

// Says which prompt every row gets.
void check_prompt(const StreamConfig& stream, const ModelDirectory& directory,
                  PreflightFindings& findings) {
  const std::string name = "prompt " + stream.name();
  if (const std::optional<std::string> advice = prompt_advice(directory, stream.result)) {
    findings.yellow(name, *advice, "see docs/howto/prompts.md");
  } else {
    findings.green(name, describe_prompt(directory, stream.result));
  }
}

}  // namespace

const CheckedModel* check_model(const ResultOptions& options, const ModelNeeds& models,
                                CheckedExperiment& experiment, PreflightFindings& findings) {
  const CheckedModel* result = nullptr;
  findings.at(RunStep::kModels);
  findings.guard("model", [&] {
    const std::string path = resolve_model(options.model, options.revision);
    std::unique_ptr<CheckedModel>& known = experiment.models[path];
    if (known != nullptr) {
      result = known.get();
      return;
    }
    auto model = std::make_unique<CheckedModel>();
    try {
      model->opened = open_fitting_model(path, options, models.limit, models.hash_cache);
    } catch (const Error&) {
      experiment.models.erase(path);
      throw;
    }
    const ModelDirectory& directory = model->opened.directory;
    findings.green(
        "model", fmt::format("{}: {}, hidden size {}, {} tensors, {}", folder_name(path),
                             directory.model_type, directory.hidden_size, directory.tensors.size(),
                             format_bytes(model->opened.bytes())));
    for (const AppliedRecipe& recipe : directory.recipes)
      findings.green("custom code", fmt::format("{}: encode does what it does (recipe {})",
                                                recipe.code, recipe.name));
    for (const std::string& warning : directory.warnings)
      findings.yellow("model", warning, "see docs/models.md");
    findings.at(RunStep::kTokenizer);
    findings.guard("tokenizer", [&] {
      TokenizerSource source =
          read_tokenizer_source(directory, tokenizer_rules(directory, options));
      if (tokenizer_file_of(source).empty()) {
        findings.yellow("tokenizer", "the model directory has no tokenizer",
                        "rows must be token ids; otherwise download the whole directory again");
        return;
      }
      model->tokenizer = load_document_tokenizer(std::move(source), directory);
      // Throws if a skip word has no token.
      if (directory.late_interaction)
        skip_list_ids(*directory.late_interaction, *model->tokenizer, directory.path);
      findings.at(RunStep::kRows);
      round_trip(directory, *model->tokenizer, findings);
    });
    known = std::move(model);
    result = known.get();
  });
  return result;
}

void check_streams(const RunConfig& config, const ModelNeeds& models, CheckedExperiment& experiment,
                   PreflightFindings& findings) {
  const std::string advice =
      "give " + spelled_setting("semantic.max_length", "N", config.config_path.empty());
  std::set<std::string> warned;
  for (const StreamConfig& stream : config.streams) {
    const CheckedModel* model = check_model(stream.result, models, experiment, findings);
    if (model == nullptr) continue;
    findings.at(RunStep::kModels);
    const std::string check = "options " + stream.name();
    const bool added_stream = findings.guard(check, [&] {
      CheckedStream added{.plan = begin_stream_plan(config, stream, model->opened),
                          .model = model,
                          .by_flags = config.config_path.empty()};
      for (const std::string& warning : length_warnings(model->opened.directory, stream.result)) {
        if (warned.insert(warning).second) findings.yellow(check, warning, advice);
      }
      check_prompt(stream, model->opened.directory, findings);
      experiment.streams.push_back(std::move(added));
    });
    if (model->tokenizer == nullptr || !added_stream) continue;
    findings.at(RunStep::kRows);
    findings.guard(check, [&] {
      const EffectiveResult& effective = experiment.streams.back().plan.effective;
      const ModelDirectory& directory = model->opened.directory;
      require_room_after_prompt(
          *model->tokenizer, effective.prompt,
          {.max_length = effective.max_length, .add_special_tokens = directory.add_special_tokens},
          directory.path);
    });
  }
}

}  // namespace encode
