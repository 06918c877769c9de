#include "report/report.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <optional>

#include "encode/error.h"
#include "encode/model_directory.h"
#include "encode/store.h"

#include "base/empty_rows.h"
#include "base/file.h"
#include "base/json_values.h"
#include "base/units.h"
#include "config/schema.h"
#include "model_dir/truncation.h"
#include "report/page.h"
#include "report/run_record.h"
#include "report/sample.h"
#include "report/statistics.h"
#include "run_plan/final_outlook.h"
#include "run_record/run_status.h"
#include "store/attempt_folders.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"

namespace encode {
namespace {

constexpr int64_t kBars = 32;
constexpr int64_t kPairs = 20'000;
constexpr int64_t kNeighbours = 3;
constexpr size_t kShownQueries = 8;
constexpr size_t kShownPoints = 500;  // the most points of a stream
constexpr size_t kShownTruncated = 10;

Json to_json(const Histogram& bars) {
  return {{"lowest", bars.lowest}, {"highest", bars.highest}, {"counts", bars.counts}};
}

// ModelDirectory::position_limit, or nullopt if the model is not on this machine.
std::optional<int64_t> position_limit_of(const ResultOptions& options) {
  try {
    return open_model_directory(resolve_model(options.model, options.revision),
                                custom_code_policy(options.ignore_custom_code))
        .position_limit;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// One stream with its sample.
struct Sampled {
  std::string name;
  std::vector<int64_t> rows;  // rows of the input; with token embeddings the numbers of the vectors
  SampleMatrix vectors;
  SampleTexts texts;

  std::string text(size_t i) const {
    return i < texts.rows.size() ? texts.rows[i].text : std::string();
  }
};

class Collector {
 public:
  explicit Collector(const LoadedConfig& config) : config_(config) {}

  Json collect() {
    const RunStatus status = read_run_status(status_request(config_.run));
    problems_ = status.problems;
    Json streams = Json::array();
    for (const StreamConfig& stream : config_.run.streams) {
      Json section = {{"name", stream.name()}, {"model", stream.result.model}};
      for (const StreamStatus& known : status.streams) {
        if (known.name == stream.name()) add_progress(known, section);
      }
      guarded(stream.name(), [&] { add_final(stream, section); });
      streams.push_back(std::move(section));
    }
    if (status.memory.empty())
      missing_.push_back("the record of memory and throughput (memory.jsonl) has no sample");
    return {{"generated", static_cast<int64_t>(std::time(nullptr))},
            {"output", config_.run.store.output},
            {"run", run_json(status)},
            {"timeline", timeline_json(status)},
            {"faults", faults_json(status)},
            {"streams", std::move(streams)},
            {"map", map_json()},
            {"missing", missing_},
            {"problems", problems_},
            {"config", print_config(config_)}};
  }

 private:
  template <typename Read>
  void guarded(const std::string& stream, const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      const ErrorDetail& detail = error.detail();
      problems_.push_back(fmt::format("{}: {}: {}; expected {}, found {} [{}]", stream,
                                      preview(detail.where, 400), preview(detail.what, 300),
                                      preview(detail.expected, 200), preview(detail.found, 200),
                                      detail.code.name()));
    }
  }

  void add_progress(const StreamStatus& known, Json& section) {
    section["rows"] = known.rows;
    section["rows_done"] = known.rows_done;
    section["set_aside"] = known.rows_set_aside;
    section["done"] = known.state == StreamStatus::State::kDone;
    if (known.state == StreamStatus::State::kDone) return;
    missing_.push_back(fmt::format(
        "{}: no finished matrix; {} of {} committed", known.name, format_count(known.rows_done),
        known.rows < 0 ? "an unknown number of rows are"
                       : format_count(known.rows, "row is", "rows are")));
  }

  void add_final(const StreamConfig& stream, Json& section) {
    const std::string path = final_path_of(config_.run, stream.name());
    if (!entry_exists(manifest_path(path), "status.matrix")) return;
    const std::unique_ptr<Matrix> matrix = open_matrix(path, RowAccess::kFewRows);
    const Manifest& manifest = matrix->manifest();
    section["final"] = {
        {"path", path},
        {"vectors", matrix->rows()},
        {"dim", matrix->dim()},
        {"type", to_string(matrix->type())},
        {"file_bytes", manifest.file_bytes},
        {"tokens", manifest.stats.tokens},
        {"truncated_rows", manifest.stats.truncated_rows},
        {"lost_tokens", manifest.stats.lost_tokens},
        {"zero_token_rows", manifest.stats.zero_token_rows},
        {"devices", array_of(manifest.origins, [](const auto& origin) { return origin.device; })}};
    if (manifest.stats.passages > 0) section["final"]["passages"] = manifest.stats.passages;
    add_filter(manifest, section);
    if (manifest.ledger) guarded(stream.name(), [&] { add_truncated(path, section); });
    guarded(stream.name(), [&] { add_truncation(stream, manifest, section); });
    add_sample(stream, *matrix, section);
  }

  // Says what the filter of the input has left out.
  static void add_filter(const Manifest& manifest, Json& section) {
    constexpr size_t kShownBytes = 400;
    if (!says_filtered(manifest.identity.fingerprint)) return;
    const std::string where = recorded_options(manifest.identity.fingerprint).input.filter.where;
    section["filter"] = fmt::format(
        "{} left out, {} kept by {}", format_count(manifest.identity.filtered, "record", "records"),
        format_count(manifest.identity.rows, "row", "rows"), preview(where, kShownBytes));
  }

  // Adds what the cut at max_length has lost, and what to do about it.
  void add_truncation(const StreamConfig& stream, const Manifest& manifest, Json& section) const {
    if (manifest.stats.truncated_rows == 0) return;
    const ResultOptions recorded = recorded_options(manifest.identity.fingerprint).result;
    const bool cuts = recorded.passages.cuts();
    const Truncation cut = {
        .rows = manifest.identity.rows - manifest.dropped_rows,
        .truncated_rows = manifest.stats.truncated_rows,
        .tokens = manifest.stats.tokens,
        .lost_tokens = manifest.stats.lost_tokens,
        .max_length = (cuts ? recorded.passages.max_tokens : recorded.max_length).value_or(0),
        .position_limit = position_limit_of(stream.result),
        .of_passages = cuts};
    const std::string max_length = setting_name(cut.key(), config_.run.config_path.empty());
    section["truncation"] = {
        {"found", describe(cut, format_count(cut.rows, "row", "rows"))},
        {"lost_share", cut.lost_share()},
        {"next", truncation_advice(cut, max_length, another_output(config_.run.store, stream))}};
  }

  // Adds the first rows of the ledger.
  static void add_truncated(const std::string& path, Json& section) {
    constexpr int64_t kHeadBytes = 4096;
    const std::string ledger = ledger_path(path);
    const std::string head = read_head(ledger, kHeadBytes, "report.ledger");
    Json rows = Json::array();
    for (size_t begin = 0; rows.size() < kShownTruncated;) {
      const size_t end = head.find('\n', begin);
      if (end == std::string::npos) break;
      const Json line = parse_json(std::string_view(head).substr(begin, end - begin), {}, ledger,
                                   "report.ledger");
      const JsonFields fields(line, ledger, "report.ledger");
      rows.push_back({{"row", fields.integer("row", 0, kMaxInteger)},
                      {"tokens", fields.integer("tokens", 0, kMaxInteger)},
                      {"lost_tokens", fields.integer("lost_tokens", 0, kMaxInteger)}});
      begin = end + 1;
    }
    section["truncated"] = std::move(rows);
  }

  void add_sample(const StreamConfig& stream, const Matrix& matrix, Json& section) {
    Sampled sampled;
    sampled.name = stream.name();
    const std::vector<int64_t> vectors = sample_rows(matrix.rows(), kSampleRows);
    if (vectors.empty()) return;
    const Manifest& manifest = matrix.manifest();
    sampled.rows = manifest.identity.has_offsets() ? vectors : rows_of(matrix, vectors);
    sampled.vectors = read_vectors(matrix, vectors);
    if (!sampled.vectors.allFinite()) {
      problems_.push_back(fmt::format("{}: {}: a vector has values that are not finite",
                                      stream.name(), preview(matrix.path(), 400)));
      return;
    }
    if (!manifest.identity.has_offsets()) {
      guarded(stream.name(),
              [&] { sampled.texts = read_texts(stream, manifest.identity, sampled.rows); });
      if (sampled.texts.rows.size() < sampled.rows.size())
        missing_.push_back(stream.name() + ": the input does not give the text of every row");
      guarded(stream.name(), [&] { add_quantization(stream, matrix, sampled, section); });
    } else {
      missing_.push_back(stream.name() +
                         ": texts and token lengths, because a vector is not a row of the input");
    }
    add_empty_rows(sampled, section);
    add_lengths(sampled, section);
    add_geometry(sampled, section);
    if (samples_.empty() || samples_.front().vectors.cols() == sampled.vectors.cols()) {
      samples_.push_back(std::move(sampled));
    } else {
      missing_.push_back(stream.name() + ": not in the map, because its dimension is another one");
    }
  }

  void add_quantization(const StreamConfig& stream, const Matrix& matrix, const Sampled& sampled,
                        Json& section) {
    if (matrix.type() == OutputType::kFloat32) return;
    const std::optional<SampleMatrix> original = read_chunk_vectors(
        current_run_dir(config_.run.store.cache_dir), matrix.manifest().identity, sampled.rows);
    if (!original) {
      missing_.push_back(stream.name() +
                         ": the quantization error, because the float32 chunks are gone "
                         "(--keep-chunks, semantic.keep_chunk_cache, keeps them)");
      return;
    }
    const QuantizationError error = quantization_error(*original, sampled.vectors);
    section["quantization"] = {{"largest", error.largest},
                               {"root_mean", error.root_mean},
                               {"mean_cosine", error.mean_cosine},
                               {"least_cosine", error.least_cosine}};
  }

  // Adds how many rows of the sample have no text, and what to do about them.
  static void add_empty_rows(const Sampled& sampled, Json& section) {
    const EmptyRows& rows = sampled.texts.empty_rows;
    if (!rows.any()) return;
    section["empty_rows"] = {
        {"found",
         fmt::format("of {} that were looked at, {}",
                     format_count(std::ssize(sampled.rows), "row", "rows"), describe(rows))},
        {"next", empty_rows_advice(rows)}};
  }

  void add_lengths(const Sampled& sampled, Json& section) {
    // Without this limit, a few very long rows would leave a single bar for all other rows.
    const int64_t cut = sampled.texts.max_length;
    std::vector<double> lengths;
    for (const SampleText& text : sampled.texts.rows) {
      if (text.tokens >= 0)
        lengths.push_back(
            static_cast<double>(cut > 0 ? std::min(text.tokens, 2 * cut) : text.tokens));
    }
    if (!sampled.texts.problem.empty())
      missing_.push_back(sampled.name + ": token lengths: " + preview(sampled.texts.problem, 400));
    if (lengths.empty()) return;
    section["lengths"] = to_json(histogram(lengths, kBars));
    section["lengths"]["cut"] = cut;
  }

  static void add_geometry(const Sampled& sampled, Json& section) {
    const SampleMatrix units = unit_rows(sampled.vectors);
    const std::vector<std::vector<Neighbour>> near = neighbours(units, kNeighbours);
    Json queries = Json::array();
    for (size_t i = 0; i < std::min(kShownQueries, near.size()); ++i) {
      const size_t query = i * near.size() / std::min(kShownQueries, near.size());
      Json found = Json::array();
      for (const Neighbour& one : near[query]) {
        const auto row = static_cast<size_t>(one.row);
        found.push_back(
            {{"row", sampled.rows[row]}, {"text", sampled.text(row)}, {"cosine", one.cosine}});
      }
      queries.push_back({{"row", sampled.rows[query]},
                         {"text", sampled.text(query)},
                         {"neighbours", std::move(found)}});
    }
    section["sample"] = {{"rows", sampled.rows.size()},
                         {"norms", to_json(histogram(norms(sampled.vectors), kBars))},
                         {"cosines", to_json(histogram(pair_cosines(units, kPairs), kBars))},
                         {"mean_cosine", mean_pair_cosine(units)},
                         {"near_duplicates", near_duplicate_share(near)},
                         {"near_cosine", kNearDuplicateCosine},
                         {"queries", std::move(queries)}};
  }

  // Returns the map: the principal components of the samples of all streams together.
  Json map_json() const {
    if (samples_.empty()) return {};
    Eigen::Index rows = 0;
    for (const Sampled& sampled : samples_) rows += sampled.vectors.rows();
    SampleMatrix all(rows, samples_.front().vectors.cols());
    Eigen::Index first = 0;
    for (const Sampled& sampled : samples_) {
      all.middleRows(first, sampled.vectors.rows()) = sampled.vectors;
      first += sampled.vectors.rows();
    }
    const Projection projection = principal_components(all);
    Json streams = Json::array();
    first = 0;
    for (const Sampled& sampled : samples_) {
      Json points = Json::array();
      const size_t count = std::min(kShownPoints, sampled.rows.size());
      for (size_t i = 0; i < count; ++i) {
        const size_t row = i * sampled.rows.size() / count;
        const Eigen::Index at = first + static_cast<Eigen::Index>(row);
        points.push_back({{"x", projection.points(at, 0)},
                          {"y", projection.points(at, 1)},
                          {"row", sampled.rows[row]},
                          {"text", sampled.text(row)}});
      }
      streams.push_back({{"name", sampled.name}, {"points", std::move(points)}});
      first += sampled.vectors.rows();
    }
    return {{"shares", {projection.shares[0], projection.shares[1]}},
            {"streams", std::move(streams)}};
  }

  const LoadedConfig& config_;
  std::vector<Sampled> samples_;
  std::vector<std::string> missing_;
  std::vector<std::string> problems_;
};

bool may_be_replaced(const std::string& path) {
  return read_head(path, std::ssize(kPageHead), "report.output") == kPageHead;
}

}  // namespace

Json collect_report(const LoadedConfig& config) { return Collector(config).collect(); }

void write_report(const std::string& path, const Json& report) {
  if (entry_exists(path, "report.output") && !may_be_replaced(path)) {
    throw Error({.code = "report.foreign",
                 .what = "the output is a file that is not a report",
                 .where = path,
                 .expected = "no file, or an older report of encode",
                 .found = "a file that begins otherwise",
                 .hint = "choose another path with --output"});
  }
  write_file_durably(path, html_page(report));
}

}  // namespace encode
