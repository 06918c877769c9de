#include "store/matrix/matrix.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/input_format.h"
#include "base/named_path.h"
#include "base/npy.h"
#include "base/output_format.h"
#include "base/scratch_folder.h"
#include "base/shell_quote.h"
#include "columnar/matrix_reader.h"
#include "store/parts_list.h"
#include "store/quantize.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The place of the vectors in a file.
struct Vectors {
  UniqueFd fd;
  int64_t offset = 0;
  int64_t bytes = 0;
};

class MappedMatrix final : public Matrix {
 public:
  MappedMatrix(std::string path, Manifest manifest, const Vectors& vectors)
      : Matrix(std::move(path), std::move(manifest)),
        data_(vectors.fd, vectors.offset, vectors.bytes, this->path()) {}

  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& /*buffer*/) const override {
    return {data_.data() + rows.begin * row_bytes(),
            static_cast<size_t>(rows.size() * row_bytes())};
  }

 private:
  MappedRange data_;
};

class FileMatrix final : public Matrix {
 public:
  FileMatrix(std::string path, Manifest manifest, Vectors vectors)
      : Matrix(std::move(path), std::move(manifest)), vectors_(std::move(vectors)) {}

  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& buffer) const override {
    buffer.stored.resize(static_cast<size_t>(rows.size() * row_bytes()));
    pread_all(vectors_.fd, {reinterpret_cast<char*>(buffer.stored.data()), buffer.stored.size()},
              vectors_.offset + rows.begin * row_bytes(), path());
    return buffer.stored;
  }

 private:
  Vectors vectors_;
};

// Makes the Error for a file with a suffix that no matrix of encode has, such as a file of texts.
Error not_a_matrix(const std::string& path) {
  InputOptions input;
  input.path = path;
  const TextFormat format = input_format(input).format;
  std::vector<std::string> command = {"encode", "run", "--model", "DIR", "--input", path};
  if (facts_of(format).field == FieldUse::kRequired)
    command.insert(command.end(), {"--field", "NAME"});
  command.insert(command.end(), {"--output", std::filesystem::path(path).stem().string() + ".npy"});
  return Error({.code = "npy.header",
                .what = "the file is not a matrix",
                .where = path,
                .expected = "a file that `encode run` wrote, which ends in " + matrix_suffixes(),
                .found = format == TextFormat::kAuto ? "a file of another kind" : "a file of texts",
                .hint = "encode the texts, and give the result: " + shell_command(command)});
}

Manifest require_manifest(const std::string& path) {
  if (std::optional<Manifest> manifest = read_manifest(path)) return std::move(*manifest);
  if (!matrix_format_of(path)) throw not_a_matrix(path);
  throw Error({.code = "matrix.unfinished",
               .what = "the matrix has no manifest",
               .where = path,
               .expected = manifest_path(path),
               .found = "no such file",
               .hint = "encode did not make or finish this matrix, or its manifest was moved or "
                       "deleted: run encode run again"});
}

std::string describe(int64_t rows, int64_t columns, std::string_view item) {
  return fmt::format("{} x {} of {}", rows, columns, item);
}

// What a file says about itself.
struct Described {
  int64_t rows;
  int64_t columns;
  std::string_view item;
  int64_t file_bytes;
};

// Throws Error kData "matrix.damaged" if the manifest describes another file.
void check_described(const Described& file, const Manifest& manifest, const std::string& path) {
  const std::string expected =
      describe(manifest.vectors(), output_columns(manifest.type, manifest.identity.dim),
               item_facts(manifest.type).word);
  const std::string found = describe(file.rows, file.columns, file.item);
  if (expected == found && manifest.columns == file.columns &&
      file.file_bytes == manifest.file_bytes)
    return;
  throw Error({.code = "matrix.damaged",
               .what = "the matrix is not the one that its manifest describes",
               .where = path,
               .expected = fmt::format("{} in {} bytes", expected, manifest.file_bytes),
               .found = fmt::format("{} in {} bytes", found, file.file_bytes),
               .hint = "encode verify checks a matrix; encode run makes it again"});
}

Vectors vectors_of_npy(UniqueFd fd, const std::string& path, const Manifest& manifest) {
  NpyHeader header = read_npy_header(fd, path);
  // Every header of encode has kNpyHeaderBytes, which aligns the elements. check_described()
  // refuses another header because of this wrong number of rows.
  if (header.data_offset != kNpyHeaderBytes) header.rows = -1;
  check_described({.rows = header.rows,
                   .columns = header.cols,
                   .item = header.item_word(),
                   .file_bytes = header.file_bytes()},
                  manifest, path);
  return {.fd = std::move(fd), .offset = header.data_offset, .bytes = header.data_bytes()};
}

// The pages of a table are compressed, so its vectors are unpacked into a temporary file, which has
// no name any more when this function returns.
Vectors unpack_table(const std::string& path, const Manifest& manifest) {
  const std::unique_ptr<MatrixReader> reader = open_matrix_reader(path, Elements::kAny);
  check_described({.rows = reader->rows(),
                   .columns = reader->dim(),
                   .item = reader->item_word(),
                   .file_bytes = reader->file_bytes()},
                  manifest, path);
  const ScratchFolder folder(temporary_place(), "matrix");
  AtomicFile vectors(folder.path() + "/vectors", 0);
  for (auto bytes = reader->next_bytes(reader->block_rows()); !bytes.empty();
       bytes = reader->next_bytes(reader->block_rows()))
    vectors.write(bytes.data(), bytes.size());
  vectors.rename();
  return {.fd = open_for_reading(vectors.path(), "npy.open"), .bytes = vectors.bytes_written()};
}

using Parts = std::vector<std::unique_ptr<Matrix>>;

// The rows of a merged matrix, which are in several files.
class PartsMatrix final : public Matrix {
 public:
  PartsMatrix(std::string list_path, Manifest manifest, Parts parts)
      : Matrix(std::move(list_path), std::move(manifest)), parts_(std::move(parts)) {
    for (const auto& part : parts_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part->rows());
  }

  const std::string& file() const override {
    return parts_.empty() ? path() : parts_.front()->file();
  }

  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& buffer) const override {
    if (rows.size() == 0) return {};
    const auto first = std::ranges::upper_bound(ends_, rows.begin) - ends_.begin();
    if (rows.end <= ends_[static_cast<size_t>(first)])
      return part_rows(static_cast<size_t>(first), rows, buffer);
    // The rows are in several parts.
    std::vector<std::byte> all;
    all.reserve(static_cast<size_t>(rows.size() * row_bytes()));
    for (auto i = static_cast<size_t>(first); rows.size() > 0; ++i) {
      const RowRange here = {.begin = rows.begin, .end = std::min(rows.end, ends_[i])};
      const std::span<const std::byte> bytes = part_rows(i, here, buffer);
      all.insert(all.end(), bytes.begin(), bytes.end());
      rows.begin = here.end;
    }
    buffer.stored = std::move(all);
    return buffer.stored;
  }

 private:
  std::span<const std::byte> part_rows(size_t part, RowRange rows, MatrixBuffer& buffer) const {
    const int64_t begin = part == 0 ? 0 : ends_[part - 1];
    return parts_[part]->stored({.begin = rows.begin - begin, .end = rows.end - begin}, buffer);
  }

  Parts parts_;
  std::vector<int64_t> ends_;  // for each part, the number of rows up to its end
};

// Adds the files of a part. Neighbouring parts may have rows of the same file.
void add_inputs(const std::vector<InputPart>& more, std::vector<InputPart>& inputs) {
  for (const InputPart& input : more) {
    if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
  }
}

Manifest merged_manifest(const std::string& path, const PartsList& list,
                         const std::vector<Manifest>& parts) {
  Manifest merged = parts.empty() ? Manifest() : parts.front();
  merged.identity = list.identity;
  merged.type = list.type;
  merged.columns = list.columns;
  merged.file = list.file;
  merged.stats = list.stats;
  merged.origins = list.origins;
  merged.dropped_rows = list.dropped_rows;
  merged.file_bytes = 0;
  merged.xxh3_128.clear();
  merged.ledger.reset();
  merged.offsets.reset();
  merged.set_aside.reset();
  for (const Manifest& part : parts) {
    add_inputs(part.identity.inputs, merged.identity.inputs);
    if (part.identity.input_list) merged.identity.input_list = part.identity.input_list;
    merged.identity.model = part.identity.model;
    merged.file_bytes += part.file_bytes;
    if (part.quarantine != QuarantinePolicy::kError) merged.quarantine = part.quarantine;
    if (part.ranges_xxh3_128 != merged.ranges_xxh3_128)
      throw damage("the parts have different ranges", path, merged.ranges_xxh3_128,
                   part.ranges_xxh3_128);
  }
  return merged;
}

// Opens the matrix that a list of parts (x.parts.json) describes. Its rows are those of the parts,
// in order, and its manifest is that of a run without shards, except that it has no hash.
std::unique_ptr<Matrix> open_parts(const std::string& list_path, RowAccess access) {
  require_named_file(list_path, "npy.open");
  const PartsList list = read_parts_list(list_path);
  Manifest manifest = merged_manifest(list_path, list, read_part_manifests(list_path, list));
  Parts parts;
  for (const PartsList::Entry& part : list.parts)
    parts.push_back(open_matrix(part_path(list_path, part), access));
  return std::make_unique<PartsMatrix>(list_path, std::move(manifest), std::move(parts));
}

}  // namespace

Matrix::Matrix(std::string path, Manifest manifest)
    : path_(std::move(path)), manifest_(std::move(manifest)) {
  const NpyHeader row = {
      .item = facts_of(type()).item, .rows = 1, .cols = columns(), .data_offset = 0};
  row_bytes_ = row.data_bytes();
}

std::span<const float> Matrix::floats(RowRange rows, MatrixBuffer& buffer) const {
  return as_floats({.bytes = stored(rows, buffer), .type = type(), .dim = dim()}, buffer.floats);
}

std::unique_ptr<Matrix> open_matrix(const std::string& path, RowAccess access) {
  if (is_parts_list(path)) return open_parts(path, access);
  UniqueFd fd = open_named_file(path, "npy.open");
  Manifest manifest = require_manifest(path);
  Vectors vectors = manifest.file == MatrixFormat::kNpy
                        ? vectors_of_npy(std::move(fd), path, manifest)
                        : unpack_table(path, manifest);
  if (access == RowAccess::kMapped)
    return std::make_unique<MappedMatrix>(path, std::move(manifest), vectors);
  return std::make_unique<FileMatrix>(path, std::move(manifest), std::move(vectors));
}

}  // namespace encode
