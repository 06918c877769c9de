#include "base/bounded_queue.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::ElementsAre;

std::vector<int> pop_all(BoundedQueue<int>& queue) {
  std::vector<int> items;
  while (const auto item = queue.pop()) items.push_back(*item);
  return items;
}

TEST(BoundedQueue, GivesAllItemsInOrderThroughOnePlace) {
  BoundedQueue<int> queue(1);
  std::thread producer([&queue] {
    for (const int item : {1, 2, 3}) EXPECT_TRUE(queue.push(item));
    queue.finish();
  });
  EXPECT_THAT(pop_all(queue), ElementsAre(1, 2, 3));
  producer.join();
}

TEST(BoundedQueue, TheProducersFailureComesAfterItsItems) {
  BoundedQueue<int> queue(2);
  queue.push(7);
  queue.finish(std::make_exception_ptr(std::runtime_error("no more")));
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_THROW(queue.pop(), std::runtime_error);
}

TEST(BoundedQueue, TheFrontKeepsItsRoomUntilItIsPopped) {
  BoundedQueue<int> queue(1);
  queue.push(1);
  EXPECT_EQ(*queue.front(), 1);
  std::atomic<bool> pushed = false;
  std::thread producer([&] {
    queue.push(2);
    pushed = true;
    queue.finish();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(pushed);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(*queue.front(), 2);
  queue.pop();
  EXPECT_EQ(queue.front(), nullptr);
  producer.join();
}

TEST(BoundedQueue, APeekNeitherWaitsNorTakesNorThrows) {
  BoundedQueue<int> queue(2);
  EXPECT_EQ(queue.peek(), nullptr);
  queue.push(1);
  const int* const first = queue.peek();
  queue.push(2);
  EXPECT_EQ(queue.peek(), first) << "it stays valid while items are added";
  EXPECT_EQ(*first, 1);
  queue.finish(std::make_exception_ptr(std::runtime_error("no more")));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(*queue.peek(), 2);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.peek(), nullptr);
}

// A producer must not wait forever after its consumer has failed.
TEST(BoundedQueue, AProducerThatWaitsForRoomEndsWhenTheConsumerIsGone) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1));
  std::thread producer([&queue] { EXPECT_FALSE(queue.push(2)); });
  queue.abandon();
  producer.join();
}

TEST(BoundedQueue, SaysWhenNoItemWaits) {
  BoundedQueue<int> queue(2);
  constexpr auto kShort = std::chrono::milliseconds(1);
  EXPECT_TRUE(queue.await_empty(kShort));
  queue.push(1);
  EXPECT_FALSE(queue.await_empty(kShort));
  std::jthread consumer([&queue] { queue.pop(); });
  EXPECT_TRUE(queue.await_empty(std::chrono::seconds(60)));
  queue.push(2);
  queue.abandon();
  EXPECT_TRUE(queue.await_empty(kShort)) << "nobody will take the item";
}

}  // namespace
}  // namespace encode
