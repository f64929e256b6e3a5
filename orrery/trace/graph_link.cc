#include "orrery/trace/graph_link.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/graph_match.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

constexpr std::string_view kMetadataPrefix = "execution_trace.";

void MoveNodes(Trace& recording, const Trace& graph, std::span<const StringId> strings) {
  const auto first_new = static_cast<RowId>(recording.graph_nodes.size());
  AppendRows(recording.graph_nodes, graph.graph_nodes, strings);
  for (RowId node = first_new; node < recording.graph_nodes.size(); ++node) {
    RowId& parent = recording.graph_nodes.parent[node];
    parent = parent == kNoRow ? kNoRow : parent + first_new;
  }
}

void MergeDescription(Trace& recording, const Trace& graph, std::span<const StringId> strings) {
  for (RowId row = 0; row < graph.metadata.size(); ++row) {
    Metadata::Row entry = graph.metadata.At(row);
    entry.key =
        recording.strings.Intern(std::string(kMetadataPrefix).append(graph.Text(entry.key)));
    entry.value = strings[static_cast<std::size_t>(entry.value)];
    recording.metadata.Append(entry);
  }
  TraceInfo& info = recording.info;
  info.rank = info.rank < 0 ? graph.info.rank : info.rank;
  info.world_size = info.world_size < 0 ? graph.info.world_size : info.world_size;
  info.backend = info.backend.empty() ? graph.info.backend : info.backend;
  info.files.insert(info.files.end(), graph.info.files.begin(), graph.info.files.end());
  recording.problems.Merge(graph.problems, "execution trace");
}

bool IsSameGroup(const ProcessGroups& groups, RowId row, const ProcessGroups::Row& other) {
  if (other.communicator != 0 && groups.communicator[row] != 0) {
    return groups.communicator[row] == other.communicator;
  }
  return other.name != StringId::kEmpty && groups.name[row] == other.name;
}

template <typename T>
void FillUnknown(T& target, const T& known, const T& unknown) {
  target = target == unknown ? known : target;
}

void FillGroup(ProcessGroups& groups, RowId row, const ProcessGroups::Row& other) {
  const ProcessGroups::Row unknown;
  FillUnknown(groups.description[row], other.description, unknown.description);
  FillUnknown(groups.backend[row], other.backend, unknown.backend);
  FillUnknown(groups.num_ranks[row], other.num_ranks, unknown.num_ranks);
  FillUnknown(groups.rank_start[row], other.rank_start, unknown.rank_start);
  FillUnknown(groups.rank_stride[row], other.rank_stride, unknown.rank_stride);
  FillUnknown(groups.communicator[row], other.communicator, unknown.communicator);
  // A list that the profiler has cut is worth less than a whole one.
  if (groups.ranks[row] == StringId::kEmpty ||
      (groups.ranks_cut[row] != 0 && other.ranks_cut == 0)) {
    groups.ranks[row] = other.ranks;
    groups.ranks_cut[row] = other.ranks_cut;
  }
}

// Returns, for each group of the graph, its row in the recording.
std::vector<RowId> MergeGroups(Trace& recording, const Trace& graph,
                               std::span<const StringId> strings) {
  ProcessGroups incoming;
  AppendRows(incoming, graph.process_groups, strings);
  std::vector<RowId> rows;
  for (RowId group = 0; group < incoming.size(); ++group) {
    const ProcessGroups::Row other = incoming.At(group);
    RowId row = 0;
    while (row < recording.process_groups.size() &&
           !IsSameGroup(recording.process_groups, row, other)) {
      ++row;
    }
    if (row == recording.process_groups.size()) {
      recording.process_groups.Append(other);
    } else {
      FillGroup(recording.process_groups, row, other);
    }
    rows.push_back(row);
  }
  return rows;
}

void ApplyMatches(Trace& trace, const GraphMatches& found) {
  GraphNodes& nodes = trace.graph_nodes;
  for (const GraphMatch& match : found.matches) {
    // A node of a repeated step points to its first row, all rows point to the node.
    RowId& link = match.is_annotation ? nodes.annotation[match.node] : nodes.host_op[match.node];
    FillUnknown(link, match.row, kNoRow);
    (match.is_annotation ? trace.annotations.graph_node[match.row]
                         : trace.host_ops.graph_node[match.row]) = match.node;
  }
}

void FillSize(Collectives& all, RowId row, const Collectives::Row& known) {
  FillUnknown<std::int64_t>(all.in_elements[row], known.in_elements, -1);
  FillUnknown<std::int64_t>(all.out_elements[row], known.out_elements, -1);
  FillUnknown<std::int64_t>(all.in_bytes[row], known.in_bytes, -1);
  FillUnknown<std::int64_t>(all.out_bytes[row], known.out_bytes, -1);
  FillUnknown(all.in_splits[row], known.in_splits, StringId::kEmpty);
  FillUnknown(all.out_splits[row], known.out_splits, StringId::kEmpty);
}

void FillCollective(Collectives& all, RowId row, const Collectives::Row& known, bool is_same_step) {
  all.graph_node[row] = known.graph_node;
  FillUnknown(all.name[row], known.name, StringId::kEmpty);
  FillUnknown(all.kind[row], known.kind, CollectiveKind::kUnknown);
  FillUnknown(all.group[row], known.group, kNoRow);
  FillUnknown(all.data_type[row], known.data_type, DataType::kUnknown);
  FillUnknown<std::int32_t>(all.peer[row], known.peer, -1);
  // Sequence numbers count on from step to step, and all-to-all sends what the data ask for.
  if (is_same_step) {
    FillUnknown<std::int64_t>(all.sequence[row], known.sequence, -1);
  }
  if (is_same_step || all.kind[row] != CollectiveKind::kAllToAll) {
    FillSize(all, row, known);
  }
}

// Collectives of the execution trace with node and group as they are in the recording.
Collectives TranslateCollectives(const Trace& graph, RowId first_new_node,
                                 std::span<const RowId> groups, std::span<const StringId> strings) {
  Collectives translated;
  AppendRows(translated, graph.collectives, strings);
  for (RowId row = 0; row < translated.size(); ++row) {
    RowId& node = translated.graph_node[row];
    node = node == kNoRow ? kNoRow : node + first_new_node;
    RowId& group = translated.group[row];
    group = group == kNoRow ? kNoRow : groups[group];
  }
  return translated;
}

void EnrichCollectives(Trace& trace, const Collectives& known, GraphLinkRule rule) {
  const RowIndex by_node(known.graph_node);
  const bool is_same_step = rule != GraphLinkRule::kStepOrder;
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId call = trace.collectives.host_op[row];
    const RowId node = call == kNoRow ? kNoRow : trace.host_ops.graph_node[call];
    const RowId source = node == kNoRow ? kNoRow : by_node.First(node);
    if (source != kNoRow) {
      FillCollective(trace.collectives, row, known.At(source), is_same_step);
    }
  }
}

GraphLinkSummary Summarise(const Trace& trace, RowId first_node, GraphLinkRule rule) {
  GraphLinkSummary summary{.rule = rule};
  for (RowId node = first_node; node < trace.graph_nodes.size(); ++node) {
    if (IsHostWork(trace, node)) {
      const bool is_linked =
          trace.graph_nodes.host_op[node] != kNoRow || trace.graph_nodes.annotation[node] != kNoRow;
      ++(is_linked ? summary.linked : summary.unlinked);
    }
  }
  return summary;
}

void NoteLink(Trace& recording, const GraphLinkSummary& summary) {
  if (summary.rule == GraphLinkRule::kNone) {
    recording.problems.Note("execution trace not linked: neither ids nor the order of calls agree",
                            std::max<std::int64_t>(summary.unlinked, 1));
    return;
  }
  recording.problems.Note("graph node without a row in the recording", summary.unlinked);
  if (summary.rule == GraphLinkRule::kStepOrder) {
    recording.problems.Note("execution trace is of one step and was linked with every repetition");
  }
}

}  // namespace

GraphLinkSummary LinkGraph(Trace& recording, Trace&& graph) {
  const Trace from = std::move(graph);
  const auto first_node = static_cast<RowId>(recording.graph_nodes.size());
  const std::vector<StringId> strings = recording.strings.Merge(from.strings);
  MoveNodes(recording, from, strings);
  MergeDescription(recording, from, strings);
  const std::vector<RowId> groups = MergeGroups(recording, from, strings);
  const GraphMatches found = MatchGraph(recording);
  ApplyMatches(recording, found);
  EnrichCollectives(recording, TranslateCollectives(from, first_node, groups, strings), found.rule);
  const GraphLinkSummary summary = Summarise(recording, first_node, found.rule);
  NoteLink(recording, summary);
  return summary;
}

}  // namespace orrery::trace
