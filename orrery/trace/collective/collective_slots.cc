#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/trace/clock/position_alignment.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using Numbers = std::vector<std::uint64_t>;

LaneSlots SlotsByNumber(const std::vector<Numbers>& numbers, MatchRule rule) {
  Numbers distinct;
  for (const Numbers& of_member : numbers) {
    distinct.insert(distinct.end(), of_member.begin(), of_member.end());
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  LaneSlots slots{.num_slots = static_cast<std::uint32_t>(distinct.size())};
  for (const Numbers& of_member : numbers) {
    MemberSlots& member = slots.members.emplace_back();
    member.rule = rule;
    member.slot_of_event.reserve(of_member.size());
    for (const std::uint64_t number : of_member) {
      const auto found = std::lower_bound(distinct.begin(), distinct.end(), number);
      member.slot_of_event.push_back(static_cast<std::uint32_t>(found - distinct.begin()));
    }
  }
  return slots;
}

// Matches by a column of numbers; nothing when a number is unknown (below `first_valid`) or occurs
// twice on a rank.
template <typename T>
std::optional<LaneSlots> TryNumbers(const TraceSet& set, const CollectiveLane& lane, MatchRule rule,
                                    std::vector<T> Collectives::* column, T first_valid) {
  std::vector<Numbers> numbers;
  for (const LaneMember& member : lane.members) {
    const std::vector<T>& values = set.ranks[member.rank_index].collectives.*column;
    Numbers& of_member = numbers.emplace_back();
    for (const CollectiveEvent& event : member.events) {
      if (values[event.row] < first_valid) {
        return std::nullopt;
      }
      of_member.push_back(static_cast<std::uint64_t>(values[event.row]));
    }
    Numbers sorted = of_member;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      return std::nullopt;
    }
  }
  return SlotsByNumber(numbers, rule);
}

// A property helps to compare ranks when all of them know it; one that some rank never states says
// nothing. Within those limits "unknown" is a value like others.
template <typename IsKnown>
bool AllOrNoneKnow(const CollectiveLane& lane, IsKnown&& is_known) {
  const auto knows = [&](const LaneMember& member) {
    return std::any_of(member.events.begin(), member.events.end(), is_known);
  };
  const auto num_knowing = std::count_if(lane.members.begin(), lane.members.end(), knows);
  return num_knowing == 0 || num_knowing == std::ssize(lane.members);
}

class Signatures {
 public:
  explicit Signatures(const CollectiveLane& lane)
      : pair_(lane.use == LaneUse::kPair),
        use_kind_(AllOrNoneKnow(
            lane, [](const CollectiveEvent& e) { return e.kind != CollectiveKind::kUnknown; })),
        use_type_(AllOrNoneKnow(
            lane, [](const CollectiveEvent& e) { return e.data_type != DataType::kUnknown; })),
        use_size_(AllOrNoneKnow(lane, [](const CollectiveEvent& e) { return e.size >= 0; })) {}

  [[nodiscard]] std::vector<SequenceItem> Items(const LaneMember& member) const {
    std::vector<SequenceItem> items;
    items.reserve(member.events.size());
    for (const CollectiveEvent& event : member.events) {
      items.push_back({Of(event), event.end_ns});
    }
    return items;
  }

 private:
  [[nodiscard]] std::uint64_t Of(const CollectiveEvent& event) const {
    const bool use_size = use_size_ && HasCommonSize(event.kind);
    const std::uint64_t size = use_size ? static_cast<std::uint64_t>(event.size) : 0;
    const std::uint64_t type = use_type_ ? static_cast<std::uint64_t>(event.data_type) : 0;
    const std::uint64_t kind = use_kind_ && !pair_ ? static_cast<std::uint64_t>(event.kind) : 0;
    // Sizes stay far below 2^48, so the three do not run into each other.
    return (size << 16) ^ (type << 8) ^ kind;
  }

  bool pair_;
  bool use_kind_;
  bool use_type_;
  bool use_size_;
};

// The first event of each numbered step that begins after another event, by step number.
std::map<std::int64_t, std::int64_t> FirstEventOfStep(const Trace& trace,
                                                      const LaneMember& member) {
  std::map<std::int64_t, std::int64_t> first;
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const auto event = std::partition_point(
        member.events.begin(), member.events.end(), [&](const CollectiveEvent& candidate) {
          return candidate.begin_ns < trace.steps.begin_ns[step];
        });
    if (trace.steps.number[step] >= 0 && event != member.events.begin() &&
        event != member.events.end()) {
      first.try_emplace(trace.steps.number[step], event - member.events.begin());
    }
  }
  return first;
}

StepHints HintsFromSteps(const TraceSet& set, const LaneMember& reference,
                         const LaneMember& other) {
  const Trace& trace = set.ranks[reference.rank_index];
  StepHints hints;
  if (!trace.steps.empty()) {
    const auto num_steps = static_cast<std::int64_t>(trace.steps.size());
    hints.items_per_step = (std::ssize(reference.events) + num_steps - 1) / num_steps;
  }
  const auto in_reference = FirstEventOfStep(trace, reference);
  std::vector<std::int64_t> shifts;
  for (const auto& [step, event] : FirstEventOfStep(set.ranks[other.rank_index], other)) {
    if (const auto found = in_reference.find(step); found != in_reference.end()) {
      shifts.push_back(found->second - event);
    }
  }
  if (!shifts.empty()) {
    std::sort(shifts.begin(), shifts.end());
    hints.shift_by_steps = shifts[shifts.size() / 2];
  }
  return hints;
}

// The longest sequence, among equals that of the lowest rank.
std::size_t ReferenceOf(const CollectiveLane& lane) {
  std::size_t reference = 0;
  for (std::size_t member = 1; member < lane.members.size(); ++member) {
    if (lane.members[member].events.size() > lane.members[reference].events.size()) {
      reference = member;
    }
  }
  return reference;
}

MatchRule PositionRule(const CollectiveLane& lane) {
  if (lane.use == LaneUse::kPair) {
    return MatchRule::kPeerOrder;
  }
  return lane.group_known ? MatchRule::kGroupPosition : MatchRule::kStreamPosition;
}

std::vector<PositionAlignment> AlignMembers(const TraceSet& set, const CollectiveLane& lane) {
  const Signatures signatures(lane);
  const std::size_t reference = ReferenceOf(lane);
  const std::vector<SequenceItem> reference_items = signatures.Items(lane.members[reference]);
  std::vector<PositionAlignment> alignments;
  for (std::size_t member = 0; member < lane.members.size(); ++member) {
    if (member == reference) {
      alignments.push_back({.method = PositionAlignment::Method::kShift});
      continue;
    }
    alignments.push_back(
        AlignPositions(reference_items, signatures.Items(lane.members[member]),
                       HintsFromSteps(set, lane.members[reference], lane.members[member])));
  }
  return alignments;
}

LaneSlots SlotsByPosition(const TraceSet& set, const CollectiveLane& lane) {
  const std::vector<PositionAlignment> alignments = AlignMembers(set, lane);
  std::int64_t lowest = 0;
  for (const PositionAlignment& alignment : alignments) {
    lowest = std::min(lowest, alignment.shift);
  }
  LaneSlots slots;
  for (std::size_t index = 0; index < alignments.size(); ++index) {
    const PositionAlignment& alignment = alignments[index];
    MemberSlots& member = slots.members.emplace_back();
    const bool shifted = alignment.method == PositionAlignment::Method::kShift;
    member.rule = shifted ? PositionRule(lane) : MatchRule::kSubsequence;
    member.ambiguous = alignment.ambiguous;
    member.search_cut = alignment.search_cut;
    for (std::size_t event = 0; event < lane.members[index].events.size(); ++event) {
      const std::int64_t position = alignment.PositionOf(event);
      const bool placed = position != kNoPosition;
      member.slot_of_event.push_back(placed ? static_cast<std::uint32_t>(position - lowest)
                                            : kNoSlot);
      slots.num_slots =
          placed ? std::max(slots.num_slots, member.slot_of_event.back() + 1) : slots.num_slots;
    }
  }
  return slots;
}

}  // namespace

LaneSlots AssignSlots(const TraceSet& set, const CollectiveLane& lane) {
  if (lane.use != LaneUse::kPair) {
    if (auto slots = TryNumbers(set, lane, MatchRule::kSequenceNumber, &Collectives::sequence,
                                std::int64_t{0})) {
      return *std::move(slots);
    }
    if (auto slots =
            TryNumbers(set, lane, MatchRule::kCommsId, &Collectives::comms_id, std::uint64_t{1})) {
      return *std::move(slots);
    }
  }
  return SlotsByPosition(set, lane);
}

}  // namespace orrery::trace
