#pragma once

#include <cstdint>

// The data that the host prepares for a launch and that the patches read and write: plain
// structures in device memory, the same for nvcc and for the host compiler. Nothing here depends on
// a vendor's header.
//
// One LaunchRecord belongs to each instrumented launch. The host writes it, the ranges and zeros
// into the counters on the launch's own stream before the kernel, and reads counters and pages back
// when the stream is known to have passed.

namespace orrery::capture {

/// Memory of one object, or of a part of it that no inner object covers: [begin, end).
struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

/// A range that the launch was probably given, by its parameters: tried before the search. Begin
/// and end are those of ranges[slot - 1].
struct Hint {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t slot;
  std::uint32_t unused;
};

/// The counters of one slot in one shard. Slot 0 is for addresses that no range holds, slot i + 1
/// for ranges[i].
struct SlotCounters {
  std::uint64_t read_bytes;
  std::uint64_t write_bytes;
  std::uint64_t atomic_bytes;
  std::uint64_t sectors;          // 32 bytes, distinct within the access of a warp
  std::uint64_t lanes_and_warps;  // lanes in the low kLaneBits, accesses of warps above
};

inline constexpr std::uint32_t kUnknownSlot = 0;
inline constexpr std::uint32_t kLaneBits = 36;
inline constexpr std::uint64_t kOneWarp = std::uint64_t{1} << kLaneBits;
inline constexpr std::uint32_t kMaxHints = 16;
inline constexpr std::uint32_t kMaxUnknownSamples = 4;
inline constexpr std::uint32_t kNoPages = 0xffffffffU;

/// The work of the patches for a launch; bits of LaunchRecord::modes.
enum LaunchMode : std::uint32_t {
  kCountMode = 1,   // counters of slots
  kPageMode = 2,    // bits of touched pages
  kStreamMode = 4,  // a record of every access of a warp goes into the ring
  kPlaceMode = 8,   // with the block and the warp that made it
};

/// The kind of an access; the first four are the values that patches receive. An atomic access
/// reads and writes.
enum AccessFlag : std::uint32_t {
  kReadFlag = 1,
  kWriteFlag = 2,
  kSystemAtomicFlag = 4,
  kPrefetchFlag = 8,  // no access
  kBulkFlag = 16,     // only in cells: one copy of whole 16-byte blocks
  kPlaceFlag = 32,    // only in cells: a PlaceCell follows
};

struct AccessRing;

/// Everything the patches need, behind the pointer that they are called with. Pointers are device
/// addresses.
struct LaunchRecord {
  const Range* ranges;       // sorted, disjoint
  SlotCounters* counters;    // [num_shards][num_ranges + 1]
  std::uint32_t* page_bits;  // one bit a page, those of a range from first_page_bit[i] on
  const std::uint32_t* first_page_bit;  // of ranges[i]: bit of the page that holds its begin
  AccessRing* ring;
  std::uint64_t launch;                               // its number in the stream of events
  std::uint64_t unknown_samples[kMaxUnknownSamples];  // addresses; 0: none
  std::uint32_t num_unknown_samples;
  std::uint32_t num_ranges;
  std::uint32_t num_shards;  // a power of two
  std::uint32_t page_shift;
  std::uint32_t modes;
  std::uint32_t num_hints;
  std::uint32_t first_block;  // only blocks b (counted linearly) with b % block_period ==
                              // first_block are seen
  std::uint32_t block_period;
  Hint hints[kMaxHints];
};

/// One cell of the ring. An access whose lanes follow a rule takes one; another takes kLaneCells
/// more, with the addresses of the active lanes, each at its lane's place. Where the launch wants
/// to know who made the access, a PlaceCell comes last. A bulk copy (kBulkFlag) has lane 0 active
/// and the number of its blocks in `stride`. Only the low 16 bits of the pc are kept: functions are
/// shorter than 1 MiB, so it is complete with where the function begins.
struct AccessCell {
  std::uint64_t turn;     // number of the cell's use, from 1; written last
  std::uint64_t address;  // of lane 0, as if it were active
  std::uint32_t active;   // lanes
  std::int32_t stride;    // of lanes, or kGeneralStride
  std::uint32_t packed;  // access size in bits 0-7, flags in bits 8-15, pc (in 16-byte units) above
  std::uint32_t launch;  // low half of the launch's number
};

inline constexpr std::int32_t kGeneralStride = INT32_MIN;
inline constexpr std::uint32_t kLaneCells = 8;

/// The warp that made an access, by indices of threads and blocks. A cell for itself: the analysis
/// on the host does without, and is as fast as the ring.
struct PlaceCell {
  std::uint64_t unused;  // an AccessCell's turn is here
  std::uint64_t block;   // in the grid, x fastest
  std::uint64_t warp;    // in the block: its threads, x fastest, by 32
  std::uint64_t unused_too;
};

static_assert(sizeof(PlaceCell) == sizeof(AccessCell));

/// The ring's cells are in pinned host memory, its head in device memory. Where the host does not
/// keep up, the device waits for `tail` a bounded time, then drops and counts. A warp looks for
/// room before it takes cells, so what is taken is always written; the margin is for warps that
/// have looked at the same time.
struct AccessRing {
  AccessCell* cells;             // pinned host memory
  volatile std::uint64_t* tail;  // pinned host memory: cells the host has finished with
  std::uint64_t head;            // cells taken so far
  std::uint64_t dropped;         // accesses of warps
  std::uint64_t num_cells;       // a power of two
  std::uint64_t max_spins;
  std::uint64_t seen_tail;  // last value of *tail on the device, to read it seldom; zero at first
  std::uint64_t margin;     // kRingMargin, less only where few warps run
};

/// Cells for 13,000 warps at once, more than a device runs; the ring should have a multiple of it.
inline constexpr std::uint64_t kRingMargin = 1U << 17U;

}  // namespace orrery::capture
