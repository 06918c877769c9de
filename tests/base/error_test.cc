#include "encode/error.h"

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::HasSubstr;

TEST(Render, PrintsEveryFieldThatIsThere) {
  const Error error({.code = "model.shape",
                     .exit_code = ExitCode::kConfig,
                     .what = "tensor does not fit config.json",
                     .where = "model.safetensors",
                     .expected = "[2, 3]",
                     .found = "[3, 2]",
                     .hint = "first\nsecond"});
  EXPECT_STREQ(error.what(),
               "error[model.shape]: tensor does not fit config.json\n"
               "  where     model.safetensors\n"
               "  expected  [2, 3]\n"
               "  found     [3, 2]\n"
               "  hint      first\n"
               "            second");
}

// Returns the code and the exit code of the error that describes an exception.
template <typename Exception>
std::pair<std::string, ExitCode> described(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    const ErrorDetail detail = current_error();
    return {std::string(detail.code.name()), detail.exit_code};
  }
}

TEST(CurrentError, DescribesWhatTheStandardLibraryThrows) {
  EXPECT_EQ(described(std::bad_alloc()), std::pair(std::string("os.memory"), ExitCode::kOsError));
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_EQ(described(std::system_error(again)),
            std::pair(std::string("os.thread"), ExitCode::kOsError));
  EXPECT_EQ(described(std::out_of_range("at")),
            std::pair(std::string("internal"), ExitCode::kInternal));
}

TEST(Render, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(render({.code = "model.shape",
                    .exit_code = ExitCode::kData,
                    .what = "bad",
                    .where = "",
                    .expected = "",
                    .found = "here",
                    .hint = ""}),
            "error[model.shape]: bad\n  found     here");
}

// The bytes that move a cursor, ring, change the direction of text, or are not UTF-8.
const std::string kHarmful = "\x1b[31m \a \r \t \x7f \xC2\x9B \u202E \u2066 \uFEFF \xFF \xE2\x82";
const std::string kHarmless =
    R"(\x1b[31m \x07 \x0d \x09 \x7f \u009b \u202e \u2066 \ufeff \xff \xe2\x82)";

TEST(Render, EscapesEveryField) {
  const ErrorDetail harmful = {.code = "text.encoding",
                               .what = kHarmful,
                               .where = kHarmful,
                               .expected = kHarmful,
                               .found = kHarmful,
                               .hint = kHarmful};
  const Error error(harmful);
  const ErrorDetail& detail = error.detail();
  for (const std::string& field :
       {detail.what, detail.where, detail.expected, detail.found, detail.hint})
    EXPECT_EQ(field, kHarmless);
  EXPECT_EQ(render(harmful), error.what());
  EXPECT_EQ(render(detail), error.what()) << "escaped text is not escaped again";
}

TEST(Render, KeepsTextThatCanBeRead) {
  const std::string path = "/data/\u00dcn\u00efc\u00f6de \u4f60\U0001F600\n\\x1b";
  EXPECT_EQ(Error({.code = "model.shape",
                   .exit_code = ExitCode::kData,
                   .what = "bad",
                   .where = path,
                   .expected = "",
                   .found = "",
                   .hint = ""})
                .detail()
                .where,
            path);
}

TEST(Render, CutsAFieldAndStatesItsSize) {
  const Error error({.code = "model.shape",
                     .exit_code = ExitCode::kData,
                     .what = "bad",
                     .where = "",
                     .expected = "",
                     .found = std::string(100'000, 'a'),
                     .hint = ""});
  EXPECT_EQ(error.detail().found, std::string(8192, 'a') + "... (100000 bytes)");
}

TEST(ExitCodeForErrno, TellsSchedulersWhatTheyCanDo) {
  EXPECT_EQ(exit_code_for_errno(ENOENT), ExitCode::kNoInput);
  EXPECT_EQ(exit_code_for_errno(EACCES), ExitCode::kNoPermission);
  EXPECT_EQ(exit_code_for_errno(EROFS), ExitCode::kNoPermission);
  EXPECT_EQ(exit_code_for_errno(EMFILE), ExitCode::kOsError);
  EXPECT_EQ(exit_code_for_errno(ENOSPC), ExitCode::kIoError);
  EXPECT_EQ(exit_code_for_errno(EIO), ExitCode::kIoError);
}

// A server of a network file system that starts again causes these.
TEST(ExitCodeForErrno, ALostServerIsTriedAgain) {
  for (const int lost : {ESTALE, ETIMEDOUT, EREMOTEIO})
    EXPECT_EQ(exit_code_for_errno(lost), ExitCode::kTempFail) << lost;
}

TEST(SystemError, NamesTheActionThePathAndTheNextStep) {
  const Error error = system_error("io.write", "write", "/data/x.npy", ENOSPC);
  EXPECT_EQ(error.exit_code(), ExitCode::kIoError);
  EXPECT_EQ(error.detail().what, "cannot write: No space left on device");
  EXPECT_EQ(error.detail().where, "/data/x.npy");
  EXPECT_EQ(error.detail().expected, "free space on the file system");
  EXPECT_THAT(error.detail().found, HasSubstr("No space left on device"));
  EXPECT_THAT(error.detail().found, ::testing::ContainsRegex("; [0-9.]+ [kMGT]?B are free$"));
  EXPECT_THAT(error.detail().hint, HasSubstr("(a run continues after its last committed chunk)"));
}

}  // namespace
}  // namespace encode
