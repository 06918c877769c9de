#include "base/foreign_input.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/input_format.h"
#include "base/npy.h"
#include "base/own_files.h"
#include "base/units.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view kOleStart = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
constexpr std::string_view kZipArchive = "a ZIP archive";
constexpr std::string_view kTarArchive = "a tar archive";
constexpr std::string_view kSheetHint =
    "export the sheet as CSV (UTF-8) or Parquet, and give that file";
constexpr std::string_view kDocumentHint =
    "export its text as a plain text file (UTF-8) with a text on each line, and give that file";
constexpr std::string_view kArchiveHint = "unpack it, and give the files in it";
constexpr std::string_view kCompressedHint =
    "decompress it, or compress the text with gzip or zstd";

// The container format of a kind of files. ZIP holds documents of several kinds, and so does OLE,
// the format of Microsoft Office before 2007. kNone: the files are no containers.
enum class Container { kZip, kOle, kNone };

struct ForeignKind {
  Container container = Container::kNone;
  // kNone: the first bytes; kZip: the beginning of a member's name; "": only the suffix tells.
  std::string_view mark;
  std::string_view suffixes;  // each between spaces
  ForeignFile file;
};

// The member "mimetype" of OpenDocument and EPUB is not compressed, so its content follows its
// name.
constexpr auto kKinds = std::to_array<ForeignKind>({
    {Container::kZip, "xl/", " .xlsx .xlsm .xlsb ", {"an Excel workbook", kSheetHint}},
    {Container::kOle, "", " .xls ", {"an Excel workbook", kSheetHint}},
    {Container::kZip,
     "mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
     " .ods ",
     {"an OpenDocument spreadsheet", kSheetHint}},
    {Container::kZip, "word/", " .docx ", {"a Word document", kDocumentHint}},
    {Container::kOle, "", " .doc ", {"a Word document", kDocumentHint}},
    {Container::kZip,
     "mimetypeapplication/vnd.oasis.opendocument.text",
     " .odt ",
     {"an OpenDocument text", kDocumentHint}},
    {Container::kZip, "ppt/", " .pptx ", {"a PowerPoint presentation", kDocumentHint}},
    {Container::kZip, "mimetypeapplication/epub+zip", " .epub ", {"an EPUB book", kDocumentHint}},
    {Container::kNone, "%PDF-", " .pdf ", {"a PDF document", kDocumentHint}},
    {Container::kNone, "7z\xBC\xAF\x27\x1C", " .7z ", {"a 7-Zip archive", kArchiveHint}},
    {Container::kNone, "Rar!\x1A\x07", " .rar ", {"a RAR archive", kArchiveHint}},
    {Container::kNone, "", " .tar .tgz ", {kTarArchive, kArchiveHint}},
    {Container::kNone, "", " .zip ", {kZipArchive, kArchiveHint}},
    {Container::kNone, "\xFD\x37zXZ\0"sv, " .xz ", {"an xz file", kCompressedHint}},
    {Container::kNone, "BZh91AY&SY", " .bz2 ", {"a bzip2 file", kCompressedHint}},
    {Container::kNone,
     "SQLite format 3\0"sv,
     " .sqlite .sqlite3 .db ",
     {"an SQLite database", "export the table as CSV, and give that file"}},
    {Container::kNone,
     kNpyMagic,
     " .npy ",
     {"a matrix of numbers (.npy)", "give the file that has the texts"}},
});

const ForeignKind* kind_of_suffix(const std::string& path) {
  const std::string suffix = " " + lower_case_suffix(without_compression(path)) + " ";
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), [&](const ForeignKind& kind) {
    return suffix.size() > 2 && kind.suffixes.find(suffix) != std::string_view::npos;
  });
  return found == kKinds.end() ? nullptr : found;
}

// Looks at the names of the members of a ZIP file, which stand in front of their contents.
const ForeignKind* kind_of_zip(std::string_view start) {
  constexpr size_t kNameOffset = 30;  // in the header of a member
  for (size_t at = 0; at != std::string_view::npos; at = start.find(kZipStart, at + 1)) {
    const std::string_view name = start.substr(std::min(start.size(), at + kNameOffset));
    for (const ForeignKind& kind : kKinds) {
      if (kind.container == Container::kZip && name.starts_with(kind.mark)) return &kind;
    }
  }
  return nullptr;
}

bool is_tar(std::string_view start) {
  constexpr size_t kMagicOffset = 257;
  return start.size() > kMagicOffset && start.substr(kMagicOffset).starts_with("ustar");
}

std::vector<std::string> names_in(const std::string& folder, bool folders) {
  constexpr int kMostEntries = 10'000;
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (int i = 0; !failure && entry != fs::directory_iterator() && i < kMostEntries; ++i) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    const bool wanted = folders ? entry->is_directory(unknown) : entry->is_regular_file(unknown);
    if (wanted && !name.starts_with('.')) names.push_back(name);
    entry.increment(failure);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 5;
  const size_t shown = std::min(names.size(), kMostShown);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + shown, ", "),
                     shown < names.size() ? ", ..." : "");
}

// Returns the suffix of a name if it states the format of an input, such as ".jsonl.gz", or "".
std::string input_suffix(const std::string& name) {
  InputOptions options;
  options.path = name;
  if (input_format(options).format == TextFormat::kAuto) return "";
  return name.substr(name.rfind('.', without_compression(name).size() - 1));
}

std::string first_bytes(const std::string& path) {
  try {
    return read_head(path, static_cast<int64_t>(kForeignBytes), "text.open");
  } catch (const Error&) {
    return "";  // the caller then goes by the suffix alone
  }
}

// Leaves out the files that encode has written: they hold no texts, or the texts of another run.
FolderContent describe_inputs(const std::string& folder) {
  std::vector<std::string> inputs;
  std::map<std::string, int64_t> suffixes;
  for (const std::string& name : names_in(folder, /*folders=*/false)) {
    const std::string suffix = input_suffix(name);
    const std::string path = fmt::format("{}/{}", folder, name);
    if (suffix.empty() || is_beside_matrix(path) || has_manifest(path)) continue;
    inputs.push_back(name);
    ++suffixes[suffix];
  }
  if (inputs.empty()) {
    const std::vector<std::string> folders = names_in(folder, /*folders=*/true);
    return {.found = "a folder without files of texts or tables",
            .hint = folders.empty()
                        ? fmt::format("name a file that ends in {}, or in {}", text_suffixes(),
                                      columnar_suffixes())
                        : fmt::format("name the files in its folders: {}", list_of(folders))};
  }
  const auto most =
      std::max_element(suffixes.begin(), suffixes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  FolderContent content = {
      .found = fmt::format("a folder with {}: {}",
                           format_count(std::ssize(inputs), "file of texts", "files of texts"),
                           list_of(inputs)),
      .hint = fmt::format("name a file in it, as in {}/{}", folder, inputs.front())};
  if (most->second > 1)
    content.hint +=
        fmt::format(", or several with a pattern in quotes: '{}/*{}'", folder, most->first);
  return content;
}

}  // namespace

bool may_be_zip(std::string_view start) { return start.starts_with(kZipStart); }

std::optional<ForeignFile> foreign_file(const std::string& path, std::string_view start) {
  const ForeignKind* named = kind_of_suffix(path);
  if (may_be_zip(start)) {
    if (const ForeignKind* zip = kind_of_zip(start)) return zip->file;
    if (named != nullptr && named->container == Container::kZip) return named->file;
    return ForeignFile{kZipArchive, kArchiveHint};
  }
  if (start.starts_with(kOleStart)) {
    if (named != nullptr && named->container == Container::kOle) return named->file;
    return ForeignFile{"a file of an old Microsoft Office", kSheetHint};
  }
  if (is_tar(start)) return ForeignFile{kTarArchive, kArchiveHint};
  for (const ForeignKind& kind : kKinds) {
    if (kind.container == Container::kNone && !kind.mark.empty() && start.starts_with(kind.mark))
      return kind.file;
  }
  return std::nullopt;
}

FolderContent describe_folder(const std::string& folder) {
  std::error_code unknown;
  if (fs::exists(folder + "/dataset_dict.json", unknown)) {
    return {
        .found = "a folder of several splits (dataset_dict.json)",
        .hint = fmt::format("name the folder of one split, as in {}/train, and give its format: "
                            "--format arrow, or format: arrow in the config",
                            folder)};
  }
  if (fs::exists(folder + "/state.json", unknown)) {
    return {.found = "a folder that datasets.save_to_disk wrote (with state.json)",
            .hint = "give its format: --format arrow, or format: arrow in the config"};
  }
  return describe_inputs(folder);
}

Error folder_error(const std::string& folder, const std::string& where) {
  const FolderContent content = describe_folder(folder);
  return Error({.code = "text.files",
                .what = "the input is a folder",
                .where = where,
                .expected = "a file, a pattern in quotes, or a folder that datasets.save_to_disk "
                            "wrote, with the format arrow",
                .found = fmt::format("{}: {}", folder, content.found),
                .hint = content.hint});
}

void refuse_foreign_input(const std::string& path, const std::string& where) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) throw folder_error(path, where);
  const std::string start = fs::is_regular_file(status) ? first_bytes(path) : "";
  std::optional<ForeignFile> file = foreign_file(path, start);
  const ForeignKind* named = kind_of_suffix(path);
  if (start.empty() && named != nullptr) file = named->file;
  if (!file) return;
  throw Error({.code = "text.encoding",
               .what = "the input is not text",
               .where = where,
               .expected = fmt::format("a file of texts or tables: {}, {}", text_suffixes(),
                                       columnar_suffixes()),
               .found = fmt::format("{}: {}, by its {}", path, file->name,
                                    start.empty() ? "suffix" : "first bytes"),
               .hint = std::string(file->hint)});
}

}  // namespace encode
