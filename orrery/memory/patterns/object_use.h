#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/memory/recorded_work.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::patterns {

inline constexpr std::int64_t kBeforeAll = -1;
inline constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();

/// One touch of an object. What is known by argument or descriptor may read and may write.
struct Access {
  std::size_t position = 0;  // of the work item in RecordedWork
  std::int64_t order = 0;
  RowId touch = kNoRow;
  bool may_read = false;
  bool may_write = false;
  bool is_counted = false;
};

/// The life of an object and its accesses in order.
struct Use {
  RowId object = kNoRow;
  std::int64_t birth = kBeforeAll;  // orders
  std::int64_t death = kAfterAll;
  std::vector<Access> accesses = {};

  [[nodiscard]] bool is_from_before() const { return birth == kBeforeAll; }

  [[nodiscard]] bool is_freed() const { return death != kAfterAll; }
};

/// How the objects of a recording are used: tensors, and allocations in which nothing lies.
/// Segments, static data and memory of the host are left out.
class ObjectUses {
 public:
  /// Keeps a reference to the work.
  explicit ObjectUses(const RecordedWork& work);

  [[nodiscard]] std::span<const Use> all() const { return uses_; }

  /// The use of an object; nullptr: not one of them.
  [[nodiscard]] const Use* Of(RowId object) const;

  [[nodiscard]] const RecordedWork& work() const { return *work_; }

  [[nodiscard]] const trace::Trace& trace() const { return work_->trace(); }

  [[nodiscard]] std::int64_t BytesOf(const Use& use) const;
  [[nodiscard]] std::int32_t DeviceOf(const Use& use) const;

  /// Launches from an order on up to another whose accesses were not all seen.
  [[nodiscard]] std::int64_t NumDim(std::int64_t begin, std::int64_t end) const;

  // Times for byte-seconds.
  [[nodiscard]] std::int64_t BirthNs(const Use& use) const;
  [[nodiscard]] std::int64_t DeathNs(const Use& use) const;  // or the end of the recording
  [[nodiscard]] std::int64_t BeginNs(const Access& access) const;
  [[nodiscard]] std::int64_t EndNs(const Access& access) const;

 private:
  void ChooseObjects();
  void AddAccesses();
  [[nodiscard]] RowId ActivityOf(const Access& access) const;

  const RecordedWork* work_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> use_of_object_;
  std::vector<std::int64_t> dim_orders_;  // of launches that were not fully seen, ascending
  std::int64_t end_ns_ = 0;
};

}  // namespace orrery::memory::patterns
