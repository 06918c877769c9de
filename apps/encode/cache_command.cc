#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "cache/isolated.h"
#include "cache/maintenance.h"
#include "command.h"

namespace encode {
namespace {

struct CacheFlags {
  std::string dir;
  std::string to;
  bool json = false;
};

Json content_json(const std::string& dir, const StoreStalled& stalled) {
  const CacheContent content = read_cache_content(dir, stalled);
  return {{"rows", content.rows},
          {"blocks", content.blocks},
          {"live_bytes", content.live_bytes},
          {"disk_bytes", content.file_bytes},
          {"oldest_use", content.oldest_use},
          {"newest_use", content.newest_use}};
}

Json audit_json(const std::string& dir, const StoreStalled& stalled) {
  const CacheAudit audit = audit_cache(dir, stalled);
  return {{"records", audit.records},
          {"damaged_records", audit.damaged_records},
          {"damaged_blocks", audit.damaged_blocks},
          {"rows", audit.rows},
          {"lost_rows", audit.lost_rows},
          {"damaged", audit.damaged()}};
}

Json prune_json(const std::string& dir, int64_t bytes, const StoreStalled& stalled) {
  const PruneResult result = prune_cache(dir, bytes, stalled);
  return {{"deleted_blocks", result.deleted_blocks},
          {"rows", result.rows},
          {"disk_bytes", result.file_bytes}};
}

std::string time_text(int64_t seconds) {
  return seconds == 0 ? "never"
                      : fmt::format("{:%Y-%m-%d %H:%M:%SZ}", fmt::gmtime(std::time_t{seconds}));
}

std::string content_text(const Json& json) {
  return fmt::format("rows        {}\ndisk        {} in a file of {}\nlast used   {} to {}\n",
                     format_count(json["rows"]), format_bytes(json["live_bytes"]),
                     format_bytes(json["disk_bytes"]), time_text(json["oldest_use"]),
                     time_text(json["newest_use"]));
}

std::string audit_text(const Json& json) {
  return fmt::format(
      "records     {} ({} damaged, {})\nrows        {} ({} without a good record)\n"
      "{}\n",
      format_count(json["records"]), format_count(json["damaged_records"]),
      format_count(json["damaged_blocks"], "damaged block", "damaged blocks"),
      format_count(json["rows"]), format_count(json["lost_rows"]),
      json["damaged"].get<bool>() ? "damaged: runs encode these rows again" : "everything is good");
}

std::string prune_text(const Json& json) {
  return fmt::format("{} deleted, {} left, the file has {}\n",
                     format_count(json["deleted_blocks"], "block", "blocks"),
                     format_count(json["rows"], "row", "rows"), format_bytes(json["disk_bytes"]));
}

using Work = std::function<Json(const StoreStalled&)>;
using Render = std::string (*)(const Json&);

int show(const CacheFlags& flags, const Work& work, Render render) {
  const Json json =
      Json::parse(run_isolated(flags.dir, [&](const StoreStalled& s) { return work(s).dump(); }));
  std::fputs((flags.json ? json.dump() + "\n" : render(json)).c_str(), stdout);
  flush_standard_output();
  const bool damaged = json.contains("damaged") && json["damaged"].get<bool>();
  return static_cast<int>(damaged ? ExitCode::kData : ExitCode::kOk);
}

int64_t size_flag(const std::string& text) {
  if (const auto bytes = parse_bytes(text)) return *bytes;
  throw Error({.code = "config.value",
               .exit_code = ExitCode::kUsage,
               .what = "--to is not a size",
               .where = "--to",
               .expected = kSizeSyntax,
               .found = fmt::format("'{}'", preview(text)),
               .hint = "for example: encode cache prune --dir DIR --to \"5 GB\""});
}

CLI::App* add_verb(CLI::App& cache, const std::string& name, const std::string& help,
                   const std::shared_ptr<CacheFlags>& flags) {
  CLI::App* verb = cache.add_subcommand(name, help);
  verb->add_option("--dir", flags->dir, "Directory of the embedding cache")
      ->required()
      ->type_name("DIR");
  const std::string json_help = "Print one JSON document";
  verb->add_flag("--json", flags->json, json_help);
  return verb;
}

}  // namespace

Command add_cache_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("cache", "Look at an embedding cache, check it, or make it smaller");
  const auto flags = std::make_shared<CacheFlags>();
  app->require_subcommand(1);
  add_verb(*app, "stats", "Show how many rows the cache has, and how large it is", flags);
  CLI::App* verify = add_verb(*app, "verify", "Compute every checksum again", flags);
  CLI::App* clear = add_verb(*app, "clear", "Delete all rows", flags);
  CLI::App* prune =
      add_verb(*app, "prune", "Delete the rows that were not used for the longest time", flags);
  prune->add_option("--to", flags->to, "Size that the file may have then: \"5 GB\"")
      ->required()
      ->type_name("SIZE");
  app->footer(
      "Examples:\n"
      "  encode cache stats --dir ~/.cache/encode\n"
      "  encode cache prune --dir ~/.cache/encode --to \"5 GB\"\n"
      "verify ends with exit code 65 if something is damaged. prune and clear end with 75 while a "
      "run uses the cache. docs/embedding-cache.md describes the cache.");
  return {app, [flags, verify, clear, prune] {
            const std::string& dir = flags->dir;
            if (verify->parsed())
              return show(
                  *flags, [&](const StoreStalled& s) { return audit_json(dir, s); }, audit_text);
            if (prune->parsed()) {
              const int64_t bytes = size_flag(flags->to);
              return show(
                  *flags, [&](const StoreStalled& s) { return prune_json(dir, bytes, s); },
                  prune_text);
            }
            if (clear->parsed()) {
              return show(
                  *flags,
                  [&](const StoreStalled& /*stalled*/) {
                    return Json{{"freed_bytes", clear_cache(dir)}};
                  },
                  [](const Json& json) {
                    return fmt::format("{} freed\n", format_bytes(json["freed_bytes"]));
                  });
            }
            return show(
                *flags, [&](const StoreStalled& s) { return content_json(dir, s); }, content_text);
          }};
}

}  // namespace encode
