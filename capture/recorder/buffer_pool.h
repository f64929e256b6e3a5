#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "capture/recorder/numbering.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"

namespace orrery::capture {

/// The file of a recording. Several threads hand it sealed chunks; it is locked only while one is
/// written. When the limit is reached, or the disk refuses, recording stops, and what comes later
/// is counted: the target never notices.
class ChunkSink {
 public:
  /// Claims `path`, or a name beside it where another process has that one: "run.orrs", then
  /// "run.PID.orrs".
  bool Open(const std::string& path, std::uint64_t limit_bytes);

  /// Writes one sealed chunk of `num_records`, also beyond the limit: what was collected until then
  /// is whole.
  void Write(std::string_view chunk, std::uint64_t num_records);

  /// Returns true if new records are still wanted; otherwise counts them as dropped.
  [[nodiscard]] bool Wants(std::uint64_t num_records = 1) noexcept {
    if (is_open_.load(std::memory_order_acquire)) [[likely]] {
      return true;
    }
    num_dropped_.fetch_add(num_records, std::memory_order_relaxed);
    return false;
  }

  /// No record is wanted from now on.
  void Stop() noexcept { is_open_.store(false, std::memory_order_release); }

  void Close();

  /// The child of a fork leaves the file to its parent.
  void Abandon() noexcept;

  [[nodiscard]] std::uint64_t num_dropped() const noexcept { return num_dropped_; }

  [[nodiscard]] std::uint64_t num_bytes() const noexcept { return num_bytes_; }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Why recording stopped; empty: it did not.
  [[nodiscard]] std::string why_stopped();

 private:
  void StopBecause(std::string reason);

  std::mutex mutex_;  // guards file_ and why_stopped_
  stream::StreamFile file_;
  std::string path_;
  std::string why_stopped_;
  std::uint64_t limit_bytes_ = 0;
  bool is_abandoned_ = false;
  std::atomic<bool> is_open_{false};
  std::atomic<std::uint64_t> num_bytes_{0};
  std::atomic<std::uint64_t> num_dropped_{0};
};

/// Events that the target's threads only put aside; numbers of objects and encoding are left to the
/// thread that writes.
using DeferredEvent =
    std::variant<stream::Allocation, stream::Free, stream::OperatorBegin, stream::OperatorEnd,
                 stream::RegionBegin, stream::RegionEnd, stream::Step, stream::OutOfMemory>;

/// Room for events, used again and again. The first touch of memory is what costs a recording most
/// on some machines, so blocks are made ready by the thread that writes. An event is a word that
/// says which of DeferredEvent it is, and its fields: operators come most often and are small.
struct DeferredBlock {
  static constexpr std::size_t kWords = 8 << 10;

  std::atomic<std::size_t> num_put{0};  // words
  std::atomic<DeferredBlock*> next{nullptr};
  std::array<std::uint64_t, kWords> words{};
};

/// Empty blocks for all threads; locked once a block.
class BlockPool {
 public:
  [[nodiscard]] std::unique_ptr<DeferredBlock> Get();
  void Return(std::unique_ptr<DeferredBlock> block);

  /// Makes blocks until there are enough for twice what was returned since the last time.
  void MakeReady();

 private:
  static constexpr std::size_t kAlwaysReady = 64;  // 4 MB

  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<DeferredBlock>> empty_;
  std::size_t num_returned_ = 0;
};

/// Events from one thread to another; neither side waits.
class DeferredEvents {
 public:
  explicit DeferredEvents(BlockPool& pool) : pool_(pool) {}

  ~DeferredEvents();
  DeferredEvents(const DeferredEvents&) = delete;
  DeferredEvents& operator=(const DeferredEvents&) = delete;

  /// By one thread at a time. Returns how many words wait when a block begins, 0 otherwise.
  template <typename Event>
  std::size_t Put(const Event& event) {
    static_assert(std::is_trivially_copyable_v<Event> &&
                  sizeof(Event) % sizeof(std::uint64_t) == 0);
    constexpr std::size_t kWords = 1 + sizeof(Event) / sizeof(std::uint64_t);
    std::size_t num_waiting = 0;
    if (last_ == nullptr || num_in_last_ + kWords > DeferredBlock::kWords) [[unlikely]] {
      num_waiting = BeginBlock();
    }
    std::uint64_t* const place = last_->words.data() + num_in_last_;
    *place = DeferredEvent(std::in_place_type<Event>).index();
    std::memcpy(place + 1, &event, sizeof(Event));
    num_in_last_ += kWords;
    last_->num_put.store(num_in_last_, std::memory_order_release);
    return num_waiting;
  }

  /// Moves what is there to the end of `events`; by one thread at a time, which may be another.
  void Take(std::vector<DeferredEvent>& events);

 private:
  std::size_t BeginBlock();

  BlockPool& pool_;
  // Of the thread that puts.
  DeferredBlock* last_ = nullptr;
  std::size_t num_in_last_ = 0;
  std::size_t num_begun_ = 0;
  // Of the thread that takes.
  DeferredBlock* taking_ = nullptr;
  std::size_t num_taken_of_block_ = 0;  // words
  // Of both.
  std::atomic<DeferredBlock*> first_{nullptr};
  std::atomic<std::size_t> num_used_up_{0};
};

/// The records of one thread that are not yet written, a chunk for each type of record. Only its
/// thread appends; the lock is there for the thread that writes everything out, which holds it as
/// long as it takes to swap a chunk.
class ThreadBuffers {
 public:
  /// Buffers number 0 are shared by threads that end.
  ThreadBuffers(std::uint32_t number, std::size_t chunk_bytes, ChunkSink& sink, BlockPool& blocks)
      : number_(number),
        is_shared_(number == 0),
        chunk_bytes_(chunk_bytes),
        sink_(sink),
        deferred_(blocks) {}

  /// Appends a record, and writes its chunk out first when that is full.
  template <typename Record>
  void Append(const Record& record) {
    Chunk full;
    {
      const std::lock_guard lock(mutex_);
      Chunk& chunk = ChunkOf(Record::kChunk);
      if (chunk->Append(record)) {
        return;
      }
      full = std::move(chunk);
      AppendToNew(record);
    }
    if (!full->empty()) {
      WriteOut(*full);
    }
  }

  /// Puts an event aside; returns how many words wait, told once a block and 0 otherwise. Takes no
  /// lock, unless several threads share these buffers.
  template <typename Event>
  std::size_t Defer(const Event& event) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (is_shared_) [[unlikely]] {
      lock.lock();
    }
    return deferred_.Put(event);
  }

  /// Texts that this thread asked for before; none where several threads share these buffers.
  [[nodiscard]] KnownTexts* known_texts() noexcept { return is_shared_ ? nullptr : &known_texts_; }

  /// Moves what was put aside to the end of `events`; one thread at a time.
  void TakeDeferred(std::vector<DeferredEvent>& events) { deferred_.Take(events); }

  /// Writes out what is there.
  void Flush() {
    for (std::size_t type = 0; type < kNumTypes; ++type) {
      Chunk chunk;
      {
        const std::lock_guard lock(mutex_);
        chunk = std::move(chunks_[type]);
      }
      if (chunk != nullptr && !chunk->empty()) {
        WriteOut(*chunk);
      }
    }
  }

  /// Records that not even an empty chunk can hold.
  [[nodiscard]] std::uint64_t num_too_large() {
    const std::lock_guard lock(mutex_);
    return num_too_large_;
  }

 private:
  using Chunk = std::unique_ptr<stream::ChunkBuilder>;
  static constexpr std::size_t kLargestChunk = 16 << 20;
  static constexpr std::size_t kNumTypes =
      static_cast<std::size_t>(stream::ChunkType::kCalibration) + 1;

  // A record that is larger than chunks usually are gets one of its own.
  template <typename Record>
  void AppendToNew(const Record& record) {
    if (ChunkOf(Record::kChunk)->Append(record)) {
      return;
    }
    Chunk& chunk = chunks_[static_cast<std::size_t>(Record::kChunk)];
    chunk = std::make_unique<stream::ChunkBuilder>(Record::kChunk, number_, kLargestChunk);
    num_too_large_ += chunk->Append(record) ? 0 : 1;
  }

  Chunk& ChunkOf(stream::ChunkType type) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(type)];
    if (chunk == nullptr) {
      chunk = std::make_unique<stream::ChunkBuilder>(type, number_, chunk_bytes_);
    }
    return chunk;
  }

  void WriteOut(stream::ChunkBuilder& chunk) { sink_.Write(chunk.Seal(), chunk.num_records()); }

  std::uint32_t number_;
  bool is_shared_;
  std::size_t chunk_bytes_;
  ChunkSink& sink_;
  std::mutex mutex_;
  std::array<Chunk, kNumTypes> chunks_;
  DeferredEvents deferred_;
  std::uint64_t num_too_large_ = 0;
  KnownTexts known_texts_;
};

/// The data that a thread looks up for every event. Without a destructor, so that it can be read
/// while the thread ends.
struct ThreadCache {
  std::uint64_t pool = 0;
  ThreadBuffers* buffers = nullptr;
  std::uint64_t thread = 0;
  bool is_ending = false;
};

extern constinit thread_local ThreadCache thread_cache;

[[nodiscard]] std::uint64_t FindThreadNumber() noexcept;

/// The kernel's number of the calling thread.
[[nodiscard]] inline std::uint64_t ThreadNumber() noexcept {
  return thread_cache.thread != 0 ? thread_cache.thread : FindThreadNumber();
}

/// The same for the low half of a thread's pthread_self(); that half itself for a thread that never
/// asked for its own.
[[nodiscard]] std::uint64_t ThreadNumberOf(std::uint32_t handle);

/// Gives each thread its buffers. Those of a thread that ended go to the next one that begins.
class BufferPool {
 public:
  BufferPool(std::size_t chunk_bytes, ChunkSink& sink);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  [[nodiscard]] ThreadBuffers& Mine() {
    return thread_cache.pool == id_ ? *thread_cache.buffers : TakeMine();
  }

  void FlushAll();

  /// Takes the events that all threads deferred, in the order of threads.
  void TakeDeferred(std::vector<DeferredEvent>& events);

  /// Makes room for what threads will put aside.
  void MakeReady() { blocks_->MakeReady(); }

  /// Records that were too large for any chunk.
  [[nodiscard]] std::uint64_t num_too_large();

  /// Buffers and whether a thread has them.
  struct Slot {
    Slot(std::uint32_t number, std::size_t chunk_bytes, ChunkSink& sink,
         std::shared_ptr<BlockPool> pool)
        : blocks(std::move(pool)), buffers(number, chunk_bytes, sink, *blocks) {}

    std::shared_ptr<BlockPool> blocks;  // a thread that ends later than the pool still has it

    ThreadBuffers buffers;
    std::atomic<bool> is_taken{true};
  };

 private:
  [[nodiscard]] ThreadBuffers& TakeMine();
  [[nodiscard]] std::shared_ptr<Slot> Take();
  [[nodiscard]] std::vector<std::shared_ptr<Slot>> Slots();

  std::uint64_t id_;
  std::size_t chunk_bytes_;
  ChunkSink& sink_;
  std::shared_ptr<BlockPool> blocks_ = std::make_shared<BlockPool>();
  std::mutex mutex_;  // guards slots_
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace orrery::capture
