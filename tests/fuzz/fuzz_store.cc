// Reads any bytes as a file of the store: chunks.log, stream.json, a manifest, a ledger, an offsets
// file or a list of input files. The result must be a value or an Error for damage. The first byte
// chooses the file; with its highest bit, the bytes get a valid checksum, so that the fields behind
// it are read too.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/store.h"

#include "base/hash.h"
#include "require.h"
#include "sealed.h"
#include "store/audit.h"
#include "store/file_list.h"
#include "store/records.h"
#include "store/sealed_json.h"
#include "store/set_aside.h"

namespace {

// Returns the path of a file in memory, which stays until the process ends.
std::string file_in_memory(const char* name, std::string_view content) {
  static const std::string directory = [] {
    std::string path = "/dev/shm/fuzz_store_XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "a folder in memory can be made");
    return path;
  }();
  const std::string path = directory + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path;
}

encode::FileSeal seal_of(std::string_view content) {
  return {.file_bytes = static_cast<int64_t>(content.size()),
          .xxh3_128 = encode::xxh3_hex(content)};
}

void read_stream(const std::string& text) {
  const encode::StreamFile stream = encode::parse_stream_file(text, "stream.json");
  // What was read can be written and read again.
  const encode::StreamFile again = encode::parse_stream_file(stream.text(), "stream.json");
  require(again.text() == stream.text(), "a stream file survives the round trip");
}

void read_log(const std::string& text) {
  const encode::ChunkLog log = encode::read_chunk_log(file_in_memory("chunks.log", text));
  for (const encode::LogRecord& record : log.records) {
    const std::string line = encode::to_line(record);
    const encode::LogRecord again =
        encode::parse_log_line(std::string_view(line).substr(0, line.size() - 1), "chunks.log");
    require(encode::to_line(again) == line, "a record survives the round trip");
  }
}

void read_set_aside(const std::string& text) {
  const std::string path = file_in_memory("x.set_aside.jsonl", text);
  int64_t last = -1;
  for (const encode::SetAsideRow& row : encode::read_set_aside(path, seal_of(text))) {
    require(row.row > last, "the rows ascend");
    last = row.row;
  }
}

void read_manifest(const std::string& text) {
  const std::string path = file_in_memory("x.npy", "");
  file_in_memory("x.npy.manifest.json", text);
  const auto manifest = encode::read_manifest(path);
  require(manifest.has_value(), "the manifest exists");
  require(manifest->columns >= 1 && manifest->dropped_rows <= manifest->identity.rows,
          "the numbers are within their limits");
  encode::final_state(path, manifest->identity, true);
  encode::foreign_final_file(path);
}

void read_offsets(const std::string& text) {
  const std::string path = file_in_memory("x.offsets.npy", text);
  encode::check_offsets(path, seal_of(text), 2, 3);
}

// A list of one page: the first line is the page, which gets its checksum here, and the second line
// is the index without the checksum of the page.
void read_list(const std::string& text) {
  const size_t end_of_page = text.find('\n');
  if (end_of_page == std::string::npos) return;
  const std::string page = encode::testing::sealed(text.substr(0, end_of_page + 1));
  const std::string index =
      encode::testing::sealed(R"({"offsets":[0],"pages":[")" + encode::stated_checksum(page) +
                              R"("],)" + text.substr(end_of_page + 1));
  const std::string path = file_in_memory("x.input_files.jsonl", page + index);
  const int64_t files = 2;
  const encode::ScannedFiles read = encode::read_file_list(
      {.list = {.path = path, .files = files, .root = encode::stated_checksum(index)},
       .begin = 0,
       .end = files});
  require(std::ssize(read) == files, "a list has as many files as it says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using Reader = void (*)(const std::string&);
  constexpr std::array<Reader, 6> kReaders = {read_stream,   read_log,     read_set_aside,
                                              read_manifest, read_offsets, read_list};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool with_checksum = (data[0] & 128) != 0;
  try {
    kReaders[data[0] % 128 % kReaders.size()](with_checksum ? encode::testing::sealed(bytes)
                                                            : std::string(bytes));
  } catch (const encode::Error& error) {
    require(error.exit_code() == encode::ExitCode::kData ||
                error.exit_code() == encode::ExitCode::kConfig,
            "the exit code is for damage or another format");
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
  }
  return 0;
}
