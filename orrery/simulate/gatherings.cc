#include "orrery/simulate/gatherings.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

using workload::Communications;
using workload::TaskId;

constexpr std::size_t kMostNamed = 4;

std::string Described(const Cast& cast, PlayerId player, TaskId task) {
  const workload::Program& program = cast.ProgramOf(player);
  return fmt::format("task {} ({}) of rank {}", task,
                     program.strings.View(program.tasks.name[task]), cast.players[player].rank);
}

std::string Described(const Communications::Row& row) {
  return fmt::format("{} of {} bytes of {}", collective::Name(row.kind), row.bytes,
                     collective::Name(row.element));
}

bool IsSame(const Communications::Row& lhs, const Communications::Row& rhs) {
  const bool may_differ = lhs.kind == collective::CollectiveKind::kAllToAll;
  return lhs.kind == rhs.kind && lhs.element == rhs.element &&
         (may_differ || lhs.bytes == rhs.bytes);
}

Error Mismatch(const Gathering& gathering, const Arrival& arrival, const Communications::Row& row) {
  return {Error::Kind::kInvalidInput,
          fmt::format("members of a group communicate differently: {} does {}, {} does {}",
                      Described(*arrival.cast, gathering.player, gathering.task),
                      Described(gathering.row),
                      Described(*arrival.cast, arrival.player, arrival.task), Described(row))};
}

}  // namespace

Result<Gathering*> Gatherings::Join(const Arrival& arrival) {
  OpenTurns& open = open_of_group_[arrival.group];
  const std::size_t place = arrival.turn - open.first;
  if (place >= open.gatherings.size()) {
    open.gatherings.resize(place + 1);
  }
  Gathering& gathering = open.gatherings[place];
  const workload::Program& program = arrival.cast->ProgramOf(arrival.player);
  const Communications::Row row =
      program.communications.At(program.tasks.communication[arrival.task]);
  if (gathering.num_arrived == 0) {
    gathering.player = arrival.player;
    gathering.task = arrival.task;
    gathering.row = row;
  } else if (!IsSame(gathering.row, row)) {
    return tl::unexpected(Mismatch(gathering, arrival, row));
  }
  gathering.row.bytes = std::max(gathering.row.bytes, row.bytes);
  gathering.latest_ps = std::max(gathering.latest_ps, arrival.begin_ps);
  ++gathering.num_arrived;
  return &gathering;
}

Gathering Gatherings::Take(CastGroupId group, std::uint64_t turn) {
  OpenTurns& open = open_of_group_[group];
  Gathering taken = open.gatherings[turn - open.first];
  open.gatherings[turn - open.first].is_taken = true;
  std::size_t done = 0;
  while (done < open.gatherings.size() && open.gatherings[done].is_taken) {
    ++done;
  }
  open.gatherings.erase(open.gatherings.begin(),
                        open.gatherings.begin() + static_cast<std::ptrdiff_t>(done));
  open.first += done;
  return taken;
}

Error NeverEnds(const Cast& cast, std::span<const StuckTask> stuck) {
  std::string text = "the program never ends: tasks wait for each other, among them ";
  for (std::size_t i = 0; i < std::min(stuck.size(), kMostNamed); ++i) {
    text +=
        fmt::format("{}{}{}", i == 0 ? "" : ", ", Described(cast, stuck[i].player, stuck[i].task),
                    stuck[i].has_begun ? ", which waits for its group" : "");
  }
  return {Error::Kind::kInvalidInput, text};
}

}  // namespace orrery::simulate
