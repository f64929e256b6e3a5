#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/memory/patterns/pattern_search.h"
#include "orrery/memory/patterns/patterns.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::memory::patterns {
namespace {

using trace::ActivityKind;

/// Returns whether an access writes every byte and reads none: a copy or set over the whole object,
/// or a kernel that writes so much and touches all its pages.
bool WritesAll(const ObjectUses& uses, const Use& use, const Access& access) {
  const trace::Touches& touches = uses.trace().touches;
  const std::int64_t bytes = uses.BytesOf(use);
  if (!access.is_counted || access.may_read || touches.write_bytes[access.touch] < bytes) {
    return false;
  }
  const ActivityKind kind = uses.trace().activities.kind[touches.activity[access.touch]];
  return kind == ActivityKind::kMemcpy || kind == ActivityKind::kMemset ||
         BytesOf(Joined(PagesOf(uses, use, access))) == bytes;
}

void FindDeadWrites(PatternSearch& search, const Use& use) {
  const ObjectUses& uses = search.uses();
  const Access* unread = nullptr;  // the last full write without a read
  std::int64_t num_dead = 0;
  for (const Access& access : use.accesses) {
    const bool is_full = WritesAll(uses, use, access);
    num_dead += is_full && unread != nullptr && unread->position != access.position ? 1 : 0;
    if (is_full) {
      unread = &access;
    } else if (access.may_read) {
      unread = nullptr;
    }
  }
  if (num_dead > 0) {
    const std::int64_t bytes = uses.BytesOf(use);
    Finding& finding = search.Add(Pattern::kDeadWrite, use, bytes, {});
    finding.traffic_saved_bytes = num_dead * bytes;
    finding.detail = fmt::format("{} of its full writes {} overwritten before any read", num_dead,
                                 num_dead == 1 ? "is" : "are");
  }
}

/// Copies with both their sides, to be compared.
class CopySearch {
 public:
  explicit CopySearch(PatternSearch& search) : search_(search), uses_(search.uses()) {}

  void Check() {
    for (std::size_t position = 0; position < uses_.work().size(); ++position) {
      const WorkItem item = uses_.work().At(position);
      if (item.activity != kNoRow &&
          search_.trace().activities.kind[item.activity] == ActivityKind::kMemcpy) {
        CheckCopy(item, position);
      }
    }
    Report();
  }

 private:
  // Addresses and bytes of source and destination.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

  struct Repeated {
    RowId source = kNoRow;
    RowId destination = kNoRow;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    bool is_fact = true;
  };

  void CheckCopy(const WorkItem& item, std::size_t position) {
    const trace::Touches& touches = search_.trace().touches;
    RowId source = kNoRow;
    RowId destination = kNoRow;
    for (const RowId touch : item.touches) {
      (touches.read_bytes[touch] > 0 ? source : destination) = touch;
    }
    if (source == kNoRow || destination == kNoRow) {
      return;
    }
    const Key key{touches.address[source], touches.address[destination],
                  touches.read_bytes[source]};
    const auto [last, is_new] = last_position_.try_emplace(key, position);
    if (!is_new) {
      Compare(key, source, destination, last->second, position);
      last->second = position;
    }
  }

  void Compare(const Key& key, RowId source, RowId destination, std::size_t before,
               std::size_t now) {
    const trace::Touches& touches = search_.trace().touches;
    const RowId from = touches.object[source];
    const RowId to = touches.object[destination];
    const Change changed =
        std::max(ChangedBetween(from, before, now), ChangedBetween(to, before, now));
    if (changed == Change::kYes || UseOf(from, to) == nullptr) {
      return;
    }
    Repeated& repeated = repeated_[key];
    repeated.source = from;
    repeated.destination = to;
    ++repeated.count;
    repeated.bytes += std::get<2>(key);
    repeated.is_fact &= changed == Change::kNo;
  }

  [[nodiscard]] const Use* UseOf(RowId source, RowId destination) const {
    const Use* const use = uses_.Of(destination);
    return use != nullptr ? use : uses_.Of(source);
  }

  enum class Change : std::uint8_t { kNo, kPerhaps, kYes };

  // The host may write to its own memory unseen. Another object at the same place is a change.
  [[nodiscard]] Change ChangedBetween(RowId object, std::size_t before, std::size_t now) const {
    const Use* const use = uses_.Of(object);
    if (use == nullptr) {
      return Change::kPerhaps;
    }
    if (use->birth > uses_.work().At(before).order) {
      return Change::kYes;
    }
    Change changed = Change::kNo;
    for (const Access& access : use->accesses) {
      if (access.position > before && access.position < now && access.may_write) {
        changed = std::max(changed, access.is_counted ? Change::kYes : Change::kPerhaps);
      }
    }
    return changed;
  }

  void Report() {
    for (const auto& [key, repeated] : repeated_) {
      const Use& use = *UseOf(repeated.source, repeated.destination);
      if (!search_.IsLargeEnough(use)) {
        continue;
      }
      Finding& finding =
          search_.Add(Pattern::kRedundantCopy, use, std::get<2>(key), {},
                      repeated.is_fact ? "" : "source or destination may have been written unseen");
      finding.other = repeated.source;
      finding.traffic_saved_bytes = repeated.bytes;
      finding.detail = fmt::format("repetitions: {}", repeated.count);
    }
  }

  PatternSearch& search_;
  const ObjectUses& uses_;
  std::map<Key, std::size_t> last_position_;
  std::map<Key, Repeated> repeated_;
};

}  // namespace

void FindWritePatterns(PatternSearch& search) {
  for (const Use& use : search.uses().all()) {
    if (search.IsLargeEnough(use)) {
      FindDeadWrites(search, use);
    }
  }
  CopySearch(search).Check();
}

}  // namespace orrery::memory::patterns
