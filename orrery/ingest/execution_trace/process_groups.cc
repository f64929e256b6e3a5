#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/execution_trace/collectives.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::ProcessGroups;
using trace::Trace;

constexpr std::string_view kInitName = "## process_group:init ##";
constexpr std::string_view kDefaultGroup = "default_pg";

// A world larger than this is damage, not a machine; its list of ranks would not fit in memory.
constexpr std::int32_t kLargestListedWorld = 1 << 20;

void ReadRanks(Trace& trace, const std::optional<JsonElement>& ranks, ProcessGroups::Row& row) {
  if (ArraySize(ranks) > 0) {
    row.ranks = trace.strings.Intern(simdjson::minify(*ranks));
  } else if (ranks && row.num_ranks > 0 && row.num_ranks <= kLargestListedWorld) {
    // An empty list stands for all ranks of the world.
    row.ranks = trace.strings.Intern(
        fmt::format("[{}]", fmt::join(std::views::iota(0, row.num_ranks), ",")));
    trace.info.world_size = row.num_ranks;
    trace.info.backend = trace.Text(row.backend);
  }
}

RowId FindGroup(const Trace& trace, const GroupReference& reference) {
  const ProcessGroups& groups = trace.process_groups;
  for (RowId group = 0; group < groups.size(); ++group) {
    const bool by_communicator = reference.communicator != 0 && groups.communicator[group] != 0;
    if (by_communicator
            ? groups.communicator[group] == reference.communicator
            : !reference.name.empty() && trace.Text(groups.name[group]) == reference.name) {
      return group;
    }
  }
  return kNoRow;
}

void ReadGroup(Trace& trace, const JsonElement& group) {
  const auto intern = [&](std::string_view key) {
    return trace.strings.Intern(Text(Field(group, key)).value_or(""));
  };
  const std::string name(Text(Field(group, "pg_name")).value_or(""));
  if (FindGroup(trace, {.name = name}) != kNoRow) {
    return;  // the list is written again when a group is added
  }
  ProcessGroups::Row row;
  row.name = trace.strings.Intern(name);
  row.description = intern("pg_desc");
  row.backend = intern("backend_config");
  row.num_ranks = SmallInteger(Field(group, "group_size"));
  row.communicator = static_cast<std::uint64_t>(Integer(Field(group, "backend_id")).value_or(0));
  ReadRanks(trace, Field(group, "ranks"), row);
  trace.process_groups.Append(row);
}

// The node's only input is a string that holds a JSON array.
void ReadGroups(Trace& trace, RowId node) {
  JsonText values_text;
  JsonText list_text;
  const auto values = values_text.Parse(trace.Text(trace.graph_nodes.input_values[node]));
  const auto list = list_text.Parse(Text(ElementAt(values, 0)).value_or(""));
  simdjson::dom::array groups;
  if (!list || list->get(groups)) {
    trace.problems.Loss("unreadable list of process groups", 1,
                        fmt::format("node {}", trace.graph_nodes.id[node]));
    return;
  }
  for (const JsonElement group : groups) {
    ReadGroup(trace, group);
  }
}

// Old files name neither members nor purpose: the only group with more than one rank is taken for
// the world.
bool IsWorld(const Trace& trace, RowId group) {
  const ProcessGroups& groups = trace.process_groups;
  if (trace.Text(groups.description[group]) == kDefaultGroup) {
    return true;
  }
  const auto num_alone = std::ranges::count(groups.num_ranks, 1);
  return groups.num_ranks[group] != 1 && groups.size() - static_cast<std::size_t>(num_alone) == 1;
}

}  // namespace

void ReadDeclaredGroups(Trace& trace) {
  const StringId init = trace.strings.Find(kInitName);
  for (RowId node = 0; node < trace.graph_nodes.size() && init != StringId::kEmpty; ++node) {
    if (trace.graph_nodes.name[node] == init) {
      ReadGroups(trace, node);
    }
  }
}

RowId ResolveGroup(Trace& trace, const GroupReference& reference) {
  if (!reference.is_named()) {
    return trace.process_groups.size() == 1 ? 0 : kNoRow;
  }
  RowId group = FindGroup(trace, reference);
  if (group == kNoRow) {
    group = trace.process_groups.Append(
        {.name = trace.strings.Intern(reference.name), .communicator = reference.communicator});
  }
  ProcessGroups& groups = trace.process_groups;
  const auto fill = [](std::int32_t& known, std::int32_t number) {
    known = known < 0 ? number : known;
  };
  fill(groups.num_ranks[group], reference.num_ranks);
  fill(groups.rank_start[group], reference.rank_start);
  fill(groups.rank_stride[group], reference.rank_stride);
  if (groups.description[group] == StringId::kEmpty) {
    groups.description[group] = trace.strings.Intern(reference.description);
  }
  if (reference.description == kDefaultGroup) {
    fill(trace.info.world_size, reference.num_ranks);
  }
  return group;
}

std::int32_t GlobalRank(const Trace& trace, RowId group, std::int32_t rank_in_group) {
  if (group == kNoRow || rank_in_group < 0) {
    return -1;
  }
  const ProcessGroups::Row row = trace.process_groups.At(group);
  if (row.num_ranks >= 0 && rank_in_group >= row.num_ranks) {
    return -1;
  }
  JsonText text;
  const auto ranks = text.Parse(trace.Text(row.ranks));
  if (ranks) {
    return SmallInteger(ElementAt(ranks, static_cast<std::size_t>(rank_in_group)));
  }
  if (row.rank_start >= 0 && row.rank_stride > 0) {
    const std::int64_t rank = row.rank_start + std::int64_t{rank_in_group} * row.rank_stride;
    return rank <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(rank) : -1;
  }
  return IsWorld(trace, group) ? rank_in_group : -1;
}

}  // namespace orrery::ingest::execution_trace
