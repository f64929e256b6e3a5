#include "orrery/distribute/process_dealer.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/distribute/message_channel.h"

namespace orrery::distribute {
namespace {

constexpr int kRoot = 0;

// Between looks at the channel: short after the last message, longer when nothing happens, so that
// a waiting thread leaves its core to those that work.
class Pause {
 public:
  [[nodiscard]] std::chrono::microseconds Next() {
    return std::exchange(next_, std::min(2 * next_, kLongest));
  }

  void Reset() { next_ = kShortest; }

  void After(bool has_moved) {
    if (has_moved) {
      Reset();
    } else {
      std::this_thread::sleep_for(Next());
    }
  }

 private:
  static constexpr std::chrono::microseconds kShortest{10};
  static constexpr std::chrono::microseconds kLongest{1'000};

  std::chrono::microseconds next_ = kShortest;
};

std::string EncodeError(const Error& error) {
  return static_cast<char>(error.kind()) + error.message();
}

Error DecodeError(std::string_view payload) {
  return {static_cast<Error::Kind>(payload.front()), std::string(payload.substr(1))};
}

}  // namespace

/// A message of the protocol: to the root kHello, kReady, then kAnswer and kRefusal for each
/// kRequest; kFailed at any time, and kGone last. From the root kRequest, and kStop last.
struct ProcessDealer::Envelope {
  enum class Kind : std::uint8_t {
    kHello,    // number: threads; payload: name
    kReady,    // number: Work::inputs
    kRequest,  // number: index
    kAnswer,   // number: index
    kRefusal,  // number: index; payload: an error
    kFailed,   // payload: an error
    kStop,
    kGone,
  };

  Kind kind;
  std::uint64_t number = 0;
  std::string payload = {};

  [[nodiscard]] std::string Encode() const {
    std::string bytes(kHeader, '\0');
    bytes[0] = static_cast<char>(kind);
    std::memcpy(bytes.data() + 1, &number, sizeof(number));
    return bytes + payload;
  }

  [[nodiscard]] static Envelope Decode(std::string_view bytes) {
    ORRERY_CHECK(bytes.size() >= kHeader, "a message begins with its kind and a number");
    Envelope envelope{static_cast<Kind>(bytes.front())};
    std::memcpy(&envelope.number, bytes.data() + 1, sizeof(number));
    envelope.payload = bytes.substr(kHeader);
    return envelope;
  }

  static constexpr std::size_t kHeader = 1 + sizeof(std::uint64_t);
};

/// The threads of a process that is not the root: what they still have to answer, and what they
/// have answered.
class ProcessDealer::Answers {
 public:
  Answers(int threads, const Work& work) {
    for (int thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this, &work](const std::stop_token& stop) { AnswerAll(work, stop); });
    }
  }

  void Add(Envelope request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(std::move(request));
    has_request_.notify_one();
  }

  /// Waits for an answer, at most so long.
  [[nodiscard]] std::optional<Envelope> Take(std::chrono::microseconds at_most) {
    std::unique_lock lock(mutex_);
    has_answer_.wait_for(lock, at_most, [&] { return !answers_.empty(); });
    return TakeFirst(answers_);
  }

 private:
  void AnswerAll(const Work& work, const std::stop_token& stop) {
    while (const std::optional<Envelope> request = TakeRequest(stop)) {
      Result<std::string> answer = work.answer(request->payload);
      const std::scoped_lock lock(mutex_);
      answers_.push_back(
          answer
              ? Envelope{Envelope::Kind::kAnswer, request->number, *std::move(answer)}
              : Envelope{Envelope::Kind::kRefusal, request->number, EncodeError(answer.error())});
      has_answer_.notify_one();
    }
  }

  [[nodiscard]] std::optional<Envelope> TakeRequest(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    has_request_.wait(lock, stop, [&] { return !requests_.empty(); });
    return TakeFirst(requests_);
  }

  static std::optional<Envelope> TakeFirst(std::deque<Envelope>& envelopes) {
    if (envelopes.empty()) {
      return std::nullopt;
    }
    std::optional<Envelope> first = std::move(envelopes.front());
    envelopes.pop_front();
    return first;
  }

  std::mutex mutex_;
  std::condition_variable_any has_request_;
  std::condition_variable has_answer_;
  std::deque<Envelope> requests_;
  std::deque<Envelope> answers_;
  std::vector<std::jthread> threads_;  // the last member: it uses the others
};

ProcessDealer::ProcessDealer(MessageChannel& channel, int threads)
    : channel_(channel), threads_(threads) {
  if (!is_root()) {
    Send(kRoot, {Envelope::Kind::kHello, static_cast<std::uint64_t>(threads), channel.name()});
    return;
  }
  processes_.resize(static_cast<std::size_t>(channel.num_processes()));
  processes_[kRoot].threads = threads;
  const auto is_known = [](const Process& process) { return process.threads > 0; };
  Pause pause;
  while (!std::ranges::all_of(processes_, is_known)) {
    pause.After(Receive(nullptr));
  }
}

int ProcessDealer::num_workers() const {
  int workers = is_root() ? 0 : threads_;
  for (const Process& process : processes_) {
    workers += process.threads;
  }
  return workers;
}

Status ProcessDealer::Run(std::span<const std::string> requests, const Work& work,
                          const Done& done) {
  RequestQueue queue(requests, done);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < threads_; ++thread) {
    threads.emplace_back([&] { queue.Answer(work); });
  }
  Pause pause;
  while (!queue.is_finished()) {
    const bool has_received = Receive(&queue);
    if (failure_) {
      queue.Fail(*failure_);
    }
    const bool has_dealt = Deal(queue, work);
    pause.After(has_received || has_dealt);
  }
  return queue.status();
}

Status ProcessDealer::Serve(const Work& work) {
  Answers answers(threads_, work);
  Send(kRoot, {Envelope::Kind::kReady, work.inputs});
  Pause pause;
  while (!may_go_) {
    while (const std::optional<Message> message = channel_.Receive()) {
      Envelope envelope = Envelope::Decode(message->bytes);
      may_go_ = envelope.kind == Envelope::Kind::kStop;
      if (!may_go_) {
        answers.Add(std::move(envelope));
      }
      pause.Reset();
    }
    if (const std::optional<Envelope> answer = answers.Take(pause.Next())) {
      Send(kRoot, *answer);
      pause.Reset();
    }
  }
  return {};
}

void ProcessDealer::End(const Status& status) {
  if (is_root()) {
    LetOthersGo();
    return;
  }
  if (!status) {
    Send(kRoot, {Envelope::Kind::kFailed, 0, EncodeError(status.error())});
  }
  WaitToGo();
  Send(kRoot, {Envelope::Kind::kGone});
}

void ProcessDealer::Send(int to, const Envelope& envelope) {
  channel_.Send(to, envelope.Encode());
}

bool ProcessDealer::Receive(RequestQueue* queue) {
  bool has_received = false;
  while (const std::optional<Message> message = channel_.Receive()) {
    Take(processes_[static_cast<std::size_t>(message->from)], Envelope::Decode(message->bytes),
         queue);
    has_received = true;
  }
  return has_received;
}

void ProcessDealer::Take(Process& from, Envelope envelope, RequestQueue* queue) {
  using enum Envelope::Kind;
  switch (envelope.kind) {
    case kHello:
      from.name = std::move(envelope.payload);
      from.threads = static_cast<int>(envelope.number);
      return;
    case kReady:
      from.is_ready = true;
      from.inputs = envelope.number;
      return;
    case kAnswer:
    case kRefusal:
      ORRERY_CHECK(queue != nullptr, "a Run ends when all is answered");
      --from.dealt;
      if (envelope.kind == kAnswer) {
        queue->Finish(envelope.number, std::move(envelope.payload));
      } else {
        queue->Finish(envelope.number, tl::unexpected(DecodeError(envelope.payload)));
      }
      return;
    case kFailed:
      failure_ = DecodeError(envelope.payload).Within(from.name);
      return;
    case kGone:
      from.is_gone = true;
      return;
    case kRequest:
    case kStop:
      break;
  }
  ORRERY_CHECK(false, "the root sends such messages and gets none");
}

bool ProcessDealer::Deal(RequestQueue& queue, const Work& work) {
  bool has_dealt = false;
  // One that waits hides the way to the root and back; at the end another thread may be free.
  const int ahead = queue.num_left() > static_cast<std::size_t>(num_workers()) ? 1 : 0;
  for (std::size_t rank = 1; rank < processes_.size(); ++rank) {
    Process& process = processes_[rank];
    if (process.is_ready && process.inputs != work.inputs) {
      queue.Fail({Error::Kind::kInvalidInput,
                  process.name + " reads other files than process 0: give all the same"});
    }
    while (process.is_ready && process.dealt < process.threads + ahead) {
      const std::optional<std::size_t> index = queue.Take();
      if (!index) {
        return has_dealt;
      }
      Send(static_cast<int>(rank),
           {Envelope::Kind::kRequest, *index, std::string(queue.request(*index))});
      ++process.dealt;
      has_dealt = true;
    }
  }
  return has_dealt;
}

void ProcessDealer::LetOthersGo() {
  for (int rank = 1; rank < channel_.num_processes(); ++rank) {
    Send(rank, {Envelope::Kind::kStop});
  }
  processes_[kRoot].is_gone = true;
  Pause pause;
  while (!std::ranges::all_of(processes_, &Process::is_gone)) {
    pause.After(Receive(nullptr));
  }
}

void ProcessDealer::WaitToGo() {
  Pause pause;
  while (!may_go_) {
    const std::optional<Message> message = channel_.Receive();
    may_go_ = message && Envelope::Decode(message->bytes).kind == Envelope::Kind::kStop;
    pause.After(may_go_);
  }
}

int ThreadsOfProcess(int wanted, int num_local_processes) {
  const int possible = NumThreads(wanted);
  if (wanted > 0) {
    return possible;
  }
  // If the launcher has bound the process to cores of its own, `possible` is their number.
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::min(possible, std::max(1, cores / num_local_processes));
}

}  // namespace orrery::distribute
