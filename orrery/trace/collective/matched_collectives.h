#pragma once

#include <cstddef>
#include <ranges>

#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// A group of ranks as all its members see it.
struct CollectiveGroup {
  std::string key = {};                    // the same text on every member
  std::int32_t num_ranks = -1;             // -1: no file says
  std::vector<std::int32_t> members = {};  // global ranks, where the file gives all of them

  bool operator==(const CollectiveGroup&) const = default;
};

/// Makes the key from the first of these that a row of ProcessGroups has: name and list of ranks
/// (a truncated list with its size), name and description with size, first rank and stride,
/// communicator (when `communicators_shared`). Nothing when no other rank could recognise the
/// group.
[[nodiscard]] std::optional<CollectiveGroup> IdentifyGroup(const Trace& trace, RowId group,
                                                           bool communicators_shared);

/// Returns whether ranks call their communicators alike. Some tools write an id, others the address
/// of an object in the process; ids are those of which at least half are met on several ranks.
[[nodiscard]] bool AreCommunicatorsShared(const TraceSet& set);

/// Returns how many ranks the group has, from its size or its list; -1 when unknown.
[[nodiscard]] std::int32_t GroupSize(const Trace& trace, RowId group);

/// The rule by which the members of a collective were found.
enum class MatchRule : std::uint8_t {
  kSequenceNumber,  // equal group and sequence number
  kCommsId,         // equal "Comms Id"
  kGroupPosition,   // equal group and place in the group's order
  kStreamPosition,  // equal place on the communication stream; the group is not known
  kSubsequence,     // longest common subsequence of kind, type and size
  kPeerOrder,       // k-th send of one rank to another and k-th receive there
};

/// Reasons to doubt a match; bits of MatchedInstances::flags.
namespace match_flag {
inline constexpr std::uint8_t kKindMismatch = 1;
inline constexpr std::uint8_t kSizeMismatch = 2;
inline constexpr std::uint8_t kTypeMismatch = 4;
inline constexpr std::uint8_t kSpreadTooLarge = 8;  // ends too far apart
inline constexpr std::uint8_t kIncomplete = 16;     // members were not recorded or not found
inline constexpr std::uint8_t kAmbiguous = 32;      // another match would fit about as well
inline constexpr std::uint8_t kHostTimes = 64;      // a member's times are of the call on the host
/// A record with one of these takes no part in statistics of bandwidth and wait.
inline constexpr std::uint8_t kUnreliable =
    kKindMismatch | kSizeMismatch | kTypeMismatch | kSpreadTooLarge | kAmbiguous;
}  // namespace match_flag

/// Collectives with their members, in order of the first begin. `kind` is kSend for a pair of
/// sender and receiver, kSendRecv for sends and receives whose peers the file does not name.
/// `bytes` is the largest message size that a member states.
#define ORRERY_MATCHED_INSTANCE_COLUMNS(X)                    \
  X(CollectiveKind, kind, CollectiveKind::kUnknown)           \
  X(std::uint32_t, group, 0) /* MatchedCollectives::groups */ \
  X(DataType, data_type, DataType::kUnknown)                  \
  X(std::int64_t, bytes, -1)                                  \
  X(MatchRule, rule, MatchRule::kSequenceNumber)              \
  X(std::uint8_t, flags, 0)                                   \
  X(std::uint32_t, first_member, 0)                           \
  X(std::uint32_t, num_members, 0)
ORRERY_TABLE(MatchedInstances, ORRERY_MATCHED_INSTANCE_COLUMNS);

/// Members of all instances, those of one instance together and in order of rank; a sender comes
/// before its receiver. A coalesced call is one member with its first row.
#define ORRERY_MATCHED_MEMBER_COLUMNS(X)                \
  X(std::uint32_t, rank_index, 0) /* TraceSet::ranks */ \
  X(RowId, collective, kNoRow)    /* of that rank */    \
  X(std::int64_t, begin_ns, 0)                          \
  X(std::int64_t, end_ns, 0)
ORRERY_TABLE(MatchedMembers, ORRERY_MATCHED_MEMBER_COLUMNS);

/// The matches of one rank's collectives, by rows of its table.
struct RankMatching {
  std::int64_t num_matched = 0;
  std::int64_t num_unmatched = 0;
  std::int64_t num_without_kernels = 0;   // left out: the rank has kernels, this call none
  std::int64_t num_in_groups_of_one = 0;  // left out: no peers
  std::vector<RowId> instance_of_row;     // kNoRow when unmatched or left out

  bool operator==(const RankMatching&) const = default;
};

/// The collectives of a run, matched over its ranks.
struct MatchedCollectives {
  MatchedInstances instances;
  MatchedMembers members;
  std::vector<CollectiveGroup> groups;
  std::vector<RankMatching> ranks;  // as TraceSet::ranks
  std::int64_t median_end_spread_ns = 0;
  std::int64_t spread_limit_ns = 0;  // beyond it kSpreadTooLarge is set
  ProblemLog problems;

  [[nodiscard]] std::size_t size() const { return instances.size(); }

  /// The rows of `members` that belong to an instance.
  [[nodiscard]] auto MembersOf(std::size_t instance) const {
    const std::uint32_t first = instances.first_member[instance];
    return std::views::iota(first, first + instances.num_members[instance]);
  }

  [[nodiscard]] bool Has(std::size_t instance, std::uint8_t flags) const {
    return (instances.flags[instance] & flags) != 0;
  }

  bool operator==(const MatchedCollectives&) const = default;
};

/// Returns whether no rank can finish such a collective before all ranks have begun it.
[[nodiscard]] bool IsSynchronising(CollectiveKind kind);

/// Returns when the last member began.
[[nodiscard]] std::int64_t LastArrivalNs(const MatchedCollectives& matched, std::size_t instance);

/// Returns the row of `members` that began last; among equals the lowest rank.
[[nodiscard]] std::uint32_t LastMember(const MatchedCollectives& matched, std::size_t instance);

/// Returns the shortest duration of a member: the time of the transfer, without waits.
[[nodiscard]] std::int64_t MinDurationNs(const MatchedCollectives& matched, std::size_t instance);

/// Returns the time between the first and the last end of a member.
[[nodiscard]] std::int64_t EndSpreadNs(const MatchedCollectives& matched, std::size_t instance);

/// Returns how long a member waited for the last one, at most its own duration.
[[nodiscard]] std::int64_t WaitNs(const MatchedCollectives& matched, std::size_t instance,
                                  std::uint32_t member);

/// Finds for each collective its counterparts on the other ranks. Every group of ranks uses the
/// first rule that all its ranks support (MatchRule in order; sends and receives with known peers
/// always kPeerOrder). Rows with kernels are matched when a rank has any, else its calls. What
/// stays without counterpart is counted.
///
/// Costs O(n log n) in the number of collectives. The result does not depend on the order of the
/// ranks in the set, apart from `rank_index`.
[[nodiscard]] MatchedCollectives MatchCollectives(const TraceSet& set);

}  // namespace orrery::trace
