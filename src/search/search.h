// `encode search` finds the rows of a finished matrix that are most similar to a text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encode/types.h"

#include "search/hit_texts.h"
#include "search/query_vectors.h"
#include "search/row_scorer.h"
#include "search/search_target.h"
#include "supervisor/run.h"

namespace encode {

struct SearchRequest {
  SearchTarget target;
  QuerySource queries;
  QueryPrompt prompt;
  int64_t count = 10;  // the number of rows to show for a query, in [1, kMaxHits]
};

inline constexpr int64_t kMaxHits = 10'000;

// The facts that are the same for all queries of a search.
struct SearchSetting {
  std::string matrix_path;
  OutputType type = OutputType::kFloat32;
  int64_t rows = 0;
  int64_t dim = 0;
  Similarity similarity = Similarity::kCosine;
  std::string prompt;                     // the text before every query
  int64_t queries = 0;                    // the number of queries
  int64_t truncated_queries = 0;          // the queries that were cut to the model's limit
  int64_t left_out_rows = 0;              // the rows that run_search() leaves out
  std::vector<std::string> columns = {};  // the names of RowText::columns
};

// A row that was found.
struct SearchHit {
  int64_t row = 0;  // of the matrix; RowText::row is another number if the run has dropped rows
  float score = 0;
  RowText text;
};

struct SearchResult {
  std::string query;
  std::vector<SearchHit> hits;  // the best one first
};

// The callbacks are called on the thread of run_search(), on_start once, and then on_result for
// each query in order.
struct SearchCallbacks {
  std::function<void(const SearchSetting&)> on_start;
  std::function<void(const SearchResult&)> on_result;
};

// Encodes the queries with the model, the options and the kind of normalization of the run that
// made the matrix, and scores every row of the matrix (similarity_in() says how). Rows with an
// empty text and zero_rows() are left out: such a row answers no query, even if its score is high.
// Returns the signal that stopped the search, or 0. Throws what these functions throw:
// require_finished(), open_matrix(), require_searchable(), find_sources(), options_of_run(),
// texts_of_run(), read_queries(), prompt_text(), encode_queries(), nearest_rows(). Must be called
// from the main thread.
int run_search(const SearchRequest& request, const RunEnvironment& environment,
               const SearchCallbacks& callbacks);

}  // namespace encode
