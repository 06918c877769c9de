#include "encode/error.h"

#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::HasSubstr;

TEST(Render, PrintsEveryFieldThatIsThere) {
  const Error error({.exit_code = ExitCode::kConfig,
                     .code = "model.shape",
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

TEST(Render, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(render({.exit_code = ExitCode::kData,
                    .code = "x.y",
                    .what = "bad",
                    .where = "",
                    .expected = "",
                    .found = "here",
                    .hint = ""}),
            "error[x.y]: bad\n  found     here");
}

TEST(ExitCodeForErrno, TellsSchedulersWhatTheyCanDo) {
  EXPECT_EQ(exit_code_for_errno(ENOENT), ExitCode::kNoInput);
  EXPECT_EQ(exit_code_for_errno(EACCES), ExitCode::kNoPermission);
  EXPECT_EQ(exit_code_for_errno(EROFS), ExitCode::kNoPermission);
  EXPECT_EQ(exit_code_for_errno(EMFILE), ExitCode::kOsError);
  EXPECT_EQ(exit_code_for_errno(ENOSPC), ExitCode::kIoError);
  EXPECT_EQ(exit_code_for_errno(EIO), ExitCode::kIoError);
}

TEST(SystemError, NamesTheActionThePathAndTheNextStep) {
  const Error error = system_error("io.write", "write", "/data/x.npy", ENOSPC);
  EXPECT_EQ(error.exit_code(), ExitCode::kIoError);
  EXPECT_EQ(error.detail().what, "cannot write: No space left on device");
  EXPECT_EQ(error.detail().where, "/data/x.npy");
  EXPECT_EQ(error.detail().expected, "free space on the file system");
  EXPECT_THAT(error.detail().found, HasSubstr("No space left on device"));
  EXPECT_THAT(error.detail().hint, HasSubstr("goes on after the last committed chunk"));
}

}  // namespace
}  // namespace encode
