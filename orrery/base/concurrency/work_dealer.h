#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

/// Answers many independent requests on all threads that there are: those of this process
/// (ThreadDealer) or of many processes (orrery/distribute). Functions cannot be sent, so every
/// process reads the same files and builds the same `Work`; only requests and answers travel.
///
///   if (!dealer.is_root()) {
///     return dealer.Serve(work);
///   }
///   ORRERY_TRY_STATUS(dealer.Run(requests, work, done));  // as often as there are phases
class WorkDealer {
 public:
  /// The functions that answer requests.
  struct Work {
    /// Called on several threads at once. The answer depends on nothing but the request, so it does
    /// not matter which process gives it. Must not throw.
    std::function<Result<std::string>(std::string_view request)> answer;
    /// A hash of the files that answers depend on: processes that have other ones are refused.
    std::uint64_t inputs = 0;
  };

  /// Takes the answer to requests[index]: one call at a time, in any order, on any thread of the
  /// root. After an error nothing more is dealt, and Run returns it.
  using Done = std::function<Status(std::size_t index, Result<std::string> answer)>;

  WorkDealer() = default;
  WorkDealer(const WorkDealer&) = delete;
  WorkDealer& operator=(const WorkDealer&) = delete;
  virtual ~WorkDealer() = default;

  /// True on the process that hands out requests; the others answer and print nothing.
  [[nodiscard]] virtual bool is_root() const = 0;

  /// The number of requests that are answered at once on all processes.
  [[nodiscard]] virtual int num_workers() const = 0;

  /// On the root: deals the requests in their order, each to the first free thread of any process.
  /// Returns when all that were dealt are answered.
  [[nodiscard]] virtual Status Run(std::span<const std::string> requests, const Work& work,
                                   const Done& done) = 0;

  /// On every other process: answers the requests of all Runs until the root has ended.
  [[nodiscard]] virtual Status Serve(const Work& work) = 0;
};

/// Deals to threads of this process, which is the root.
class ThreadDealer : public WorkDealer {
 public:
  /// 0 threads: one for each core.
  explicit ThreadDealer(int threads);

  [[nodiscard]] bool is_root() const override { return true; }

  [[nodiscard]] int num_workers() const override { return threads_; }

  [[nodiscard]] Status Run(std::span<const std::string> requests, const Work& work,
                           const Done& done) override;
  [[nodiscard]] Status Serve(const Work& work) override;

 private:
  int threads_;
};

/// The requests of one Run, for implementations of dealers: which are still to be dealt, and
/// whether all answers came. Thread-safe.
class RequestQueue {
 public:
  RequestQueue(std::span<const std::string> requests, const WorkDealer::Done& done)
      : requests_(requests), done_(done) {}

  /// Returns the next request to deal; nothing when all are dealt or an error ended the dealing.
  [[nodiscard]] std::optional<std::size_t> Take();

  /// Passes on the answer to a request that was taken.
  void Finish(std::size_t index, Result<std::string> answer);

  /// Ends the dealing with an error.
  void Fail(Error error);

  /// Takes and answers requests until none is left.
  void Answer(const WorkDealer::Work& work);

  [[nodiscard]] std::string_view request(std::size_t index) const { return requests_[index]; }

  [[nodiscard]] std::size_t num_left() const;

  /// Returns true if no request is left and all requests have been answered.
  [[nodiscard]] bool is_finished() const;

  /// The first error.
  [[nodiscard]] Status status() const;

 private:
  [[nodiscard]] bool IsEmpty() const { return !status_ || next_ == requests_.size(); }

  std::span<const std::string> requests_;
  const WorkDealer::Done& done_;
  mutable std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t finished_ = 0;
  Status status_;
};

}  // namespace orrery
