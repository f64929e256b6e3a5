#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/distribute/message_channel.h"

namespace orrery::distribute {

/// Deals to the threads of all processes of a channel. The process of rank 0 is the root; its
/// threads work, too, beside the one that calls Run, which only sends and receives. A worker has as
/// many requests at a time as threads, and one more that waits, as long as there are plenty.
class ProcessDealer final : public WorkDealer {
 public:
  /// Returns when all processes have made theirs. `threads` are those of this process.
  ProcessDealer(MessageChannel& channel, int threads);

  [[nodiscard]] bool is_root() const override { return channel_.rank() == 0; }

  [[nodiscard]] int num_workers() const override;

  [[nodiscard]] Status Run(std::span<const std::string> requests, const Work& work,
                           const Done& done) override;
  [[nodiscard]] Status Serve(const Work& work) override;

  /// Call it last, on every process, with what came of its work: the root lets the others go, and
  /// an error of another process ends the root's Run.
  void End(const Status& status);

 private:
  class Answers;
  struct Envelope;

  struct Process {
    std::string name = {};
    int threads = 0;
    bool is_ready = false;
    std::uint64_t inputs = 0;
    int dealt = 0;  // and not answered
    bool is_gone = false;
  };

  void Send(int to, const Envelope& envelope);
  // Takes all messages that have arrived; false when there were none. Answers go to the queue.
  bool Receive(RequestQueue* queue);
  void Take(Process& from, Envelope envelope, RequestQueue* queue);
  // Sends requests to processes that have a free thread; false when there were none.
  bool Deal(RequestQueue& queue, const Work& work);
  void LetOthersGo();
  void WaitToGo();

  MessageChannel& channel_;
  int threads_;
  // On the root: all processes by rank, and what one could not do.
  std::vector<Process> processes_;
  std::optional<Error> failure_;
  // Elsewhere: whether the root has ended.
  bool may_go_ = false;
};

/// The number of threads of a process if `wanted` are asked for: 0 shares the cores of a machine
/// with the other processes on it.
[[nodiscard]] int ThreadsOfProcess(int wanted, int num_local_processes);

}  // namespace orrery::distribute
