#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "capture/cupti/activity.h"

namespace orrery::capture {

/// What is to be collected beyond kernels, copies, sets, memory and waits.
struct CollectionOptions {
  bool all_calls = false;     // every call of the runtime and driver becomes a record
  bool whole_graphs = false;  // a graph is one piece of work, cheaper than its nodes
  bool managed = false;       // counters of managed memory
  std::uint32_t flush_ms = 1000;
};

/// Hands buffers out and takes them back; called by the source on any thread, and never waits.
class BufferOwner {
 public:
  virtual ~BufferOwner() = default;

  /// An empty buffer; null when there are too many, and then the source drops records.
  virtual std::uint8_t* Request(std::size_t& bytes) = 0;
  virtual void Complete(std::uint8_t* buffer, std::size_t valid_bytes,
                        std::uint64_t num_dropped) = 0;
};

/// The calls that recording makes: CUPTI, or a mock.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;

  /// Begins to collect; returns why not, or nothing.
  virtual std::string Start(const CollectionOptions& options, BufferOwner& owner) = 0;

  /// Brings home complete buffers, or all of them.
  virtual void Flush(bool is_last) = 0;

  /// Shows the records of a completed buffer; false: some of it could not be read.
  virtual bool Decode(std::uint8_t* buffer, std::size_t valid_bytes,
                      ActivityReceiver& receiver) = 0;

  /// The source's clock, for comparing with the recorder's.
  virtual std::int64_t now_ns() = 0;

  /// "CUPTI 13.0.1".
  virtual std::string version() = 0;
};

}  // namespace orrery::capture
