#include "base/matrix_error_codes.h"

namespace encode {

std::vector<ErrorCodes> matrix_error_codes() {
  return {
      {{"matrix.damaged"},
       "65",
       "a matrix does not fit its manifest, or has a value that is not a number"},
      {{"matrix.unfinished"}, "65", "a matrix has no manifest: `encode` did not finish it"},
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
      {{"search.stream"},
       "64",
       "`encode search`: `--stream` does not name one stream of the config"},
      {{"search.texts"}, "65", "`encode search`: the texts are not those of the matrix"},
      {{"search.unfinished"}, "66", "`encode search`: the final of the stream does not exist yet"},
  };
}

}  // namespace encode
