#include "base/matrix_error_codes.h"

namespace encode {

std::vector<ErrorCodes> matrix_error_codes() {
  return {
      {{"arrow.vectors"}, "65", "a Parquet or Arrow file is no matrix that `encode` wrote"},
      {{"arrow.write"}, "70", "Arrow cannot write a table"},
      {{"matrix.damaged"},
       "65",
       "a matrix does not fit its manifest, or has a value that is not a number"},
      {{"matrix.unfinished"}, "65", "a matrix has no manifest: `encode` did not finish it"},
      {{"output.column"}, "78", "the first 1,000 rows lack a field of `output.columns`"},
      {{"output.token_vectors"}, "78", "token embeddings cannot be written as Parquet or Arrow"},
      {{"report.combined"},
       "64",
       "`encode report`: a combined matrix is reported by its parts, or by the config"},
      {{"report.foreign", "report.output"},
       "73 (66)",
       "`encode report`: the output is something that is not a report"},
      {{"report.ledger", "report.stdin", "report.texts"},
       "-",
       "`encode report` cannot read a file of the run, or the input is not the one that was "
       "encoded; the page names the file in a red box and "
       "shows the rest"},
      {{"report.unfinished"}, "66", "`encode report`: the run has not finished the matrix"},
      {{"search.empty"}, "65", "`encode search`: the matrix has no rows"},
      {{"search.kind"},
       "78",
       "`encode search`: the matrix is a combined one, or has a vector for each token"},
      {{"search.model"},
       "78",
       "`encode search`: the matrix was made with another model or by another version of `encode`"},
      {{"search.query"},
       "65",
       "`encode search`: there is no query or too many, or one is empty or not UTF-8"},
      {{"search.sources"},
       "66",
       "`encode search`: the model or the texts of the matrix cannot be found"},
      {{"search.stream"},
       "64",
       "`encode search`: `--stream` does not name one stream of the config"},
      {{"search.texts"}, "65", "`encode search`: the texts are not those of the matrix"},
      {{"search.unfinished"}, "66", "`encode search`: the final of the stream does not exist yet"},
  };
}

}  // namespace encode
