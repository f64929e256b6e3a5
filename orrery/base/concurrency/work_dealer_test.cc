#include "orrery/base/concurrency/work_dealer.h"

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

Result<std::string> Reversed(std::string_view request) {
  if (request == "7") {
    return Invalid("seven is refused");
  }
  return std::string(request.rbegin(), request.rend());
}

std::vector<std::string> NumbersBelow(int count) {
  std::vector<std::string> requests;
  for (int number = 0; number < count; ++number) {
    requests.push_back(std::to_string(number));
  }
  return requests;
}

class ThreadDealerTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadDealerTest, ::testing::Values(0, 1, 2, 7));

TEST_P(ThreadDealerTest, EveryRequestIsAnsweredOnceWithItsIndex) {
  ThreadDealer dealer(GetParam());
  std::vector<std::string> answers(1'000);
  std::size_t calls = 0;  // not atomic: one call at a time

  const Status status = dealer.Run(NumbersBelow(1'000), {Reversed},
                                   [&](std::size_t index, Result<std::string> answer) -> Status {
                                     answers[index] = answer ? *answer : answer.error().message();
                                     ++calls;
                                     return {};
                                   });

  ASSERT_TRUE(status);
  EXPECT_EQ(calls, 1'000U);
  EXPECT_EQ(answers[123], "321");
  EXPECT_EQ(answers[999], "999");
  EXPECT_EQ(answers[7], "seven is refused");
}

TEST_P(ThreadDealerTest, RunsFollowEachOtherWithOtherRequests) {
  ThreadDealer dealer(GetParam());
  std::vector<std::string> answers(2);
  const auto keep = [&](std::size_t index, Result<std::string> answer) -> Status {
    answers[index] = *answer;
    return {};
  };

  ASSERT_TRUE(dealer.Run(std::vector<std::string>{"ab", "cd"}, {Reversed}, keep));
  ASSERT_TRUE(dealer.Run(std::vector<std::string>{answers[1] + answers[0]}, {Reversed}, keep));

  EXPECT_EQ(answers[0], "abcd");  // "dc" + "ba", reversed
}

TEST_P(ThreadDealerTest, AnErrorOfTheCallerEndsTheDealing) {
  ThreadDealer dealer(GetParam());
  std::atomic<int> worked = 0;

  const Status status =
      dealer.Run(NumbersBelow(100), {[&](std::string_view) -> Result<std::string> {
                   ++worked;
                   return std::string();
                 }},
                 [](std::size_t, const Result<std::string>&) -> Status {
                   return Invalid("the disk is full");
                 });

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "the disk is full");
  EXPECT_LE(worked, dealer.num_workers());  // those that had started by then
}

TEST_P(ThreadDealerTest, NothingToDoIsDone) {
  ThreadDealer dealer(GetParam());
  EXPECT_TRUE(dealer.Run({}, {Reversed}, [](std::size_t, const Result<std::string>&) -> Status {
    ADD_FAILURE();
    return {};
  }));
}

TEST(RequestQueueTest, RequestsAreDealtInTheirOrderAndFinishedInAny) {
  const std::vector<std::string> requests = NumbersBelow(3);
  std::string order;
  const WorkDealer::Done done = [&](std::size_t index, const Result<std::string>&) -> Status {
    order += std::to_string(index);
    return {};
  };
  RequestQueue queue(requests, done);

  EXPECT_EQ(queue.Take(), 0U);
  EXPECT_EQ(queue.num_left(), 2U);
  EXPECT_EQ(queue.Take(), 1U);
  queue.Finish(1, std::string());
  EXPECT_EQ(queue.Take(), 2U);
  EXPECT_EQ(queue.Take(), std::nullopt);
  queue.Finish(2, std::string());
  EXPECT_FALSE(queue.is_finished());
  queue.Finish(0, std::string());

  EXPECT_TRUE(queue.is_finished());
  EXPECT_EQ(order, "120");
}

TEST(RequestQueueTest, AfterAFailureWhatWasDealtIsAwaitedAndDropped) {
  const std::vector<std::string> requests = NumbersBelow(3);
  const WorkDealer::Done done = [](std::size_t, const Result<std::string>&) -> Status {
    ADD_FAILURE();
    return {};
  };
  RequestQueue queue(requests, done);

  ASSERT_EQ(queue.Take(), 0U);
  queue.Fail(Error(Error::Kind::kSystem, "a process is gone"));

  EXPECT_EQ(queue.Take(), std::nullopt);
  EXPECT_FALSE(queue.is_finished());
  queue.Finish(0, std::string());
  EXPECT_TRUE(queue.is_finished());
  ASSERT_FALSE(queue.status());
  EXPECT_EQ(queue.status().error().message(), "a process is gone");
}

}  // namespace
}  // namespace orrery
