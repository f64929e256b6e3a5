#include "orrery/trace/graph_link.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

constexpr std::string_view kStepMarker = "ProfilerStep#";

// Enough to skip what an observer missed; keeps repetitive sequences from costing n².
constexpr int kMaxHeadTries = 64;

bool IsEnough(std::size_t good, std::size_t all) {
  return all > 0 && good * 100 >= all * 99;
}

// Numbers of names by StringId; all step markers have one number.
using NameNumbers = std::vector<std::uint32_t>;

NameNumbers NumberNames(const StringTable& strings) {
  NameNumbers numbers(strings.size());
  for (std::size_t id = 0; id < strings.size(); ++id) {
    const bool is_marker = strings.View(static_cast<StringId>(id)).starts_with(kStepMarker);
    numbers[id] = static_cast<std::uint32_t>(is_marker ? strings.size() : id);
  }
  return numbers;
}

std::uint32_t NumberOf(const NameNumbers& names, StringId name) {
  return names[static_cast<std::size_t>(name)];
}

struct HostRow {
  RowId row = kNoRow;
  bool is_annotation = false;
  std::int64_t external_id = -1;
  std::int64_t begin_ns = 0;
};

// The calls of one thread in order, and their names.
template <typename Item>
struct Sequence {
  std::vector<Item> items;
  std::vector<std::uint32_t> names;
};

using NodeSequence = Sequence<RowId>;
using RowSequence = Sequence<HostRow>;

// Longest first: short ones may occur inside threads that are not theirs.
std::vector<NodeSequence> NodesByThread(const Trace& trace, const NameNumbers& names) {
  std::map<std::int32_t, NodeSequence> by_thread;
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    if (IsHostWork(trace, node)) {
      NodeSequence& thread = by_thread[trace.graph_nodes.thread[node]];
      thread.items.push_back(node);
      thread.names.push_back(NumberOf(names, trace.graph_nodes.name[node]));
    }
  }
  std::vector<NodeSequence> threads;
  for (auto& [number, thread] : by_thread) {
    threads.push_back(std::move(thread));
  }
  std::ranges::stable_sort(threads, std::greater<>(),
                           [](const NodeSequence& thread) { return thread.items.size(); });
  return threads;
}

std::map<RowId, std::vector<HostRow>> HostRowsByTrack(const Trace& trace) {
  std::map<RowId, std::vector<HostRow>> by_track;
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    by_track[trace.host_ops.track[row]].push_back(
        {row, false, trace.host_ops.external_id[row], trace.host_ops.begin_ns[row]});
  }
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    if (trace.annotations.kind[row] == AnnotationKind::kHost) {
      by_track[trace.annotations.track[row]].push_back(
          {row, true, trace.annotations.external_id[row], trace.annotations.begin_ns[row]});
    }
  }
  return by_track;
}

// In order of the thread's first row, so that equal threads are taken in that order.
std::vector<RowSequence> RowsByThread(const Trace& trace, const NameNumbers& names) {
  std::vector<RowSequence> threads;
  for (auto& [track, rows] : HostRowsByTrack(trace)) {
    std::erase_if(rows, [](const HostRow& row) { return row.external_id < 0; });
    // Microsecond times tie; external ids count calls in the order in which they begin.
    std::ranges::sort(rows, {}, [](const HostRow& row) {
      return std::tuple(row.external_id, row.is_annotation, row.row);
    });
    RowSequence thread{.items = std::move(rows), .names = {}};
    for (const HostRow& row : thread.items) {
      thread.names.push_back(NumberOf(names, row.is_annotation ? trace.annotations.name[row.row]
                                                               : trace.host_ops.name[row.row]));
    }
    if (!thread.items.empty()) {
      threads.push_back(std::move(thread));
    }
  }
  std::ranges::stable_sort(threads, {},
                           [](const RowSequence& thread) { return thread.items.front().begin_ns; });
  return threads;
}

using Names = std::span<const std::uint32_t>;

// For each prefix of `pattern`, the length of its longest proper prefix that is also its suffix
// (Knuth, Morris, Pratt).
std::vector<std::size_t> PrefixFunction(Names pattern) {
  std::vector<std::size_t> prefix(pattern.size(), 0);
  for (std::size_t i = 1, length = 0; i < pattern.size(); ++i) {
    while (length > 0 && pattern[i] != pattern[length]) {
      length = prefix[length - 1];
    }
    length += pattern[i] == pattern[length] ? 1 : 0;
    prefix[i] = length;
  }
  return prefix;
}

// Places in `text` where `pattern` begins, without overlap.
std::vector<std::size_t> FindOccurrences(Names pattern, Names text) {
  const std::vector<std::size_t> prefix = PrefixFunction(pattern);
  std::vector<std::size_t> found;
  for (std::size_t i = 0, length = 0; i < text.size(); ++i) {
    while (length > 0 && text[i] != pattern[length]) {
      length = prefix[length - 1];
    }
    length += text[i] == pattern[length] ? 1 : 0;
    if (length == pattern.size()) {
      found.push_back(i + 1 - length);
      length = 0;
    }
  }
  return found;
}

std::size_t CountEqual(Names lhs, Names rhs) {
  const auto length = static_cast<std::ptrdiff_t>(std::min(lhs.size(), rhs.size()));
  return std::inner_product(lhs.begin(), lhs.begin() + length, rhs.begin(), std::size_t{0},
                            std::plus<>(), std::equal_to<>());
}

// The first place from which the rows agree well enough with the nodes, if there is one.
std::vector<std::size_t> FindSimilar(Names nodes, Names rows) {
  int tries = 0;
  for (std::size_t head = 0; head < rows.size() && tries < kMaxHeadTries; ++head) {
    if (rows[head] != nodes[0]) {
      continue;
    }
    ++tries;
    if (IsEnough(CountEqual(nodes, rows.subspan(head)), nodes.size())) {
      return {head};
    }
  }
  return {};
}

void AddMatches(const NodeSequence& nodes, const RowSequence& rows, std::size_t place,
                std::vector<GraphMatch>& matches) {
  for (std::size_t i = 0; i < nodes.items.size() && place + i < rows.items.size(); ++i) {
    if (nodes.names[i] == rows.names[place + i]) {
      const HostRow& row = rows.items[place + i];
      matches.push_back({nodes.items[i], row.row, row.is_annotation});
    }
  }
}

GraphMatches MatchByOrder(const Trace& trace, const NameNumbers& names) {
  const auto node_threads = NodesByThread(trace, names);
  const auto row_threads = RowsByThread(trace, names);
  std::vector<bool> is_taken(row_threads.size(), false);
  GraphMatches found{.rule = GraphLinkRule::kThreadOrder, .matches = {}};
  std::size_t num_nodes = 0;
  std::size_t num_found = 0;
  for (const NodeSequence& nodes : node_threads) {
    num_nodes += nodes.items.size();
    for (std::size_t thread = 0; thread < row_threads.size(); ++thread) {
      if (is_taken[thread]) {
        continue;
      }
      auto places = FindOccurrences(nodes.names, row_threads[thread].names);
      places = places.empty() ? FindSimilar(nodes.names, row_threads[thread].names) : places;
      if (places.empty()) {
        continue;
      }
      is_taken[thread] = true;
      num_found += nodes.items.size();
      found.rule = places.size() > 1 ? GraphLinkRule::kStepOrder : found.rule;
      for (const std::size_t place : places) {
        AddMatches(nodes, row_threads[thread], place, found.matches);
      }
      break;
    }
  }
  return IsEnough(num_found, num_nodes) ? found : GraphMatches{};
}

GraphMatches MatchById(const Trace& trace, const NameNumbers& names) {
  const RowIndex nodes_by_id(trace.graph_nodes.record_function_id);
  GraphMatches found{.rule = GraphLinkRule::kRecordFunctionId, .matches = {}};
  std::size_t num_tried = 0;
  const auto match_rows = [&](const auto& table, bool is_annotation) {
    for (RowId row = 0; row < table.size(); ++row) {
      const std::int64_t id = table.record_function_id[row];
      const RowId node = id == 0 ? kNoRow : nodes_by_id.First(id);
      if (node == kNoRow || !IsHostWork(trace, node)) {
        continue;
      }
      ++num_tried;
      if (NumberOf(names, trace.graph_nodes.name[node]) == NumberOf(names, table.name[row])) {
        found.matches.push_back({node, row, is_annotation});
      }
    }
  };
  match_rows(trace.host_ops, false);
  match_rows(trace.annotations, true);
  return IsEnough(found.matches.size(), num_tried) ? found : GraphMatches{};
}

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
  // A complete list replaces a truncated one.
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
  // Sequence numbers count on from step to step, and the sizes of all-to-all depend on the data.
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

bool IsHostWork(const Trace& trace, RowId node) {
  const GraphNodeKind kind = trace.graph_nodes.kind[node];
  const bool is_host = kind == GraphNodeKind::kOperator || kind == GraphNodeKind::kAnnotation;
  return is_host && trace.Text(trace.graph_nodes.name[node]) != "## process_group:init ##";
}

GraphMatches MatchGraph(const Trace& trace) {
  const NameNumbers names = NumberNames(trace.strings);
  GraphMatches by_id = MatchById(trace, names);
  return by_id.rule != GraphLinkRule::kNone ? by_id : MatchByOrder(trace, names);
}

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
