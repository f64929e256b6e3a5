#include "orrery/distribute/process_dealer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/distribute/message_channel.h"

namespace orrery::distribute {
namespace {

/// Messages that wait for each process.
struct Mail {
  explicit Mail(int processes) : boxes(static_cast<std::size_t>(processes)) {}

  std::mutex mutex;
  std::vector<std::deque<Message>> boxes;
};

/// Connects threads as if they were processes.
class MailChannel : public MessageChannel {
 public:
  MailChannel(Mail& mail, int rank) : mail_(mail), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }

  [[nodiscard]] int num_processes() const override { return static_cast<int>(mail_.boxes.size()); }

  [[nodiscard]] int num_local_processes() const override { return num_processes(); }

  [[nodiscard]] std::string name() const override { return "process " + std::to_string(rank_); }

  void Send(int to, std::string bytes) override {
    const std::scoped_lock lock(mail_.mutex);
    mail_.boxes[static_cast<std::size_t>(to)].push_back({rank_, std::move(bytes)});
  }

  [[nodiscard]] std::optional<Message> Receive() override {
    const std::scoped_lock lock(mail_.mutex);
    auto& box = mail_.boxes[static_cast<std::size_t>(rank_)];
    if (box.empty()) {
      return std::nullopt;
    }
    std::optional<Message> message = std::move(box.front());
    box.pop_front();
    return message;
  }

  void Close() override {}

 private:
  Mail& mail_;
  int rank_;
};

using Body = std::function<Status(WorkDealer& dealer, int rank)>;

// Runs the body in each of so many processes of two threads; returns what the root's returns.
Status OnProcesses(int processes, const Body& body) {
  Mail mail(processes);
  const auto run = [&](int rank) {
    MailChannel channel(mail, rank);
    ProcessDealer dealer(channel, 2);
    const Status status = body(dealer, rank);
    dealer.End(status);
    return status;
  };
  std::vector<std::jthread> others;
  for (int rank = 1; rank < processes; ++rank) {
    others.emplace_back([&run, rank] { static_cast<void>(run(rank)); });
  }
  const Status status = run(0);
  others.clear();
  EXPECT_TRUE(std::ranges::all_of(mail.boxes, &std::deque<Message>::empty));  // nothing is unread
  return status;
}

std::vector<std::string> Requests(int count) {
  std::vector<std::string> requests;
  for (int number = 0; number < count; ++number) {
    requests.push_back(std::to_string(number));
  }
  return requests;
}

WorkDealer::Work Doubling() {
  return {[](std::string_view request) -> Result<std::string> {
    if (request == "13") {
      return Fail(Error::Kind::kUnsupported, "thirteen");
    }
    return std::string(request) + std::string(request);
  }};
}

Status Keep(const Result<std::string>& answer, std::string& place) {
  EXPECT_TRUE(place.empty());
  EXPECT_TRUE(answer || answer.error().kind() == Error::Kind::kUnsupported);
  place = answer ? *answer : "refused: " + answer.error().message();
  return {};
}

Status Ignore(std::size_t /*index*/, const Result<std::string>& /*answer*/) {
  return {};
}

// A short run may be over before it hears of another process.
Status RunUntilError(WorkDealer& dealer, const WorkDealer::Work& work) {
  while (true) {
    ORRERY_TRY_STATUS(dealer.Run(Requests(100), work, Ignore));
  }
}

class ProcessDealerTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Processes, ProcessDealerTest, ::testing::Values(1, 2, 3, 8));

TEST_P(ProcessDealerTest, AllPhasesAreAnsweredOnce) {
  std::vector<std::string> first(500);
  std::vector<std::string> second(500);

  const Status status = OnProcesses(GetParam(), [&](WorkDealer& dealer, int rank) -> Status {
    EXPECT_EQ(dealer.is_root(), rank == 0);
    if (!dealer.is_root()) {
      return dealer.Serve(Doubling());
    }
    EXPECT_EQ(dealer.num_workers(), 2 * GetParam());
    ORRERY_TRY_STATUS(dealer.Run(
        Requests(500), Doubling(),
        [&](std::size_t index, const auto& answer) { return Keep(answer, first[index]); }));
    return dealer.Run(first, Doubling(), [&](std::size_t index, const auto& answer) {
      return Keep(answer, second[index]);
    });
  });

  ASSERT_TRUE(status);
  EXPECT_EQ(first[13], "refused: thirteen");
  EXPECT_EQ(first[12], "1212");
  EXPECT_EQ(second[12], "12121212");
  EXPECT_EQ(second[499], "499499499499");
}

TEST_P(ProcessDealerTest, AnErrorOfTheRootLetsTheOthersGo) {
  const Status status = OnProcesses(GetParam(), [&](WorkDealer& dealer, int) -> Status {
    return dealer.is_root() ? Status(Invalid("no such table")) : dealer.Serve(Doubling());
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "no such table");
}

TEST_P(ProcessDealerTest, AnErrorOfAllIsThatOfTheRoot) {
  const Status status = OnProcesses(GetParam(), [&](WorkDealer&, int rank) -> Status {
    return Invalid("no such table {}", rank);
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "no such table 0");
}

TEST_P(ProcessDealerTest, AnErrorOfTheCallerEndsTheDealing) {
  std::atomic<int> worked = 0;
  const WorkDealer::Work work = {[&](std::string_view) -> Result<std::string> {
    ++worked;
    return std::string();
  }};

  const Status status = OnProcesses(GetParam(), [&](WorkDealer& dealer, int) -> Status {
    return dealer.is_root()
               ? dealer.Run(Requests(10'000), work,
                            [](std::size_t, const auto&) -> Status { return Invalid("full"); })
               : dealer.Serve(work);
  });

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "full");
  EXPECT_LE(worked, 3 * GetParam());  // two threads and a request that waits, for each process
}

// Everyone waits until all have a request, so that the test ends only if all get one.
TEST(ProcessesTest, EveryProcessGetsRequests) {
  constexpr int kProcesses = 4;
  std::mutex mutex;
  std::condition_variable all_have_one;
  std::set<int> with_request;

  const Status status = OnProcesses(kProcesses, [&](WorkDealer& dealer, int rank) -> Status {
    const WorkDealer::Work work = {[&, rank](std::string_view) -> Result<std::string> {
      std::unique_lock lock(mutex);
      with_request.insert(rank);
      all_have_one.notify_all();
      all_have_one.wait(lock, [&] { return with_request.size() == kProcesses; });
      return std::string();
    }};
    return dealer.is_root() ? dealer.Run(Requests(100), work, Ignore) : dealer.Serve(work);
  });

  EXPECT_TRUE(status);
}

TEST(ProcessesTest, AProcessThatCannotReadItsFilesEndsTheRun) {
  const Status status = OnProcesses(3, [&](WorkDealer& dealer, int rank) -> Status {
    if (rank == 2) {
      return Invalid("runs.csv: no such file");
    }
    return dealer.is_root() ? RunUntilError(dealer, Doubling()) : dealer.Serve(Doubling());
  });

  EXPECT_EQ(status.error().message(), "process 2: runs.csv: no such file");
}

TEST(ProcessesTest, AProcessWithOtherFilesIsRefused) {
  const Status status = OnProcesses(3, [&](WorkDealer& dealer, int rank) -> Status {
    WorkDealer::Work work = Doubling();
    work.inputs = rank == 1 ? 17 : 4;
    return dealer.is_root() ? RunUntilError(dealer, work) : dealer.Serve(work);
  });

  EXPECT_EQ(status.error().message(),
            "process 1 reads other files than process 0: give all the same");
}

TEST(ThreadsOfProcessTest, ProcessesOfAMachineShareItsCores) {
  const int all = ThreadsOfProcess(0, 1);
  EXPECT_GE(all, 1);
  EXPECT_LE(2 * ThreadsOfProcess(0, 2), std::max(all, 2));
  EXPECT_EQ(ThreadsOfProcess(0, 1'000'000), 1);
  EXPECT_EQ(ThreadsOfProcess(1, 1), 1);
}

}  // namespace
}  // namespace orrery::distribute
