// Deals invented requests, for tests and measurements under mpirun. The first word says what for:
//
//   answer COUNT BYTES [THREADS]  doubles requests of that size
//   remote COUNT BYTES [THREADS]  the same, on other processes than the root as far as possible
//   kill COUNT                    another process than the root is killed
//   fail COUNT                    another process than the root has an error
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ratio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/distribute/deal.h"

namespace orrery::distribute {
namespace {

struct Arguments {
  std::string mode;
  std::size_t count = 1;
  std::size_t bytes = 1;
  int threads = 1;
};

Arguments ReadArguments(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.mode = words.size() > 1 ? words[1] : "";
  arguments.count = words.size() > 2 ? std::stoul(words[2]) : 1;
  arguments.bytes = words.size() > 3 ? std::stoul(words[3]) : 1;
  arguments.threads = words.size() > 4 ? std::stoi(words[4]) : 1;
  return arguments;
}

// Threads of the root do not answer before the others have answered all the rest: where one of
// those is killed, never.
WorkDealer::Work WorkOf(const std::string& mode, bool is_root,
                        const std::atomic<bool>& rest_is_done) {
  return {[&mode, is_root, &rest_is_done](std::string_view request) -> Result<std::string> {
    if (is_root && (mode == "remote" || mode == "kill")) {
      rest_is_done.wait(false);
    } else if (mode == "kill") {
      kill(getpid(), SIGKILL);
    }
    return std::string(request) + std::string(request);
  }};
}

Result<int> Deal(const Arguments& arguments, WorkDealer& dealer) {
  std::atomic<bool> rest_is_done = false;
  const WorkDealer::Work work = WorkOf(arguments.mode, dealer.is_root(), rest_is_done);
  if (!dealer.is_root()) {
    if (arguments.mode == "fail") {
      return Invalid("it was told to fail");
    }
    ORRERY_TRY_STATUS(dealer.Serve(work));
    return 0;
  }
  const std::vector<std::string> requests(arguments.count, std::string(arguments.bytes, 'x'));
  const auto own = static_cast<std::size_t>(NumThreads(arguments.threads));
  std::size_t answered = 0;
  std::size_t received = 0;
  const auto begin = std::chrono::steady_clock::now();
  do {  // a short run may be over before another process fails
    ORRERY_TRY_STATUS(dealer.Run(requests, work, [&](std::size_t, const auto& answer) -> Status {
      received += answer->size();
      if (++answered + own >= arguments.count) {
        rest_is_done = true;
        rest_is_done.notify_all();
      }
      return {};
    }));
  } while (arguments.mode == "fail");
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
  fmt::print("{} requests, {} bytes answered\n", arguments.count, received);
  fmt::print(stderr, "{} workers, {:.2f} us for each request\n", dealer.num_workers(),
             passed.count() / static_cast<double>(arguments.count));
  return 0;
}

}  // namespace
}  // namespace orrery::distribute

int main(int argc, char** argv) {
  using orrery::distribute::Arguments;
  const Arguments arguments = orrery::distribute::ReadArguments({argv, argv + argc});
  const orrery::Result<int> status = orrery::distribute::WithDealer(
      arguments.threads, [&](orrery::WorkDealer& dealer) { return Deal(arguments, dealer); });
  if (!status) {
    fmt::print(stderr, "deal_example: {}\n", status.error().message());
    return 2;
  }
  return 0;
}
