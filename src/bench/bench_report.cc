#include "bench/bench_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/units.h"

namespace encode {
namespace {

using Figure = std::optional<double>;  // nullopt if the run has not measured it

enum class Unit { kSeconds, kRate, kShare, kBytes };

Figure ratio(double a, double b) { return b > 0 ? Figure(a / b) : std::nullopt; }
Figure known(double value) { return value > 0 ? Figure(value) : std::nullopt; }
double tokens(const BenchTurn& turn) { return static_cast<double>(turn.tokens); }
double token_rate(const BenchTurn& turn) { return tokens(turn) / turn.seconds; }
double encoding_rate(const BenchTurn& turn) {
  return tokens(turn) / std::max(turn.stages.main_thread(), 1e-9);
}
constexpr double kGiga = 1e9;

struct Measure {
  const char* key;    // in JSON
  const char* label;  // in the table
  Unit unit;
  Figure (*of)(const BenchTurn&);
};

// The measures in the order of the table. The table leaves out a measure that no run has.
constexpr auto kMeasures = std::to_array<Measure>({
    {"seconds", "whole command, s", Unit::kSeconds,
     [](const BenchTurn& turn) { return Figure(turn.seconds); }},
    {"cpu_seconds", "CPU time, s", Unit::kSeconds,
     [](const BenchTurn& turn) { return Figure(turn.cpu_seconds); }},
    {"tokens_per_second", "tokens/s", Unit::kRate,
     [](const BenchTurn& turn) { return Figure(token_rate(turn)); }},
    {"rows_per_second", "rows/s", Unit::kRate,
     [](const BenchTurn& turn) { return Figure(static_cast<double>(turn.rows) / turn.seconds); }},
    {"encoding_tokens_per_second", "encoding alone, tokens/s", Unit::kRate,
     [](const BenchTurn& turn) { return Figure(encoding_rate(turn)); }},
    {"products_tokens_per_second", "products alone, tokens/s", Unit::kRate,
     [](const BenchTurn& turn) { return known(turn.products.tokens_per_second); }},
    {"products_gflops", "  GFLOP/s", Unit::kRate,
     [](const BenchTurn& turn) {
       return known(turn.products.tokens_per_second * turn.products.flops_per_token / kGiga);
     }},
    {"share", "share of the products alone", Unit::kShare,
     [](const BenchTurn& turn) {
       return ratio(token_rate(turn), turn.products.tokens_per_second);
     }},
    {"encoding_share", "  encoding alone", Unit::kShare,
     [](const BenchTurn& turn) {
       return ratio(encoding_rate(turn), turn.products.tokens_per_second);
     }},
    {"cpu_share", "  per CPU second", Unit::kShare,
     [](const BenchTurn& turn) {
       return ratio(tokens(turn) / turn.cpu_seconds, turn.products.tokens_per_cpu_second);
     }},
    {"square_gflops", "a large product, GFLOP/s", Unit::kRate,
     [](const BenchTurn& turn) { return known(turn.products.square_flops_per_second / kGiga); }},
    {"square_share", "  share of it, in products", Unit::kShare,
     [](const BenchTurn& turn) {
       return ratio(token_rate(turn) * turn.products.flops_per_token,
                    turn.products.square_flops_per_second);
     }},
    {"padding", "padding", Unit::kShare,
     [](const BenchTurn& turn) {
       const auto slots = static_cast<double>(turn.token_slots);
       return ratio(slots - tokens(turn), slots);
     }},
    {"peak_host_bytes", "peak host memory", Unit::kBytes,
     [](const BenchTurn& turn) { return Figure(static_cast<double>(turn.peak_host_bytes)); }},
    {"peak_device_bytes", "peak device memory", Unit::kBytes,
     [](const BenchTurn& turn) { return known(static_cast<double>(turn.peak_device_bytes)); }},
});

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
  std::vector<double> runs;
};

template <typename Of>
std::optional<Summary> summarize(const BenchResult& result, const Of& of) {
  Summary summary;
  for (const BenchTurn& turn : result.turns) {
    const Figure figure = of(turn);
    if (!figure) return std::nullopt;
    summary.runs.push_back(*figure);
  }
  std::vector<double> sorted = summary.runs;
  std::sort(sorted.begin(), sorted.end());
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  return summary;
}

// Returns "start", the stages of the worker, and "finish", with their seconds.
std::vector<std::pair<std::string, Summary>> stage_summaries(const BenchResult& result) {
  std::vector<std::pair<std::string, Summary>> all;
  const auto add = [&](std::string_view name, const auto& of) {
    all.emplace_back(name,
                     *summarize(result, [&](const BenchTurn& turn) { return Figure(of(turn)); }));
  };
  add("start", [](const BenchTurn& turn) { return turn.start_seconds; });
  for (const Stage& stage : kStages)
    add(stage.name, [&](const BenchTurn& turn) { return turn.stages.*stage.seconds; });
  add("finish", [](const BenchTurn& turn) { return turn.finish_seconds; });
  return all;
}

std::optional<Summary> whole_seconds(const BenchResult& result) {
  return summarize(result, [](const BenchTurn& turn) { return Figure(turn.whole_seconds); });
}

std::string print(Unit unit, double value) {
  constexpr double kPercent = 100;
  switch (unit) {
    case Unit::kSeconds:
      return fmt::format("{:.2f}", value);
    case Unit::kRate:
      return format_count(std::llround(value));
    case Unit::kShare:
      return fmt::format("{:.0f} %", kPercent * value);
    case Unit::kBytes:
      break;
  }
  return format_bytes(std::llround(value));
}

std::string cell(Unit unit, const std::optional<Summary>& summary) {
  if (!summary) return "-";
  std::string median = print(unit, summary->median);
  if (summary->runs.size() == 1 || unit == Unit::kBytes) return median;
  return fmt::format("{} ({} to {})", median, print(unit, summary->min), print(unit, summary->max));
}

void add_measures(const BenchReport& report, std::vector<TableRow>& table) {
  for (const Measure& measure : kMeasures) {
    TableRow cells = {measure.label};
    bool any = false;
    for (const BenchResult& result : report.results) {
      const std::optional<Summary> summary = summarize(result, measure.of);
      any = any || summary.has_value();
      cells.push_back(cell(measure.unit, summary));
    }
    if (any) table.push_back(std::move(cells));
  }
}

void add_stages(const BenchReport& report, std::vector<TableRow>& table) {
  std::vector<TableRow> lines;
  for (const BenchResult& result : report.results) {
    const auto stages = stage_summaries(result);
    lines.resize(stages.size());
    for (size_t i = 0; i < stages.size(); ++i) {
      if (lines[i].empty()) lines[i].push_back("  " + stages[i].first);
      lines[i].push_back(print(Unit::kSeconds, stages[i].second.median));
    }
  }
  table.push_back({"seconds by stage"});
  for (TableRow& line : lines) table.push_back(std::move(line));
}

// Returns a warning for the figures of a type that `encode run` refuses for this model; "" for any
// other type.
std::string refusal(const BenchResult& result) {
  if (!result.parity.refused()) return "";
  return fmt::format(
      "REFUSED: `encode run` refuses {} for this model, because the vectors of fixed texts have a "
      "cosine of {:.6f} to the exact ones, and {} is the least. The figures show only its speed.\n",
      result.dtype, result.parity.cosine, result.parity.least);
}

std::string estimate(const BenchReport& report, const BenchResult& result) {
  const Summary whole = *whole_seconds(result);
  std::string range;
  if (whole.runs.size() > 1)
    range = fmt::format(" ({} to {})", format_duration(whole.min), format_duration(whole.max));
  return fmt::format("The whole input ({}) would take about {} in {}{}.\n",
                     format_count(report.whole_rows, "row", "rows"), format_duration(whole.median),
                     name_of(result), range);
}

}  // namespace

std::string name_of(const BenchResult& result) {
  if (result.batch_tokens == 0) return result.dtype;
  return fmt::format("{}, batches of {}", result.dtype, result.batch_tokens);
}

std::string render(const BenchReport& report) {
  const BenchTurn& first = report.results.front().turns.front();
  std::string text = fmt::format("{} on {}", report.model, describe(report.device));
  if (report.device.kind == DeviceKind::kCpu)
    text += fmt::format(", {}", format_count(first.products.threads, "thread", "threads"));
  text += fmt::format(": {} of {}, {}, {} truncated, {}\n\n", format_count(report.rows),
                      format_count(report.whole_rows, "row", "rows"),
                      format_count(first.tokens, "token", "tokens"),
                      format_count(first.truncated_rows, "row", "rows"),
                      format_count(std::ssize(report.results.front().turns), "run", "runs"));
  std::vector<TableRow> table;
  TableRow& header = table.emplace_back(TableRow{"median (range)"});
  for (const BenchResult& result : report.results) header.push_back(name_of(result));
  add_measures(report, table);
  add_stages(report, table);
  text += aligned(table) + "\n";
  text +=
      "read, tokenize, pack and commit run in parallel with encode; rows awaited and commit "
      "awaited "
      "are the time that encode waits for them.\n";
  if (first.products.tokens_per_second == 0)
    text += "This model has no matrix products, so the table has no shares of them.\n";
  for (const BenchResult& result : report.results) {
    for (const StreamBatches& batches : result.batches)
      text += fmt::format("{}, {}: {}.\n", name_of(result), batches.stream, describe(batches.plan));
  }
  for (const std::string& note : report.notes) text += note + "\n";
  for (const BenchResult& result : report.results) text += refusal(result);
  for (const BenchResult& result : report.results) text += estimate(report, result);
  return text;
}

Json to_json(const BenchReport& report) {
  const auto json_of = [](const std::optional<Summary>& summary) {
    if (!summary) return Json();
    return Json({{"median", summary->median},
                 {"min", summary->min},
                 {"max", summary->max},
                 {"runs", summary->runs}});
  };
  Json results = Json::array();
  for (const BenchResult& result : report.results) {
    const BenchTurn& first = result.turns.front();
    Json& object = results.emplace_back();
    object = {{"dtype", result.dtype},
              {"batch_tokens", result.batch_tokens},
              {"threads", first.products.threads},
              {"tokens", first.tokens},
              {"truncated_rows", first.truncated_rows},
              {"flops_per_token", first.products.flops_per_token},
              {"parity_cosine", result.parity.cosine},
              {"refused", result.parity.refused()},
              {"whole_seconds", json_of(whole_seconds(result))}};
    for (const StreamBatches& batches : result.batches) {
      object["batches"][batches.stream] = {{"budget_tokens", batches.plan.budget_tokens},
                                           {"launch_tokens", batches.plan.launch_tokens}};
    }
    for (const Measure& measure : kMeasures)
      object[measure.key] = json_of(summarize(result, measure.of));
    for (const auto& [name, summary] : stage_summaries(result))
      object["stages"][name] = json_of(summary);
  }
  return {{"machine", report.machine},         {"model", report.model},
          {"device", describe(report.device)}, {"rows", report.rows},
          {"whole_rows", report.whole_rows},   {"notes", report.notes},
          {"results", std::move(results)}};
}

}  // namespace encode
