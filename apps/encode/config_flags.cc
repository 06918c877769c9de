#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/units.h"
#include "command.h"
#include "config/schema.h"
#include "shell/command_tree.h"

namespace encode {
namespace {

// A flag that sets a key of the config.
struct Flag {
  const char* group;  // the heading above it in --help
  const char* name;
  const char* key;
  const char* fixed;  // the value that a flag without a value sets; nullptr if it takes a value
  const char* help;
  const char* value = nullptr;  // the placeholder in --help; nullptr: made from the key's values
};

constexpr auto kFlags = std::to_array<Flag>({
    {kTextsGroup, "--model", "semantic.model", nullptr,
     "Model directory, or a hub id that is in the local Hugging Face cache", "DIR"},
    {kTextsGroup, "--input", "input.file", nullptr,
     "Text file (txt, JSONL, JSON, CSV, TSV; also .gz, .zst), Parquet or Arrow file, or a pattern "
     "in quotes such as 'data/part-*.parquet'; \"-\" is standard input",
     "FILE"},
    {kTextsGroup, "--field", "input.field", nullptr,
     "Where a row has its text. JSON: name or JSON pointer; CSV, TSV, Parquet, Arrow: column",
     "NAME"},
    {kTextsGroup, "--format", "input.format", nullptr,
     "Format of the input; auto: by the suffix of its name"},
    {kTextsGroup, "--bad-row", "input.bad_row", nullptr,
     "A row that cannot be read ends the run (error), or is left out and listed (reject)"},
    {kTextsGroup, "--empty-row", "input.empty_row", nullptr, "What happens to a row without text"},
    {kTextsGroup, "--utf8", "input.utf8", nullptr,
     "Invalid UTF-8 becomes U+FFFD (replace), or makes the row a bad one (error)"},
    {kTextsGroup, "--limit-rows", "input.limit_rows", nullptr,
     "Most rows that are encoded; 0: all"},
    {kTextsGroup, "--output", "output.file", nullptr,
     "Path of the final matrix; its suffix states the format: .npy, .parquet, .arrow, .feather "
     "or .ipc",
     "FILE"},
    {kTextsGroup, "--output-format", "output.format", nullptr,
     "File format of final matrices in the cache directory"},
    {kTextsGroup, "--columns", "output.columns", nullptr,
     "Columns of a table before the vectors, as in row,text,name=/a/b: row, text, or fields of the "
     "input, with NAME= to rename one",
     "LIST"},
    {kTextsGroup, "--cache-dir", "semantic.cache_dir", nullptr,
     "Directory of the chunks, the log and, without --output, the final matrices", "DIR"},
    {kTextsGroup, "--embedding-cache", "semantic.embedding_cache.dir", nullptr,
     "Directory of the embedding cache: rows that were encoded before get their vectors from it",
     "DIR"},
    {kTextsGroup, "--chunk-size", "semantic.chunk_size", nullptr,
     "Rows in a chunk; 0: the default; or auto"},
    {kTextsGroup, "--standard", "semantic.use_chunked_encoding", "false",
     "Encode in one pass, without chunk files"},
    {kTextsGroup, "--quarantine", "semantic.quarantine", nullptr,
     "What a matrix has for a row that cannot be encoded: no matrix at all (error), zeros, or no "
     "row (drop)"},
    {kTextsGroup, "--keep-chunks", "semantic.keep_chunk_cache", "true",
     "Keep the chunks after the final matrix is complete"},
    {kVectorsGroup, "--dtype", "semantic.dtype", nullptr, "Type in which the model computes"},
    {kVectorsGroup, "--float32-matmul-precision", "semantic.float32_matmul_precision", nullptr,
     "Precision of matrix products in float32"},
    {kVectorsGroup, "--vector-precision", "semantic.vector_precision", nullptr,
     "Type to whose numbers every value is rounded; float16 halves the embedding cache"},
    {kVectorsGroup, "--pooling", "semantic.pooling", nullptr,
     "How the vectors of tokens become one vector; none: a vector for each token"},
    {kVectorsGroup, "--normalize", "semantic.normalize", "true",
     "Scale every embedding to length 1"},
    {kVectorsGroup, "--no-normalize", "semantic.normalize", "false",
     "Do not scale the embeddings to length 1"},
    {kVectorsGroup, "--truncate-dim", "semantic.truncate_dim", nullptr,
     "Number of columns to keep, counted from the first one (Matryoshka models)"},
    {kVectorsGroup, "--output-dtype", "semantic.output_dtype", nullptr, "Type of the final matrix"},
    {kVectorsGroup, "--max-length", "semantic.max_length", nullptr,
     "Most tokens of a row, special tokens included"},
    {kVectorsGroup, "--prompt", "semantic.prompt", nullptr, "Text to put before every row", "TEXT"},
    {kVectorsGroup, "--prompt-name", "semantic.prompt_name", nullptr,
     "Name of one of the model's own prompts", "NAME"},
    {kVectorsGroup, "--special-tokens", "semantic.special_tokens", nullptr,
     "Special tokens of every row: those of the tokenizer's class, or those of tokenizer.json"},
    {kVectorsGroup, "--ignore-custom-code", "semantic.ignore_custom_code", "true",
     "Encode a model that names Python code of its own as if it named none"},
    {kSpeedGroup, "--device", "hardware.device", nullptr,
     "Device that runs the model; cuda:N: the GPU with this number"},
    {kSpeedGroup, "--devices", "hardware.devices", nullptr,
     "Devices that encode at the same time: cuda:0,cuda:1 or all", "LIST"},
    {kSpeedGroup, "--batch-size", "semantic.batch_size", nullptr,
     "Limit of a batch, as a number of rows of --max-length tokens; 0: no such limit; or auto"},
    {kSpeedGroup, "--batch-tokens", "semantic.batch_tokens", nullptr,
     "Most tokens in a batch; 0: 16,384 on a GPU and 512 on a CPU; or auto"},
    {kSpeedGroup, "--threads", "hardware.threads", nullptr,
     "Compute threads on a CPU; 0: as many as the container may use"},
    {kSpeedGroup, "--memory-limit", "hardware.memory_limit", nullptr,
     "Most host memory of the run, as in 600MB or 4GiB; null: what the container may use", "SIZE"},
    {kSpeedGroup, "--memory-pressure-percent", "hardware.memory_pressure_percent", nullptr,
     "Part of the memory limit that the run tries to stay below; 0: regard no limit"},
    {kSpeedGroup, "--synchronous-launches", "hardware.synchronous_launches", "true",
     "End every CUDA kernel before the next one starts, to find the cause of a device error"},
    {kHiddenGroup, "--product-search", "hardware.product_search", "true", "Has no effect any more"},
    {kMessagesGroup, "--json", "log.json", "true",
     "Write JSON lines to standard output instead of text"},
    {kMessagesGroup, "--log-level", "log.level", nullptr, "Least important messages to show"},
    {kMessagesGroup, "--quiet", "log.level", "error", "Show only errors"},
    {kMessagesGroup, "--no-progress", "log.progress", "false", "Show no progress"},
});

// What --help and the completions show for the value of a flag: its valid words, or "N".
std::string placeholder(const Flag& flag) {
  if (flag.value != nullptr) return flag.value;
  const SchemaNode* node = &config_schema();
  for (const std::string& name : split_key(flag.key)) node = node->child(name);
  const ValueSpec& spec = node->key->value;
  const bool number = spec.type == ValueType::kInteger;
  if (spec.choices.empty()) return number ? "N" : "TEXT";
  return fmt::format("{}{}", number ? "N|" : "", fmt::join(spec.choices, "|"));
}

// Returns what --set KEY=VALUE sets.
Override parse_setting(const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Error({.exit_code = ExitCode::kUsage,
                 .code = "usage",
                 .what = "--set needs a key and a value",
                 .where = "--set",
                 .expected = "KEY=VALUE, as in semantic.causal=true",
                 .found = fmt::format("'{}'", preview(setting)),
                 .hint = "docs/config.md lists the keys"});
  }
  return {.key = setting.substr(0, equals), .value = setting.substr(equals + 1), .flag = "--set"};
}

}  // namespace

struct ConfigFlags::Given {
  std::string config;
  std::array<std::string, kFlags.size()> values;
  std::vector<std::string> more;  // of --set
};

ConfigFlags::ConfigFlags(CLI::App& app, const std::vector<std::string>& shown)
    : app_(&app), given_(std::make_shared<Given>()) {
  app.add_option("--config,-c", given_->config, "Config file (YAML); other flags override it")
      ->type_name("FILE")
      ->group(kTextsGroup);
  for (size_t i = 0; i < kFlags.size(); ++i) {
    const Flag& flag = kFlags[i];
    const bool show =
        shown.empty() || std::find(shown.begin(), shown.end(), flag.name) != shown.end();
    const char* group = show ? flag.group : kHiddenGroup;
    if (flag.fixed != nullptr) {
      const std::string help = flag.help;  // CLI11 2.1 does not accept a literal here in C++20
      app.add_flag(flag.name, help)->group(group);
    } else {
      app.add_option(flag.name, given_->values[i], flag.help)
          ->type_name(placeholder(flag))
          ->group(group);
    }
  }
  app.add_option("--set", given_->more,
                 "Set a key of docs/config.md that has no flag, as in --set semantic.causal=true; "
                 "may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(shown.empty() ? kMessagesGroup : kHiddenGroup);
  app.get_option("--normalize")->excludes(app.get_option("--no-normalize"));
  app.get_option("--quiet")->excludes(app.get_option("--log-level"));
}

LoadedConfig ConfigFlags::load() const {
  return load_config(given_->config, overrides({}), list_fields);
}

LoadedConfig ConfigFlags::load_without_texts() const {
  std::vector<Override> given = overrides({});
  // A config must have an input. Nothing opens this one.
  given.push_back({.key = "input.file", .value = "none.txt", .flag = "--model"});
  LoadedConfig config = load_config(given_->config, given);
  config.run.streams.front().input = {};
  config.run.streams.front().stream = "full-length-rows";
  return config;
}

bool ConfigFlags::given() const { return app_->count("--config") + app_->count("--input") > 0; }

const std::string& ConfigFlags::config_path() const { return given_->config; }

std::vector<LoadedConfig> ConfigFlags::load_each() const {
  std::vector<std::map<std::string, std::string>> combinations = {{}};
  for (const char* name : {"--dtype", "--batch-tokens"}) {
    if (app_->count(name) == 0) continue;
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& chosen : combinations) {
      std::istringstream values(app_->get_option(name)->as<std::string>());
      for (std::string value; std::getline(values, value, ',');) {
        longer.push_back(chosen);
        longer.back()[name] = value;
      }
    }
    combinations = std::move(longer);
  }
  std::vector<LoadedConfig> configs;
  for (const auto& chosen : combinations)
    configs.push_back(load_config(given_->config, overrides(chosen), list_fields));
  return configs;
}

std::vector<Override> ConfigFlags::overrides(
    const std::map<std::string, std::string>& instead) const {
  std::vector<Override> given;
  for (size_t i = 0; i < kFlags.size(); ++i) {
    const Flag& flag = kFlags[i];
    if (app_->count(flag.name) == 0) continue;
    const auto other = instead.find(flag.name);
    const std::string& value = other != instead.end() ? other->second : given_->values[i];
    given.push_back({flag.key, flag.fixed != nullptr ? flag.fixed : value, flag.name});
  }
  for (const std::string& setting : given_->more) given.push_back(parse_setting(setting));
  return given;
}

}  // namespace encode
