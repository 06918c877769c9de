// Tests when a request is repeated, and when it is not.
#include "hub/retries.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hub/answer_errors.h"

namespace encode::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Notes : public PullObserver {
 public:
  void note(const std::string& text) override { notes.push_back(text); }
  void progress(const std::string& /*path*/, int64_t /*done*/, int64_t /*total*/) override {}
  void finished(const std::string& /*path*/, int64_t /*total*/, int64_t /*fetched*/) override {}
  std::vector<std::string> notes;
};

Error busy() {
  HttpResponse response;
  response.status = 503;
  return busy_error(response);
}

TEST(Retries, WaitsGrowUpToALimit) {
  EXPECT_EQ(backoff(1), milliseconds(500));
  EXPECT_EQ(backoff(2), seconds(1));
  EXPECT_EQ(backoff(5), seconds(8));
  EXPECT_EQ(backoff(1'000'000), seconds(8));
}

TEST(Retries, EndAfterTheLastAttempt) {
  Notes notes;
  Retries retries(2, "a file", notes);
  const auto now = seconds(0);
  retries.wait_or_throw(busy(), now);
  retries.wait_or_throw(busy(), now);
  EXPECT_THROW(retries.wait_or_throw(busy(), now), Error);
  EXPECT_EQ(notes.notes.size(), 2U);
}

TEST(Retries, StartAgainAfterProgress) {
  Notes notes;
  Retries retries(1, "a file", notes);
  retries.wait_or_throw(busy(), seconds(0));
  retries.made_progress();
  EXPECT_NO_THROW(retries.wait_or_throw(busy(), seconds(0)));
}

TEST(Retries, EndIfTheServerAsksForALongWait) {
  Notes notes;
  Retries retries(5, "a file", notes);
  EXPECT_THROW(retries.wait_or_throw(busy(), seconds(3600)), Error);
}

}  // namespace
}  // namespace encode::hub
