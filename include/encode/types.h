// The few plain types that more than one module speaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace encode {

// A half-open range of rows [begin, end) of one stream. Row 0 is the first row of the input that
// was not rejected.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

// The type that the model computes in. Norms, softmax, pooling and normalization are float32 in all
// of them. kInt8 is float32 but for the matrix products of the layers, whose operands are quantized
// row by row; on processors with AMX or AVX512_VNNI only. kFp8 is bfloat16 but for those products,
// whose operands are quantized to 8-bit floats; on GPUs with units for them only.
enum class ComputeType { kFloat32, kBFloat16, kFloat16, kInt8, kFp8 };
std::string_view to_string(ComputeType type);  // "float32", "bfloat16", "float16", "int8", "fp8"

// sentence-transformers' pooling modes; kNone keeps the vector of every token, for late interaction
// (Khattab and Zaharia 2020), and never stands beside another.
enum class PoolingMode { kCls, kMean, kMax, kLastToken, kWeightedMean, kMeanSqrtLen, kNone };
// "cls", "mean", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens", "none"
std::string_view to_string(PoolingMode mode);

// The type of a final matrix, in sentence-transformers' words. int8 and uint8 hold the bucket of a
// value among 256 equal ones between the lowest and the highest value of its column; binary and
// ubinary pack "above zero" of eight columns into a byte, the first column in the highest bit,
// binary less 128.
enum class OutputType { kFloat32, kFloat16, kInt8, kUint8, kBinary, kUbinary };
std::string_view to_string(OutputType type);           // "float32", "float16", "int8", ...
std::string_view npy_type(OutputType type);            // "<f4", "<f2", "|i1", "|u1", "|i1", "|u1"
bool has_ranges(OutputType type);                      // int8, uint8
int64_t output_columns(OutputType type, int64_t dim);  // dim, or bytes of packed bits

// How exact float32 products are, in PyTorch's words (torch.set_float32_matmul_precision): highest
// is float32 arithmetic or better; high may take fewer bits of each factor (15 of a row's largest
// on AMX, TensorFloat-32 on CUDA). Without such units both are the same.
enum class MatmulPrecision { kHighest, kHigh };
std::string_view to_string(MatmulPrecision precision);  // "highest", "high"

// Parse the names above and their aliases ("fp32", "bf16", "fp16"; "last", "mean_sqrt_len"). Each
// throws Error (kConfig) that lists the valid names; `where` is the config key or the file that
// holds the value.
MatmulPrecision parse_matmul_precision(std::string_view name, const std::string& where);
ComputeType parse_compute_type(std::string_view name, const std::string& where);
PoolingMode parse_pooling_mode(std::string_view name, const std::string& where);
OutputType parse_output_type(std::string_view name, const std::string& where);

// How a final matrix is made of float32 rows.
struct FinalFormat {
  OutputType type = OutputType::kFloat32;
  std::string ranges_file;  // for has_ranges(type); "": the ranges of all its rows

  bool operator==(const FinalFormat&) const = default;
};

}  // namespace encode
