#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "capture/sanitizer/device/layout.h"

namespace orrery::capture::sanitizer {

/// The memory that is alive at one moment, as the patches want it: sorted and disjoint, each byte
/// with the innermost object that holds it (a tensor before its segment, a segment before the
/// driver's allocation).
struct ObjectSnapshot {
  std::uint64_t epoch = 0;
  std::uint32_t page_shift = 0;
  std::vector<Range> ranges;
  std::vector<std::uint64_t> objects;         // of ranges[i]; an object may have several ranges
  std::vector<std::uint32_t> first_page_bit;  // of ranges[i]
  std::uint64_t num_page_bits = 0;

  [[nodiscard]] std::uint32_t num_ranges() const {
    return static_cast<std::uint32_t>(ranges.size());
  }

  /// Index of the range that holds `address`, or -1.
  [[nodiscard]] std::int64_t Find(std::uint64_t address) const;
};

/// Follows what is allocated and freed, at all levels. Any thread may call.
class ObjectTable {
 public:
  explicit ObjectTable(std::uint32_t page_shift) : page_shift_(page_shift) {}

  /// Replaces objects that the level still holds there: their free was not seen.
  void Add(std::uint32_t level, std::uint64_t object, std::uint64_t address, std::uint64_t bytes);

  /// False if the level has nothing that begins at `address`.
  bool Remove(std::uint32_t level, std::uint64_t address);

  /// The memory of now. Cheap when nothing changed since the last call; else it costs one pass over
  /// all objects.
  [[nodiscard]] std::shared_ptr<const ObjectSnapshot> Snapshot();

 private:
  static constexpr std::size_t kNumLevels = 3;

  struct Piece {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t object;
  };

  using Level = std::vector<Piece>;

  static void Cover(const Level& inner, Level& flat);
  [[nodiscard]] std::shared_ptr<const ObjectSnapshot> Flatten() const;

  std::uint32_t page_shift_;
  std::mutex mutex_;  // guards all below
  std::uint64_t epoch_ = 0;
  std::array<Level, kNumLevels> levels_;  // each sorted and disjoint
  std::shared_ptr<const ObjectSnapshot> latest_;
};

}  // namespace orrery::capture::sanitizer
