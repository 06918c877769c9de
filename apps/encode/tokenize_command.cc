#include <memory>
#include <string>

#include "encode/error.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/file.h"
#include "command.h"

namespace encode {
namespace {

struct TokenizeFlags {
  std::string model;
  std::string tokenizer;
  std::string input;
  std::string field;
  std::string output;
  int64_t max_length = 0;
  bool no_special_tokens = false;
};

// {"row":0,"input_ids":[101,7592,102]}
void append_line(std::string& line, int64_t row, std::span<const int32_t> ids) {
  line = "{\"row\":" + std::to_string(row) + ",\"input_ids\":[";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) line += ',';
    line += std::to_string(ids[i]);
  }
  line += "]}\n";
}

int tokenize(const TokenizeFlags& flags) {
  if (flags.model.empty() == flags.tokenizer.empty()) {
    throw Error({.exit_code = ExitCode::kUsage,
                 .code = "usage",
                 .what = "tokenize needs a tokenizer",
                 .where = "command line",
                 .expected = "--model DIR or --tokenizer FILE",
                 .found = flags.model.empty() ? "neither" : "both",
                 .hint = "see encode tokenize --help"});
  }
  const std::unique_ptr<Tokenizer> tokenizer = flags.model.empty()
                                                   ? load_tokenizer(flags.tokenizer)
                                                   : load_tokenizer_from_directory(flags.model);
  InputOptions input;
  input.path = flags.input;
  input.field = flags.field;
  const std::unique_ptr<TextReader> reader = open_texts(input);
  const TokenizeOptions options{.max_length = flags.max_length,
                                .add_special_tokens = !flags.no_special_tokens};
  AtomicFile output(flags.output, 0);
  TokenizedRows rows;
  Text text;
  std::string line;
  while (reader->next(text)) {
    rows.clear();
    tokenizer->encode(text.utf8, options, rows);
    append_line(line, text.row, rows.row(0));
    output.write(line.data(), line.size());
  }
  output.commit();
  return 0;
}

}  // namespace

Command add_tokenize_command(CLI::App& main) {
  CLI::App* app =
      main.add_subcommand("tokenize", "Write the token ids of every row, as JSON lines");
  const auto flags = std::make_shared<TokenizeFlags>();
  app->add_option("--model", flags->model, "Model directory");
  app->add_option("--tokenizer", flags->tokenizer, "tokenizer.json, or a sentencepiece model");
  app->add_option("--input", flags->input, "Text file, as for encode run")->required();
  app->add_option("--field", flags->field, "JSONL: name or JSON pointer; CSV, TSV: column");
  app->add_option("--output", flags->output, "JSON lines {\"row\":0,\"input_ids\":[..]}")
      ->required();
  app->add_option("--max-length", flags->max_length,
                  "Tokens at most, special tokens included; 0: all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20));
  app->add_flag("--no-special-tokens", flags->no_special_tokens,
                "Leave out [CLS], [SEP], <s>, ...");
  return {app, [flags] { return tokenize(*flags); }};
}

}  // namespace encode
