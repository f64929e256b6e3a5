#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "capture/recorder/chunk_sink.h"
#include "orrery/stream/format.h"
#include "orrery/stream/writer.h"

namespace orrery::capture {

/// What one thread has recorded and not yet written, a chunk for each type of record. Only its
/// thread appends; the lock is there for the thread that writes everything out, which holds it as
/// long as it takes to swap a chunk.
class ThreadBuffers {
 public:
  ThreadBuffers(std::uint32_t number, std::size_t chunk_bytes, ChunkSink& sink)
      : number_(number), chunk_bytes_(chunk_bytes), sink_(sink) {}

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
  std::size_t chunk_bytes_;
  ChunkSink& sink_;
  std::mutex mutex_;
  std::array<Chunk, kNumTypes> chunks_;
  std::uint64_t num_too_large_ = 0;
};

}  // namespace orrery::capture
