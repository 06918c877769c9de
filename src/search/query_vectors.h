// Encodes queries as a run encodes rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "supervisor/run.h"

namespace encode {

// Where the queries come from.
struct QuerySource {
  std::vector<std::string> texts = {};  // if this is empty, each line of `file` is a query
  std::string file = "-";               // "-" is standard input
};

// The most queries of one command.
inline constexpr int64_t kMaxQueries = 10'000;

// Throws Error kData "search.query" if there are no queries or more than kMaxQueries, or if a text
// is empty or not UTF-8. Throws what TextReader throws for a file with a line that is empty, not
// UTF-8 or over 64 KiB.
std::vector<std::string> read_queries(const QuerySource& source);

// The prompt that is put before every query.
struct QueryPrompt {
  std::optional<std::string> text = {};  // a literal text, which overrides `name`
  std::optional<std::string> name = {};  // a name in the model's prompts
};
// Returns the text of the prompt. If neither a text nor a name is given, this is the prompt "query"
// of the model, as in encode_query() of sentence-transformers, or `of_run` if the model has no such
// prompt. Throws Error kConfig "model.prompt_name" if the model has no prompt of the name.
std::string prompt_text(const QueryPrompt& prompt, const ModelDirectory& directory,
                        const std::string& of_run);

struct QueryJob {
  std::vector<std::string> texts;
  ResultOptions result;  // with the model's path and the prompt of the queries
  HardwareOptions hardware;
  int64_t threads = 0;                // as SpeedOptions::threads
  std::vector<FileHash> model_files;  // so that the run need not hash them again
};

struct QueryVectors {
  int stopped_by = 0;          // the signal that stopped the run; 0: the vectors are complete
  std::vector<float> values;   // [queries, dim], row-major
  int64_t truncated_rows = 0;  // the queries that were cut to the model's limit
};

// Runs `encode run` on the queries in a temporary folder, so a query has the bits that a row with
// its text and its prompt has. Throws what run_experiment() throws. Must be called from the main
// thread.
QueryVectors encode_queries(const QueryJob& job, const RunEnvironment& environment);

}  // namespace encode
