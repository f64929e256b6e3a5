#include "capture/cupti/session.h"

#include <chrono>
#include <cstring>

#include <pthread.h>

#include "orrery/stream/codes.h"

namespace orrery::capture {

std::uint8_t* BufferQueue::Request(std::size_t& bytes) {
  const std::lock_guard lock(mutex_);
  bytes = 0;
  if (empty_.empty()) {
    if (all_.size() >= max_buffers_) {
      return nullptr;
    }
    all_.push_back(std::make_unique<Word[]>(buffer_bytes_ / sizeof(Word)));
    empty_.push_back(all_.back()[0].bytes);
  }
  std::uint8_t* const buffer = empty_.back();
  empty_.pop_back();
  bytes = buffer_bytes_;
  return buffer;
}

void BufferQueue::MakeReady(std::size_t num_buffers) {
  std::unique_lock lock(mutex_);
  while (empty_.size() < num_buffers && all_.size() < max_buffers_) {
    lock.unlock();
    auto buffer = std::make_unique<Word[]>(buffer_bytes_ / sizeof(Word));
    lock.lock();
    all_.push_back(std::move(buffer));
    empty_.push_back(all_.back()[0].bytes);
  }
}

void BufferQueue::Complete(std::uint8_t* buffer, std::size_t valid_bytes,
                           std::uint64_t num_dropped) {
  num_dropped_ += num_dropped;
  if (buffer == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (valid_bytes == 0) {
    empty_.push_back(buffer);
    return;
  }
  full_.push_back({.buffer = buffer, .valid_bytes = valid_bytes});
  is_filled_.notify_one();
}

std::optional<BufferQueue::Full> BufferQueue::Next(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  is_filled_.wait_for(lock, longest, [this] { return is_stopped_ || !full_.empty(); });
  if (full_.empty()) {
    return std::nullopt;
  }
  const Full full = full_.front();
  full_.pop_front();
  return full;
}

void BufferQueue::Return(const Full& full) {
  std::memset(full.buffer, 0, buffer_bytes_);
  const std::lock_guard lock(mutex_);
  empty_.push_back(full.buffer);
}

void BufferQueue::Stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  is_filled_.notify_all();
}

bool BufferQueue::is_stopped() {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

namespace codes = stream::codes;

namespace {

constexpr std::size_t kReadyBuffers = 16;
// Of orrery_collect.
constexpr std::uint64_t kWorkPart = 1;
constexpr std::uint64_t kCallsPart = 2;

}  // namespace

CoarseSession::CoarseSession(Recorder& recorder, ActivitySource& source,
                             const CollectionOptions& options)
    : recorder_(recorder),
      source_(source),
      options_(options),
      writer_(recorder, options.all_calls) {}

CoarseSession::~CoarseSession() {
  Finish();
}

std::string CoarseSession::Start() {
  recorder_.SetFacts({.toolkit = source_.version()});
  recorder_.Setting("capture", "coarse");
  queue_.MakeReady(kReadyBuffers);
  if (std::string why = source_.Start(options_, queue_); !why.empty()) {
    recorder_.Count(codes::kContextsNotCovered, "CUPTI did not start: " + why);
    return why;
  }
  recorder_.SetListener(this);
  NoteClocks();
  thread_ = std::thread([this] { WriteUntilStopped(); });
  pthread_setname_np(thread_.native_handle(), "orrery-capture");
  recorder_.SetDeferring(true);
  return {};
}

void CoarseSession::Finish() {
  if (!thread_.joinable()) {
    return;
  }
  recorder_.SetListener(nullptr);
  recorder_.SetDeferring(false);
  source_.Flush(true);
  queue_.Stop();
  thread_.join();
  WriteAllFull();
  {
    const std::lock_guard lock(writing_);
    writer_.Finish();
  }
  NoteClocks();
  if (queue_.num_dropped() > 0) {
    recorder_.Count(codes::kRecordsDropped, "CUPTI", queue_.num_dropped());
  }
}

void CoarseSession::OnCollect(std::uint64_t parts) {
  source_.Select((parts & kWorkPart) != 0, (parts & kCallsPart) != 0);
}

void CoarseSession::OnFlush() {
  source_.Flush(false);
  WriteAllFull();
}

// Wakes once a period also when nothing comes, so that a process that is killed leaves what it did
// until then.
void CoarseSession::WriteUntilStopped() {
  const std::chrono::milliseconds period(options_.flush_ms);
  auto last_flush = std::chrono::steady_clock::now();
  while (!queue_.is_stopped()) {
    if (const auto full = queue_.Next(period)) {
      WriteFull(*full);
    }
    if (std::chrono::steady_clock::now() - last_flush >= period && !queue_.is_stopped()) {
      source_.Flush(false);
      WriteAllFull();
      queue_.MakeReady(kReadyBuffers);
      recorder_.WriteOut();
      last_flush = std::chrono::steady_clock::now();
    }
  }
}

void CoarseSession::WriteFull(const BufferQueue::Full& full) {
  const std::lock_guard lock(writing_);
  const std::int64_t begin_ns = recorder_.now_ns();
  if (!source_.Decode(full.buffer, full.valid_bytes, writer_)) {
    recorder_.Count(codes::kRecordsDropped, "CUPTI: unreadable buffer");
  }
  queue_.Return(full);
  writer_.EndBatch();
  recorder_.AddOverhead(codes::kTransfer, recorder_.now_ns() - begin_ns, full.valid_bytes);
}

void CoarseSession::WriteAllFull() {
  while (const auto full = queue_.Next(std::chrono::milliseconds(0))) {
    WriteFull(*full);
  }
}

void CoarseSession::NoteClocks() {
  recorder_.Write(stream::ClockPair{.host_ns = recorder_.now_ns(), .device_ns = source_.now_ns()});
}

}  // namespace orrery::capture
