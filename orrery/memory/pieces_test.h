#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Makes the piece of a trace that holds the events of orders from `begin` to before `end`, as
/// readers of large recordings do: with rows and strings of its own.
class TestPiece {
 public:
  TestPiece(const trace::Trace& whole, std::int64_t begin, std::int64_t end)
      : whole_(whole), begin_(begin), end_(end) {
    piece_.info = whole.info;
    piece_.strings.Intern("piece up to " + std::to_string(end));  // ids differ from the whole
    AddObjects();
    AddWork();
    AddOwnRows(whole_.touches, piece_.touches);
    AddOwnRows(whole_.page_runs, piece_.page_runs);
    piece_.access_lanes = whole_.access_lanes;
    AddOwnRows(whole_.accesses, piece_.accesses);
    if (end == std::numeric_limits<std::int64_t>::max()) {
      AddWhatComesOnce();
    }
  }

  [[nodiscard]] const trace::Trace& trace() const { return piece_; }

 private:
  [[nodiscard]] bool IsInside(std::int64_t order) const { return order >= begin_ && order < end_; }

  // Includes objects that die at the first order, so that one piece has their death.
  [[nodiscard]] bool HasObject(RowId row) const {
    const std::int64_t birth = whole_.memory_objects.birth_order[row];
    const std::int64_t death = whole_.memory_objects.death_order[row];
    return IsInside(birth) || (birth < begin_ && (death < 0 || death >= begin_));
  }

  [[nodiscard]] StringId Own(StringId id) { return piece_.strings.Intern(whole_.Text(id)); }

  [[nodiscard]] static RowId At(const std::vector<RowId>& own, RowId row) {
    return row == kNoRow ? kNoRow : own[row];
  }

  RowId OwnOperator(RowId row) {
    return row == kNoRow ? kNoRow
                         : piece_.host_ops.Append({.name = Own(whole_.host_ops.name[row])});
  }

  void AddObjects() {
    own_object_.assign(whole_.memory_objects.size(), kNoRow);
    for (RowId row = 0; row < whole_.memory_objects.size(); ++row) {
      if (HasObject(row)) {
        trace::MemoryObjects::Row object = whole_.memory_objects.At(row);
        object.name = Own(object.name);
        object.death_order = object.death_order >= end_ ? -1 : object.death_order;
        object.host_op = IsInside(object.birth_order) ? OwnOperator(object.host_op) : kNoRow;
        own_object_[row] = piece_.memory_objects.Append(object);
      }
    }
    for (RowId row = 0; row < whole_.memory_objects.size(); ++row) {
      if (own_object_[row] != kNoRow) {
        RowId parent = whole_.memory_objects.parent[row];
        while (parent != kNoRow && own_object_[parent] == kNoRow) {
          parent = whole_.memory_objects.parent[parent];
        }
        piece_.memory_objects.parent[own_object_[row]] = At(own_object_, parent);
      }
    }
  }

  void AddWork() {
    std::vector<bool> is_inside(whole_.activities.size(), false);
    for (RowId row = 0; row < whole_.observations.size(); ++row) {
      const RowId activity = whole_.observations.activity[row];
      if (activity != kNoRow) {
        is_inside[activity] = IsInside(whole_.observations.order[row]);
      }
    }
    own_activity_.assign(whole_.activities.size(), kNoRow);
    for (RowId row = 0; row < whole_.activities.size(); ++row) {
      if (is_inside[row]) {
        trace::Activities::Row activity = whole_.activities.At(row);
        activity.name = Own(activity.name);
        activity.host_op = OwnOperator(activity.host_op);
        own_activity_[row] = piece_.activities.Append(activity);
      }
    }
    for (RowId row = 0; row < whole_.observations.size(); ++row) {
      trace::Observations::Row seen = whole_.observations.At(row);
      if (IsInside(seen.order)) {
        seen.activity = At(own_activity_, seen.activity);
        piece_.observations.Append(seen);
      }
    }
  }

  // Rows of activities that are inside.
  template <typename Table>
  void AddOwnRows(const Table& whole, Table& piece) const {
    for (RowId row = 0; row < whole.size(); ++row) {
      typename Table::Row own = whole.At(row);
      own.activity = At(own_activity_, own.activity);
      if constexpr (requires { own.object; }) {
        own.object = At(own_object_, own.object);
      }
      if (own.activity != kNoRow) {
        piece.Append(own);
      }
    }
  }

  void AddWhatComesOnce() {
    piece_.overheads = whole_.overheads;
    for (RowId row = 0; row < whole_.coverage_counts.size(); ++row) {
      trace::CoverageCounts::Row count = whole_.coverage_counts.At(row);
      count.name = Own(count.name);
      count.activity = kNoRow;
      piece_.coverage_counts.Append(count);
    }
  }

  const trace::Trace& whole_;
  std::int64_t begin_;
  std::int64_t end_;
  trace::Trace piece_;
  std::vector<RowId> own_object_;
  std::vector<RowId> own_activity_;
};

/// Calls `visit(piece)` for the pieces between the orders, in any order given, at which a trace
/// with observations is cut.
template <typename Visit>
void ForEachPiece(const trace::Trace& whole, std::vector<std::int64_t> cuts, Visit&& visit) {
  std::ranges::sort(cuts);
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();
  cuts.push_back(std::numeric_limits<std::int64_t>::max());
  for (const std::int64_t end : cuts) {
    const TestPiece piece(whole, begin, end);
    visit(piece.trace());
    begin = end;
  }
}

}  // namespace orrery::memory
