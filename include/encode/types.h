// Plain types that several modules share. Any thread may call the functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/pooling_mode.h"

namespace encode {

// The rows [begin, end) of one stream. Row 0 is the first accepted row of the input.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

// The type that the model computes in. Norms, softmax, pooling and normalization are always
// float32.
// - kInt8 is float32, but the operands of the layers' matrix products are quantized to 8-bit
//   integers, row by row. It needs an x86-64 processor with AVX2, or a 64-bit ARM processor.
// - kFp8 is bfloat16, but the operands of the layers' matrix products are quantized to 8-bit
//   floats. It needs a GPU that computes with 8-bit floats.
enum class ComputeType { kFloat32, kBFloat16, kFloat16, kInt8, kFp8 };
std::string_view to_string(ComputeType type);  // "float32", "bfloat16", "float16", "int8", "fp8"

std::string_view to_string(PoolingMode mode);  // "cls", "mean", "lasttoken", ...

// The type of a final matrix, with the names and the meaning of sentence-transformers.
// - kUint8 and kInt8: The range from the lowest to the highest value of a column is divided into
//   255 equal steps. An element is the number of whole steps above the lowest value; kInt8
//   subtracts 128.
// - kUbinary and kBinary: A bit is 1 if the value is above zero. A byte holds eight columns, the
//   first of them in the highest bit; kBinary subtracts 128 from the byte.
enum class OutputType { kFloat32, kFloat16, kInt8, kUint8, kBinary, kUbinary };
std::string_view to_string(OutputType type);  // "float32", "float16", "int8", ...
std::string_view npy_type(OutputType type);   // of an item of the file: "<f4", "|i1", ...
bool has_ranges(OutputType type);  // true if an item is a step in the range of its column
int64_t output_columns(OutputType type, int64_t dim);  // the items of a vector

// The precision of float32 matrix products, with the names of torch.set_float32_matmul_precision().
// kHighest is float32 arithmetic or better. kHigh may use fewer bits of each factor: on AMX, 15
// bits relative to the largest value of the row; on CUDA, TensorFloat-32. On other hardware kHigh
// is the same as kHighest.
enum class MatmulPrecision { kHighest, kHigh };
std::string_view to_string(MatmulPrecision precision);  // "highest", "high"

// These functions parse the names above and their aliases ("fp32", "bf16", "fp16"; "last",
// "mean_sqrt_len"). They throw Error kConfig that lists the valid names. `where` is the config key
// or the file that holds the value, for the message.
MatmulPrecision parse_matmul_precision(std::string_view name, const std::string& where);
ComputeType parse_compute_type(std::string_view name, const std::string& where);
PoolingMode parse_pooling_mode(std::string_view name, const std::string& where);
OutputType parse_output_type(std::string_view name, const std::string& where);

// The numbers that a vector is made of. kFloat16: every value is rounded to the nearest float16
// number before the vector is checked, cached and committed. The chunks are float32 all the same.
enum class VectorPrecision { kFloat32, kFloat16 };
std::string_view to_string(VectorPrecision precision);  // "float32", "float16"

// Which special tokens a row gets.
// - kByClass: those that transformers gives it. Some classes of tokenizers take them from
//   tokenizer_config.json and not from tokenizer.json (docs/tokenizers.md).
// - kAsInTokenizerJson: those of the post-processor of tokenizer.json, whatever the class says.
enum class SpecialTokensRule { kByClass, kAsInTokenizerJson };
std::string_view to_string(SpecialTokensRule rule);  // "by_class", "as_in_tokenizer_json"

// What a final matrix has in place of a row that was set aside (SetAsideRow).
// - kError: there is no final matrix while a row is set aside.
// - kZeros: a vector of zeros.
// - kDrop: nothing. The matrices of the other streams of the split do not have the row either, so
//   that vector i of each of these matrices is from the same row.
enum class QuarantinePolicy { kError, kZeros, kDrop };
std::string_view to_string(QuarantinePolicy policy);  // "error", "zeros", "drop"

// What a passage consists of. Each kind is used whole as long as it fits; what does not fit into a
// passage of its own is cut into the next smaller kind: paragraphs, sentences, words, and grapheme
// clusters.
enum class PassageUnit { kSentence, kParagraph, kToken };

// How the vector of a passage is made.
// - kAlone: the passage is encoded like a row that has only this text.
// - kLate: the whole text is encoded, in windows if it is longer than the model allows, and the
//   vector is the mean over the tokens of the passage, which have seen the text around them. This
//   is late chunking (Günther et al. 2024, arXiv:2409.04701).
enum class PassageVectors { kAlone, kLate };

// How the text of a row is cut into passages. docs/howto/passages.md has the rule for users.
struct PassageRule {
  // Must be increased if a new version of encode cuts some text at other places.
  static constexpr int64_t kVersion = 2;
  // The version of Unicode whose rules say where sentences and grapheme clusters end.
  static constexpr std::string_view kUnicode = "15.0.0";

  // The most tokens of a passage, at least 1; with kAlone the prompt and the special tokens count.
  int64_t max_tokens = 0;
  int64_t overlap = 0;  // the most tokens at the end of a passage that the next one repeats
  PassageUnit by = PassageUnit::kSentence;
  PassageVectors vectors = PassageVectors::kAlone;

  bool late() const { return vectors == PassageVectors::kLate; }
  // Returns the largest `max_tokens` for rows of at most `max_length` tokens. Windows of late
  // vectors overlap by max_tokens, so a larger one would let most of their tokens be computed more
  // than twice.
  int64_t most_tokens(int64_t max_length) const { return late() ? max_length / 2 : max_length; }
  bool operator==(const PassageRule&) const = default;
};

// What the matrix has for a row that is cut into passages.
// - kNone: the vectors of its passages, one after the other.
// - kMean: one vector, which is the mean of these vectors, scaled to length 1.
enum class RowVector { kNone, kMean };

// How the rows of a batch are padded to one length. encode never pads: it packs the rows of a batch
// one after the other. kLongest and kMaxLength are accepted, because configs of Hugging Face have
// these names. No policy changes a vector.
enum class PaddingPolicy { kNone, kLongest, kMaxLength };
std::string_view to_string(PaddingPolicy policy);  // "none", "longest", "max_length"

// The file format of a final matrix. kParquet and kArrow (an Arrow IPC file) are tables: the
// vectors are the column kEmbeddingColumn, and there may be other columns.
enum class MatrixFormat { kNpy, kParquet, kArrow };
std::string_view to_string(MatrixFormat format);  // "npy", "parquet", "arrow"
std::string suffix_of(MatrixFormat format);       // ".npy", ".parquet", ".arrow"

// The names of the columns of a table that are not fields of the input.
inline constexpr const char* kEmbeddingColumn = "embedding";
inline constexpr const char* kRowColumn = "row";  // the number of the row in the stream, int64
// The number of the record of the input that the row was made from, int64. kSourceRowSource is the
// source of this column: it is no name that a field of an input has by chance.
inline constexpr const char* kSourceRowColumn = "source_row";
inline constexpr const char* kSourceRowSource = "source_row()";
inline constexpr const char* kTextColumn = "text";  // the text that was encoded

// A column of a table before the vectors.
struct TableColumn {
  std::string name;
  // kRowColumn, kTextColumn, kSourceRowSource, or a field of the input as InputOptions::field
  std::string source;

  bool operator==(const TableColumn&) const = default;
};
// The columns of a table of passages, before the others: the numbers of a PassagePlace, without its
// tokens. The source of such a column is its name in square brackets, which no field can be called
// in a config.
inline constexpr std::array<std::string_view, 6> kPlaceColumns = {
    "source_row", "passage", "byte_begin", "byte_end", "char_begin", "char_end"};
std::vector<TableColumn> place_columns();
bool is_place_column(const TableColumn& column);
// Returns true if the values of the column are numbers that encode knows: kRowColumn,
// kSourceRowSource or a column of passages.
bool is_number_column(const TableColumn& column);

// Reads "name=source"; "source" alone is also the name. The first '=' separates name and source, so
// a field whose name contains '=' must be given as name=source. Both parts may be empty. Throws no
// Error.
TableColumn parse_table_column(std::string_view spelled);
std::string describe(const TableColumn& column);  // as parse_table_column() reads it

// The format of a final matrix.
struct FinalFormat {
  OutputType type = OutputType::kFloat32;
  // Only if has_ranges(type): a .npy of float32 [2, dim] with the lowest and the highest value of
  // each column. "": the matrix's own rows give the ranges.
  std::string ranges_file;
  MatrixFormat file = MatrixFormat::kNpy;
  std::vector<TableColumn> columns = {};  // of a table, before the vectors; the names are unique

  bool operator==(const FinalFormat&) const = default;
};
std::string describe(const FinalFormat& format);  // "int8", "float32 in parquet with row, text"

}  // namespace encode
