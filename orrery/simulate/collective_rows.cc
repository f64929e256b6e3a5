#include "orrery/simulate/collective_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text.h"
#include "orrery/simulate/breakdown.h"
#include "orrery/trace/data_types.h"

namespace orrery::simulate {
namespace {

using workload::GroupId;
using workload::kNoGroup;
using workload::kNone;
using workload::Rank;
using workload::TaskId;

// Returns what `from` is paired with, or `otherwise`.
template <typename From, typename To, std::size_t kSize>
To Translated(const std::array<std::pair<From, To>, kSize>& pairs, From from, To otherwise) {
  const auto found = std::ranges::find(pairs, from, &std::pair<From, To>::first);
  return found == pairs.end() ? otherwise : found->second;
}

trace::CollectiveKind KindOf(collective::CollectiveKind kind) {
  using From = collective::CollectiveKind;
  using To = trace::CollectiveKind;
  static constexpr std::array<std::pair<From, To>, 8> kKinds{
      {{From::kAllReduce, To::kAllReduce},
       {From::kAllGather, To::kAllGather},
       {From::kReduceScatter, To::kReduceScatter},
       {From::kAllToAll, To::kAllToAll},
       {From::kBroadcast, To::kBroadcast},
       {From::kReduce, To::kReduce},
       {From::kSendRecv, To::kSendRecv},
       {From::kBarrier, To::kBarrier}}};
  return Translated(kKinds, kind, To::kUnknown);
}

trace::DataType TypeOf(collective::Element element) {
  using From = collective::Element;
  using To = trace::DataType;
  static constexpr std::array<std::pair<From, To>, 8> kTypes{{{From::kInt8, To::kInt8},
                                                              {From::kFp8, To::kFloat8E4M3},
                                                              {From::kHalf, To::kFloat16},
                                                              {From::kBfloat16, To::kBFloat16},
                                                              {From::kInt32, To::kInt32},
                                                              {From::kFloat, To::kFloat32},
                                                              {From::kInt64, To::kInt64},
                                                              {From::kDouble, To::kFloat64}}};
  return Translated(kTypes, element, To::kUnknown);
}

// The descriptions that frameworks give their groups, from which readers infer the dimension.
std::string DescriptionOf(const std::string& dimension) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDescriptions{
      {{"tp", "tensor_parallel"},
       {"dp", "data_parallel"},
       {"pp", "pipeline_parallel"},
       {"cp", "context_parallel"},
       {"ep", "expert_parallel"}}};
  return std::string(
      Translated<std::string_view, std::string_view>(kDescriptions, dimension, dimension));
}

}  // namespace

CollectiveRows::CollectiveRows(const RankClasses& rank_classes, const TracedRank& traced,
                               trace::Trace& trace)
    : rank_classes_(rank_classes),
      traced_(traced),
      program_(rank_classes.ProgramOf(traced.rank_class)),
      trace_(trace),
      compiled_(program_) {
  AddGroups();
}

void CollectiveRows::AddGroups() {
  group_of_role_.assign(rank_classes_.num_roles, kNoRow);
  peer_of_role_.assign(rank_classes_.num_roles, -1);
  for (std::uint32_t role = 0; role < rank_classes_.num_roles; ++role) {
    const GroupClassId group = rank_classes_.GroupOf(traced_.rank_class, role);
    if (group != kNoGroup) {
      AddGroup(role, group);
    }
  }
}

void CollectiveRows::AddGroup(std::uint32_t role, GroupClassId group_class) {
  const auto members = rank_classes_.ensemble->Members(RealGroup(role, group_class));
  group_of_role_[role] = trace_.process_groups.Append(
      {.name = trace_.strings.Intern(GroupName(role, group_class)),
       .description = trace_.strings.Intern(DescriptionOf(DimensionOf(program_, role))),
       .backend = trace_.strings.Intern("nccl"),
       .num_ranks = static_cast<std::int32_t>(members.size()),
       .ranks = trace_.strings.Intern(fmt::format("[{}]", fmt::join(members, ", ")))});
  peer_of_role_[role] = PeerOn(role, group_class);
}

GroupId CollectiveRows::RealGroup(std::uint32_t role, GroupClassId group_class) const {
  return traced_.is_for_class ? rank_classes_.groups[group_class].group
                              : rank_classes_.ensemble->GroupOf(traced_.rank, role);
}

// The same text on all members, and another one for each place where communication meets.
std::string CollectiveRows::GroupName(std::uint32_t role, GroupClassId group_class) const {
  const std::string dimension = DimensionOf(program_, role);
  if (traced_.is_for_class) {
    return fmt::format("{} {}", dimension, group_class);
  }
  const GroupId group = RealGroup(role, group_class);
  int uses = 0;
  for (std::uint32_t other = 0; other < rank_classes_.num_roles; ++other) {
    uses += rank_classes_.ensemble->GroupOf(traced_.rank, other) == group ? 1 : 0;
  }
  return uses > 1 ? fmt::format("{} {} role {}", dimension, group, role)
                  : fmt::format("{} {}", dimension, group);
}

// The other rank of a pair; for a rank class's trace the rank that stands for it.
std::int32_t CollectiveRows::PeerOn(std::uint32_t role, GroupClassId group_class) const {
  const auto members = rank_classes_.ensemble->Members(RealGroup(role, group_class));
  if (members.size() != 2) {
    return -1;
  }
  const bool is_first = rank_classes_.class_of_rank[members[0]] == traced_.rank_class;
  if (traced_.is_for_class) {
    return static_cast<std::int32_t>(
        rank_classes_.classes[rank_classes_.class_of_rank[members[is_first ? 1 : 0]]].rank);
  }
  return static_cast<std::int32_t>(members[members[0] == traced_.rank ? 1 : 0]);
}

RowId CollectiveRows::Add(const TaskTimes& times, TaskId task, RowId activity) {
  const workload::CommunicationId communication = program_.tasks.communication[task];
  if (communication == kNone) {
    return kNoRow;
  }
  const workload::Communications::Row row = program_.communications.At(communication);
  if (row.role >= rank_classes_.num_roles || group_of_role_[row.role] == kNoRow) {
    return kNoRow;
  }
  trace::Collectives::Row collective{
      .begin_ns = TaskRows::BeginNs(times, task),
      .duration_ns = TaskRows::DurationNs(times, task),
      .name = trace_.activities.name[activity],
      .kind = KindOf(row.kind),
      .group = group_of_role_[row.role],
      .data_type = TypeOf(row.element),
      .sequence = static_cast<std::int64_t>(times.repetition) * compiled_.TurnsOn(row.role) +
                  compiled_.TurnOf(task),
      .track = trace_.activities.track[activity],
      .num_kernels = 1,
  };
  if (row.kind == collective::CollectiveKind::kSendRecv && peer_of_role_[row.role] >= 0) {
    collective.kind =
        Sends(task, row.role) ? trace::CollectiveKind::kSend : trace::CollectiveKind::kRecv;
    collective.peer = peer_of_role_[row.role];
  }
  SetSizes(row, collective);
  trace_.activities.collective[activity] = trace_.collectives.Append(collective);
  return trace_.activities.collective[activity];
}

bool CollectiveRows::Sends(TaskId task, std::uint32_t role) const {
  const std::string_view name = program_.strings.View(program_.tasks.name[task]);
  const bool is_send = Contains(name, "send");
  const bool is_receive = Contains(name, "recv") || Contains(name, "receive");
  if (is_send != is_receive) {
    return is_send;
  }
  const GroupId group = RealGroup(role, rank_classes_.GroupOf(traced_.rank_class, role));
  const Rank first = rank_classes_.ensemble->Members(group)[0];
  return traced_.is_for_class ? rank_classes_.class_of_rank[first] == traced_.rank_class
                              : first == traced_.rank;
}

void CollectiveRows::SetSizes(const workload::Communications::Row& row,
                              trace::Collectives::Row& collective) const {
  const std::int64_t num_ranks = trace_.process_groups.num_ranks[collective.group];
  collective.in_bytes = row.bytes;
  collective.out_bytes = row.bytes;
  if (collective.kind == trace::CollectiveKind::kAllGather) {
    collective.in_bytes = row.bytes / num_ranks;
  } else if (collective.kind == trace::CollectiveKind::kReduceScatter) {
    collective.out_bytes = row.bytes / num_ranks;
  }
  const std::int64_t element_bytes = trace::ElementBytes(collective.data_type);
  collective.in_elements = collective.in_bytes / element_bytes;
  collective.out_elements = collective.out_bytes / element_bytes;
}

}  // namespace orrery::simulate
