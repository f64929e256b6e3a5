#include "orrery/base/concurrency/work_dealer.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"

namespace orrery {

ThreadDealer::ThreadDealer(int threads) : threads_(NumThreads(threads)) {}

Status ThreadDealer::Run(std::span<const std::string> requests, const Work& work,
                         const Done& done) {
  RequestQueue queue(requests, done);
  ParallelFor(static_cast<std::size_t>(threads_), threads_,
              [&](std::size_t) { queue.Answer(work); });
  return queue.status();
}

Status ThreadDealer::Serve(const Work& /*work*/) {
  ORRERY_CHECK(false, "there are no other processes");
  return {};
}

std::optional<std::size_t> RequestQueue::Take() {
  const std::scoped_lock lock(mutex_);
  if (IsEmpty() || ShouldStop()) {
    return std::nullopt;
  }
  return next_++;
}

void RequestQueue::Finish(std::size_t index, Result<std::string> answer) {
  const std::scoped_lock lock(mutex_);
  ++finished_;
  if (!status_) {
    return;
  }
  status_ = done_(index, std::move(answer));
}

void RequestQueue::Fail(Error error) {
  const std::scoped_lock lock(mutex_);
  if (status_) {
    status_ = tl::unexpected(std::move(error));
  }
}

void RequestQueue::Answer(const WorkDealer::Work& work) {
  while (const std::optional<std::size_t> index = Take()) {
    Finish(*index, work.answer(requests_[*index]));
  }
}

std::size_t RequestQueue::num_left() const {
  const std::scoped_lock lock(mutex_);
  return IsEmpty() ? 0 : requests_.size() - next_;
}

bool RequestQueue::is_finished() const {
  const std::scoped_lock lock(mutex_);
  return IsEmpty() && finished_ == next_;
}

Status RequestQueue::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

}  // namespace orrery
