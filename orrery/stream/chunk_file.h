#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

#include "orrery/base/error.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"

namespace orrery::stream {

/// Numbers of events from `begin` up to, not including, `end`; kNoEnd: all from `begin`.
struct OrderRange {
  static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t begin = 0;
  std::uint64_t end = kNoEnd;

  [[nodiscard]] bool Holds(std::uint64_t order) const {
    return begin <= order && (order < end || end == kNoEnd);
  }

  bool operator==(const OrderRange&) const = default;
};

/// Records that belong to the number of an event; others (names, devices, tensor maps, costs)
/// define something for the whole stream.
template <typename Record>
concept Ordered = requires(const Record& record) { record.sequence; }

                  || requires(const Record& record) { record.launch; }

                  || std::same_as<Record, Object>;

/// The number of the event that a record belongs to: what is said of a launch belongs to that
/// launch, whenever it became known.
template <Ordered Record>
[[nodiscard]] std::uint64_t OrderOf(const Record& record) {
  if constexpr (requires { record.launch; }) {
    return record.launch;
  } else if constexpr (std::same_as<Record, DeviceTime>) {
    return record.work;
  } else if constexpr (std::same_as<Record, Object>) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(record.birth, 0));
  } else {
    return record.sequence;
  }
}

/// The location of an intact chunk, and the events that its records belong to.
struct ChunkPlace {
  ChunkHeader header;
  std::uint64_t offset = 0;  // of the header in the file
  bool is_ordered = false;   // some record belongs to an event
  std::uint64_t first = 0;   // the smallest and the largest number of such an event
  std::uint64_t last = 0;

  void Include(std::uint64_t order);

  bool operator==(const ChunkPlace&) const = default;
};

/// Finds the events that a chunk's records belong to. Touches and accesses, which make up most of
/// large streams, are not decoded beyond their first field.
[[nodiscard]] ChunkPlace PlaceOf(const Chunk& chunk);

/// A stream on disk whose chunks are read again, in any order.
class ChunkFile {
 public:
  static Result<ChunkFile> Open(const std::string& path);

  ChunkFile(ChunkFile&& other) noexcept;
  ChunkFile& operator=(ChunkFile&& other) noexcept;
  ~ChunkFile();

  /// Reads and unpacks a chunk that was found intact before; it stays valid until the next is read.
  /// Fails if the file is no longer what it was.
  [[nodiscard]] Result<Chunk> Read(const ChunkPlace& place);

 private:
  explicit ChunkFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  std::string stored_;
  std::string unpacked_;
};

}  // namespace orrery::stream
