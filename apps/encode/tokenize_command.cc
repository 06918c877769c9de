#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/input_format.h"
#include "base/json.h"
#include "base/model_files.h"
#include "base/names.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "base/utf8.h"
#include "command.h"
#include "line_output.h"
#include "model_dir/sentence_modules.h"
#include "passages_flag.h"
#include "run_plan/output_guard.h"
#include "token_statistics.h"
#include "tokenize_passages.h"
#include "tokenizer/document_tokens.h"

namespace encode {
namespace {

struct TokenizeFlags {
  std::string model;
  std::string tokenizer;
  std::string input;
  std::string field;
  std::string text;
  std::string where;
  std::string missing_field =
      std::string(name_of(kMissingFieldPolicies, InputOptions().missing_field));
  std::string format = std::string(name_of(kTextFormats, TextFormat::kAuto));
  std::string output;
  std::optional<std::string> passages;
  std::optional<std::string> prompt;
  int64_t max_length = 0;
  bool no_truncation = false;
  bool no_special_tokens = false;
  bool no_lost_count = false;
  bool tokens = false;
  bool offsets = false;
  bool overwrite = false;
  bool ignore_custom_code = false;
  std::string special_tokens = std::string(to_string(SpecialTokensRule::kByClass));
};

void check(const TokenizeFlags& flags) {
  if (flags.model.empty() == flags.tokenizer.empty()) {
    refuse_usage("encode tokenize", "exactly one option must name the tokenizer",
                 "--model DIR or --tokenizer FILE",
                 flags.model.empty() ? "neither of them" : "both of them");
  }
  if (flags.no_truncation && flags.max_length > 0)
    refuse_usage("encode tokenize", "two options contradict each other",
                 "--max-length or --no-truncation", "both of them");
  if (!flags.passages && flags.prompt)
    refuse_usage("encode tokenize", "only passages have a prompt", "--prompt with --passages",
                 "--prompt alone");
  if (flags.passages &&
      (flags.tokens || flags.offsets || flags.no_truncation || flags.max_length > 0))
    refuse_usage("encode tokenize", "two options contradict each other",
                 "--passages without --tokens, --offsets, --max-length and --no-truncation",
                 "--passages with one of them");
  if (flags.input == "-")
    refuse_usage("encode tokenize", "standard input is not read", "--input FILE", "--input -");
}

// Checks before the work begins that the output does not replace a file that must be kept.
// LineOutput refuses an existing file with other lines.
void check_output(const TokenizeFlags& flags, const std::string& model_dir) {
  OutputGuard guard(/*overwrite=*/true);
  guard.protect(flags.input, "the input");
  guard.protect(flags.tokenizer, "the tokenizer");
  if (!model_dir.empty()) guard.protect_directory(model_dir);
  guard.check_new(flags.output);
}

// Returns nullopt for a directory that has only a tokenizer.
std::optional<ModelDirectory> open_model(const std::string& model_dir, bool ignore_custom_code) {
  const auto has = [&](const char* name) {
    return !model_dir.empty() && path_exists(fmt::format("{}/{}", model_dir, name), "model.open");
  };
  if (!has(kConfigFile) && !has(kModulesFile)) return std::nullopt;
  return open_model_directory(model_dir, custom_code_policy(ignore_custom_code));
}

// Returns the options. The rows are truncated at the model's limit unless the flags state another
// limit. They have special tokens if `encode run` adds special tokens for the model.
TokenizeOptions tokenize_options(const TokenizeFlags& flags,
                                 const std::optional<ModelDirectory>& directory) {
  TokenizeOptions options{.max_length = flags.max_length,
                          .add_special_tokens = !flags.no_special_tokens};
  if (!directory) return options;
  if (!directory->add_special_tokens) options.add_special_tokens = false;
  const bool limited = flags.no_truncation || flags.max_length > 0;
  if (!limited) options.max_length = effective_result(*directory, {}).max_length;
  return options;
}

// Loads the tokenizer that `encode run` uses for the model.
std::unique_ptr<Tokenizer> tokenizer_of(const TokenizeFlags& flags, const std::string& model_dir,
                                        const std::optional<ModelDirectory>& directory) {
  if (flags.model.empty()) return load_tokenizer(flags.tokenizer);
  if (!directory) return load_tokenizer_from_directory(model_dir);
  ResultOptions options;
  options.special_tokens = value_of(kSpecialTokensRules, flags.special_tokens);
  const TokenizerRules rules = tokenizer_rules(*directory, options);
  return load_document_tokenizer(read_tokenizer_source(*directory, rules), *directory);
}

// Makes lines such as {"row":0,"input_ids":[101,7592,102]}. A line also contains the spelling of
// the tokens if `tokens` is true, and the offsets of the tokens if line() is given offsets.
class LineWriter {
 public:
  LineWriter(const Tokenizer& tokenizer, bool tokens) : tokenizer_(tokenizer), tokens_(tokens) {}

  const std::string& line(int64_t row, std::span<const int32_t> ids,
                          const std::optional<std::vector<TokenOffset>>& offsets) {
    line_ = fmt::format("{{\"row\":{},\"input_ids\":[{}]", row, fmt::join(ids, ","));
    if (tokens_) {
      line_ += ",\"tokens\":[";
      for (const int32_t id : ids) {
        // Replaces invalid UTF-8, because a byte token of a sentencepiece model may not be UTF-8.
        line_ += Json(tokenizer_.token(id)).dump(-1, ' ', false, Json::error_handler_t::replace);
        line_ += ',';
      }
      close_list();
    }
    if (offsets.has_value()) {
      line_ += ",\"offsets\":[";
      for (const TokenOffset& offset : *offsets) {
        line_ += fmt::format("[{},{}],", offset.begin, offset.end);
      }
      close_list();
    }
    line_ += "}\n";
    return line_;
  }

 private:
  void close_list() {
    if (line_.back() == ',') line_.pop_back();
    line_ += ']';
  }

  const Tokenizer& tokenizer_;
  bool tokens_;
  std::string line_;
};

// What the rows of the input are tokenized with.
struct RowTokenizer {
  const TokenizeFlags& flags;
  const Tokenizer& tokenizer;
  const std::optional<ModelDirectory>& directory;
  TokenizeOptions options;
};

// Writes a line for each row. Returns the seconds of tokenizing.
double write_rows(const RowTokenizer& with, TextReader& reader, LineOutput& output,
                  TokenStatistics& statistics) {
  using Clock = std::chrono::steady_clock;
  LineWriter writer(with.tokenizer, with.flags.tokens);
  Clock::duration tokenizing{};
  TokenizedRows rows;
  std::optional<std::vector<TokenOffset>> offsets;
  if (with.flags.offsets) offsets.emplace();
  Text text;
  while (reader.next(text)) {
    require_text(text);
    rows.clear();
    const Clock::time_point start = Clock::now();
    try {
      if (offsets.has_value()) {
        offsets->clear();
        with.tokenizer.encode_with_offsets(text.utf8, with.options, rows, *offsets);
      } else {
        with.tokenizer.encode(text.utf8, with.options, rows);
      }
    } catch (const Error& error) {
      throw naming_row(error, text.place());
    }
    tokenizing += Clock::now() - start;
    statistics.add(static_cast<int64_t>(rows.ids.size()), rows.lost_tokens[0],
                   static_cast<int64_t>(text.utf8.size()));
    output.write(writer.line(text.row, rows.row(0), offsets));
  }
  return std::chrono::duration<double>(tokenizing).count();
}

PassageCutter cutter_of(const RowTokenizer& with, const PassageRule& rule,
                        const InputOptions& input) {
  const TokenizeFlags& flags = with.flags;
  ResultOptions result;
  result.prompt = flags.prompt;
  const std::string prompt =
      with.directory ? effective_result(*with.directory, result).prompt : flags.prompt.value_or("");
  return {{.tokenizer = with.tokenizer,
           .rule = rule,
           .prompt = prompt,
           .frame = literal_frame(input),
           .add_special_tokens = with.options.add_special_tokens,
           // The places of passages do not depend on it.
           .window_tokens = std::max(with.options.max_length, 2 * rule.max_tokens)},
          flags.model.empty() ? flags.tokenizer : flags.model};
}

int tokenize(const TokenizeFlags& flags) {
  check(flags);
  const std::string model_dir =
      flags.model.empty() ? std::string() : resolve_model(flags.model, std::nullopt);
  check_output(flags, model_dir);
  const std::optional<ModelDirectory> directory = open_model(model_dir, flags.ignore_custom_code);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(flags, model_dir, directory);
  const TokenizeOptions options = tokenize_options(flags, directory);
  InputOptions input;
  input.path = flags.input;
  input.field = flags.field;
  input.text_template = flags.text;
  input.filter.where = flags.where;
  input.missing_field = value_of(kMissingFieldPolicies, flags.missing_field);
  input.format = value_of(kTextFormats, flags.format);
  StatedPassages stated;
  if (flags.passages) stated = parse_passages(*flags.passages, options.max_length);
  input.passage_field = stated.field;
  check_input(input, list_fields);
  check_passage_field(input, "--passages");
  const std::unique_ptr<TextReader> reader = open_texts(input);
  LineOutput output(flags.output, flags.overwrite);
  const RowTokenizer with{
      .flags = flags, .tokenizer = *tokenizer, .directory = directory, .options = options};
  std::string report = tokenizer->description() + "\n";
  std::optional<ErrorDetail> refused;  // why the first row was set aside
  if (!flags.passages) {
    TokenStatistics statistics("row", "rows");
    const double seconds = write_rows(with, *reader, output, statistics);
    report += statistics.render(options.max_length, !flags.no_lost_count, seconds);
  } else {
    const PassageCutter cutter = cutter_of(with, stated.rule, input);
    TokenStatistics statistics("passage", "passages");
    const PassageCounts counts = write_passages(
        {.reader = *reader, .cutter = cutter, .framed = !input.passage_field.empty()}, output,
        statistics);
    report += fmt::format("passages of {}\n", format_count(counts.rows, "row", "rows"));
    if (counts.refused > 0) {
      report +=
          fmt::format("{} set aside, as a run does\n", format_count(counts.refused, "row", "rows"));
      refused = counts.first_refusal;
    }
    report += statistics.render(cutter.rule().max_tokens, !flags.no_lost_count, counts.seconds);
  }
  const bool written = output.finish();
  std::fputs(report.c_str(), stdout);
  if (!written)
    fmt::print("{}: up to date, the file has these rows already\n", printable(flags.output));
  if (refused) throw Error(*std::move(refused));
  return 0;
}

void add_input_options(CLI::App& app, TokenizeFlags& flags) {
  app.add_option("--input", flags.input, "Text file of any format that encode run reads")
      ->required()
      ->type_name("FILE");
  app.add_option("--field", flags.field, field_flag_help())->type_name("NAME");
  app.add_option("--text", flags.text, text_flag_help())->type_name("TEMPLATE");
  app.add_option("--where", flags.where, where_flag_help())->type_name("FILTER");
  const std::vector<std::string> policies = names_of(kMissingFieldPolicies);
  app.add_option("--missing-field", flags.missing_field,
                 "A field that a row does not have, or that is null, ends the command (error), or "
                 "is left empty (empty)")
      ->check(CLI::IsMember(policies))
      ->type_name(fmt::format("{}", fmt::join(policies, "|")));
  const std::vector<std::string> formats = names_of(kTextFormats);
  app.add_option("--format", flags.format,
                 "Format of the input (default: by the suffix of its name)")
      ->check(CLI::IsMember(formats))
      ->type_name(fmt::format("{}", fmt::join(formats, "|")));
}

}  // namespace

Command add_tokenize_command(CLI::App& main) {
  CLI::App* app = main.add_subcommand(
      "tokenize",
      "Write the token ids of every row as JSON lines, and print how long the rows are");
  const auto flags = std::make_shared<TokenizeFlags>();
  app->add_option("--model", flags->model,
                  "Model directory or hub id; rows are truncated at the model's limit")
      ->type_name("DIR");
  app->add_option(
         "--tokenizer", flags->tokenizer,
         "tokenizer.json or sentencepiece .model file; rows are not truncated unless --max-length "
         "is given")
      ->type_name("FILE");
  add_input_options(*app, *flags);
  app->add_option("--output", flags->output,
                  "File to write, with lines {\"row\":0,\"input_ids\":[..]}")
      ->required()
      ->type_name("FILE");
  app->add_flag("--overwrite", flags->overwrite, "Replace the output if it exists");
  app->add_option("--passages", flags->passages, passages_flag_help())->type_name("KEY=VALUE,..");
  app->add_option("--prompt", flags->prompt,
                  "With --passages: text that is put before every passage (default: the model's "
                  "default prompt)");
  app->add_option("--max-length", flags->max_length,
                  "Most tokens of a row, special tokens included (default: the model's limit)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app->add_flag("--no-truncation", flags->no_truncation,
                "Keep all tokens, including the tokens beyond the model's limit");
  app->add_flag("--no-lost-count", flags->no_lost_count, "Do not print the number of lost tokens");
  app->add_flag("--no-special-tokens", flags->no_special_tokens,
                "Do not add special tokens ([CLS], [SEP], <s>, ..)");
  app->add_flag("--ignore-custom-code", flags->ignore_custom_code,
                "Tokenize for a model that comes with Python code (trust_remote_code) without that "
                "code");
  const std::vector<std::string> rules = names_of(kSpecialTokensRules);
  app->add_option("--special-tokens", flags->special_tokens,
                  "Add the special tokens of the tokenizer's class in transformers, or those of "
                  "tokenizer.json (default: by_class)")
      ->check(CLI::IsMember(rules))
      ->type_name(fmt::format("{}", fmt::join(rules, "|")));
  app->add_flag("--tokens", flags->tokens,
                "Also write the spelling of each token: \"tokens\":[..]");
  app->add_flag(
      "--offsets", flags->offsets,
      "Also write the code points [begin, end) of the text that each token comes from, as "
      "Hugging Face tokenizers does: \"offsets\":[[0,5],..]. This is slower");
  return {app, [flags] { return tokenize(*flags); }};
}

}  // namespace encode
