#include "capture/recorder/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace orrery::capture {

constinit thread_local ThreadCache thread_cache;

namespace {

constexpr std::string_view kExtension = ".orrs";

bool Claim(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  return descriptor >= 0;
}

std::string NameOfProcess(const std::string& path) {
  const bool has_extension = path.size() > kExtension.size() && path.ends_with(kExtension);
  const std::string stem = has_extension ? path.substr(0, path.size() - kExtension.size()) : path;
  return stem + "." + std::to_string(::getpid()) + std::string(kExtension);
}

// The buffers of this thread; given back when it ends.
struct Lease {
  std::shared_ptr<BufferPool::Slot> slot;
  ~Lease();
};

thread_local Lease lease;

void Release(std::shared_ptr<BufferPool::Slot>& slot) {
  if (slot != nullptr) {
    slot->is_taken = false;
    slot.reset();
  }
}

Lease::~Lease() {
  thread_cache.pool = 0;
  thread_cache.is_ending = true;
  Release(slot);
}

/// Never taken down: threads may begin and end until the process does.
struct ThreadNumbers {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::uint64_t> of_handle;
};

ThreadNumbers& NumbersOfThreads() {
  static auto* const numbers = new ThreadNumbers;
  return *numbers;
}

std::uint64_t NextPool() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Moves one event to the end of `events`; returns where the next one is.
template <std::size_t kind = 0>
const std::uint64_t* TakeOne(const std::uint64_t* place, std::vector<DeferredEvent>& events) {
  if constexpr (kind + 1 < std::variant_size_v<DeferredEvent>) {
    if (*place != kind) {
      return TakeOne<kind + 1>(place, events);
    }
  }
  using Event = std::variant_alternative_t<kind, DeferredEvent>;
  std::array<std::uint64_t, sizeof(Event) / sizeof(std::uint64_t)> words;
  std::copy_n(place + 1, words.size(), words.begin());
  events.emplace_back(std::bit_cast<Event>(words));
  return place + 1 + words.size();
}

}  // namespace

bool ChunkSink::Open(const std::string& path, std::uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = limit_bytes;
  path_ = path;
  if (!Claim(path) && errno == EEXIST) {
    path_ = NameOfProcess(path);
  }
  if (!file_.Create(path_.c_str())) {
    StopBecause(std::strerror(file_.error()));
    return false;
  }
  num_bytes_ = stream::kFileHeaderBytes;
  is_open_ = true;
  return true;
}

void ChunkSink::Write(std::string_view chunk, std::uint64_t num_records) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) {
    return;
  }
  if (!file_.Write(chunk)) {
    const int error = file_.error();
    file_.CutTo(num_bytes_);  // may make room for the sums, which say why
    num_dropped_ += num_records;
    StopBecause(std::strerror(error));
    return;
  }
  num_bytes_ += chunk.size();
  if (limit_bytes_ != 0 && num_bytes_ >= limit_bytes_) {
    StopBecause("limit on size");
  }
}

void ChunkSink::StopBecause(std::string reason) {
  Stop();
  if (why_stopped_.empty()) {
    why_stopped_ = std::move(reason);
  }
}

void ChunkSink::Close() {
  Stop();
  const std::lock_guard lock(mutex_);
  file_.Close();
}

// Other threads of the parent may have held the lock, which the child then never releases.
void ChunkSink::Abandon() noexcept {
  Stop();
  is_abandoned_ = true;
}

std::string ChunkSink::why_stopped() {
  const std::lock_guard lock(mutex_);
  return why_stopped_;
}

std::uint64_t FindThreadNumber() noexcept {
  thread_cache.thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  ThreadNumbers& numbers = NumbersOfThreads();
  const std::lock_guard lock(numbers.mutex);
  numbers.of_handle[static_cast<std::uint32_t>(::pthread_self())] = thread_cache.thread;
  return thread_cache.thread;
}

std::uint64_t ThreadNumberOf(std::uint32_t handle) {
  ThreadNumbers& numbers = NumbersOfThreads();
  const std::lock_guard lock(numbers.mutex);
  const auto found = numbers.of_handle.find(handle);
  return found == numbers.of_handle.end() ? handle : found->second;
}

std::unique_ptr<DeferredBlock> BlockPool::Get() {
  {
    const std::lock_guard lock(mutex_);
    if (!empty_.empty()) {
      auto block = std::move(empty_.back());
      empty_.pop_back();
      return block;
    }
  }
  return std::make_unique<DeferredBlock>();
}

void BlockPool::Return(std::unique_ptr<DeferredBlock> block) {
  block->next = nullptr;
  block->num_put = 0;
  const std::lock_guard lock(mutex_);
  empty_.push_back(std::move(block));
  ++num_returned_;
}

void BlockPool::MakeReady() {
  std::unique_lock lock(mutex_);
  const std::size_t wanted = std::max(kAlwaysReady, 2 * std::exchange(num_returned_, 0));
  while (empty_.size() < wanted) {
    lock.unlock();
    auto block = std::make_unique<DeferredBlock>();
    lock.lock();
    empty_.push_back(std::move(block));
  }
}

DeferredEvents::~DeferredEvents() {
  DeferredBlock* block = taking_ == nullptr ? first_.load() : taking_;
  while (block != nullptr) {
    delete std::exchange(block, block->next.load());
  }
}

// The new block is seen with nothing in it; the taker goes on to it when the last one is used up.
std::size_t DeferredEvents::BeginBlock() {
  DeferredBlock* const block = pool_.Get().release();
  (last_ == nullptr ? first_ : last_->next).store(block, std::memory_order_release);
  last_ = block;
  num_in_last_ = 0;
  ++num_begun_;
  return (num_begun_ - num_used_up_.load(std::memory_order_relaxed)) * DeferredBlock::kWords;
}

void DeferredEvents::Take(std::vector<DeferredEvent>& events) {
  if (taking_ == nullptr) {
    taking_ = first_.load(std::memory_order_acquire);
  }
  while (taking_ != nullptr) {
    // In this order: a block that another one follows gets no more events.
    DeferredBlock* const next = taking_->next.load(std::memory_order_acquire);
    const std::size_t num_put = taking_->num_put.load(std::memory_order_acquire);
    const std::uint64_t* place = taking_->words.data() + num_taken_of_block_;
    const std::uint64_t* const end = taking_->words.data() + num_put;
    while (place != end) {
      place = TakeOne(place, events);
    }
    num_taken_of_block_ = num_put;
    if (next == nullptr) {
      return;
    }
    pool_.Return(std::unique_ptr<DeferredBlock>(std::exchange(taking_, next)));
    num_taken_of_block_ = 0;
    num_used_up_.fetch_add(1, std::memory_order_relaxed);
  }
}

// The first slot has no owner: threads use it while they end.
BufferPool::BufferPool(std::size_t chunk_bytes, ChunkSink& sink)
    : id_(NextPool()), chunk_bytes_(chunk_bytes), sink_(sink) {
  slots_.push_back(std::make_shared<Slot>(0, chunk_bytes_, sink_, blocks_));
}

BufferPool::~BufferPool() {
  if (thread_cache.pool == id_) {
    thread_cache.pool = 0;
  }
}

ThreadBuffers& BufferPool::TakeMine() {
  if (thread_cache.is_ending) {
    return slots_.front()->buffers;
  }
  Release(lease.slot);
  lease.slot = Take();
  thread_cache.pool = id_;
  thread_cache.buffers = &lease.slot->buffers;
  return *thread_cache.buffers;
}

std::shared_ptr<BufferPool::Slot> BufferPool::Take() {
  const std::lock_guard lock(mutex_);
  for (const auto& slot : slots_) {
    if (slot != slots_.front() && !slot->is_taken.exchange(true)) {
      return slot;
    }
  }
  const auto number = static_cast<std::uint32_t>(slots_.size());
  return slots_.emplace_back(std::make_shared<Slot>(number, chunk_bytes_, sink_, blocks_));
}

std::vector<std::shared_ptr<BufferPool::Slot>> BufferPool::Slots() {
  const std::lock_guard lock(mutex_);
  return slots_;
}

void BufferPool::FlushAll() {
  for (const auto& slot : Slots()) {
    slot->buffers.Flush();
  }
}

void BufferPool::TakeDeferred(std::vector<DeferredEvent>& events) {
  for (const auto& slot : Slots()) {
    slot->buffers.TakeDeferred(events);
  }
}

std::uint64_t BufferPool::num_too_large() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& slot : slots_) {
    count += slot->buffers.num_too_large();
  }
  return count;
}

}  // namespace orrery::capture
