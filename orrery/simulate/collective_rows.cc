#include "orrery/simulate/collective_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

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

trace::CollectiveKind KindOf(collective::CollectiveKind kind) {
  using From = collective::CollectiveKind;
  using To = trace::CollectiveKind;
  switch (kind) {
    case From::kAllReduce:
      return To::kAllReduce;
    case From::kAllGather:
      return To::kAllGather;
    case From::kReduceScatter:
      return To::kReduceScatter;
    case From::kAllToAll:
      return To::kAllToAll;
    case From::kBroadcast:
      return To::kBroadcast;
    case From::kReduce:
      return To::kReduce;
    case From::kSendRecv:
      return To::kSendRecv;
    case From::kBarrier:
      return To::kBarrier;
  }
  return To::kUnknown;
}

trace::DataType TypeOf(collective::Element element) {
  using From = collective::Element;
  using To = trace::DataType;
  switch (element) {
    case From::kInt8:
      return To::kInt8;
    case From::kFp8:
      return To::kFloat8E4M3;
    case From::kHalf:
      return To::kFloat16;
    case From::kBfloat16:
      return To::kBFloat16;
    case From::kInt32:
      return To::kInt32;
    case From::kFloat:
      return To::kFloat32;
    case From::kInt64:
      return To::kInt64;
    case From::kDouble:
      return To::kFloat64;
  }
  return To::kUnknown;
}

// As frameworks describe groups, which tells readers the dimension.
std::string DescriptionOf(const std::string& dimension) {
  struct Known {
    std::string_view dimension;
    std::string_view description;
  };

  constexpr std::array kKnown{Known{"tp", "tensor_parallel"}, Known{"dp", "data_parallel"},
                              Known{"pp", "pipeline_parallel"}, Known{"cp", "context_parallel"},
                              Known{"ep", "expert_parallel"}};
  for (const Known& known : kKnown) {
    if (dimension == known.dimension) {
      return std::string(known.description);
    }
  }
  return dimension;
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
