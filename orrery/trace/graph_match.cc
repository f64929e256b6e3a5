#include "orrery/trace/graph_match.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

constexpr std::string_view kStepMarker = "ProfilerStep#";

// Enough to skip what an observer missed; keeps repetitive sequences from costing n².
constexpr int kMaxHeadTries = 64;

bool IsEnough(std::size_t good, std::size_t all) {
  return all > 0 && good * 100 >= all * 99;
}

// Names by number, where step markers are one name whatever their step.
class NameNumbers {
 public:
  explicit NameNumbers(const StringTable& strings) {
    numbers_.reserve(strings.size());
    auto marker = static_cast<std::uint32_t>(strings.size());
    for (std::size_t id = 0; id < strings.size(); ++id) {
      const bool is_marker = strings.View(static_cast<StringId>(id)).starts_with(kStepMarker);
      numbers_.push_back(is_marker ? marker : static_cast<std::uint32_t>(id));
    }
  }

  [[nodiscard]] std::uint32_t Of(StringId name) const {
    return numbers_[static_cast<std::size_t>(name)];
  }

 private:
  std::vector<std::uint32_t> numbers_;
};

struct HostRow {
  RowId row = kNoRow;
  bool is_annotation = false;
  std::int64_t external_id = -1;
  std::int64_t begin_ns = 0;
};

// What one thread ran, in order, and the names to compare it by.
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
      thread.names.push_back(names.Of(trace.graph_nodes.name[node]));
    }
  }
  std::vector<NodeSequence> threads;
  for (auto& [number, thread] : by_thread) {
    threads.push_back(std::move(thread));
  }
  std::stable_sort(threads.begin(), threads.end(), [](const auto& lhs, const auto& rhs) {
    return lhs.items.size() > rhs.items.size();
  });
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

StringId NameOf(const Trace& trace, const HostRow& row) {
  return row.is_annotation ? trace.annotations.name[row.row] : trace.host_ops.name[row.row];
}

// In order of the thread's first row, so that equal threads are taken in that order.
std::vector<RowSequence> RowsByThread(const Trace& trace, const NameNumbers& names) {
  std::vector<RowSequence> threads;
  for (auto& [track, rows] : HostRowsByTrack(trace)) {
    std::erase_if(rows, [](const HostRow& row) { return row.external_id < 0; });
    // Microsecond times tie; external ids count calls in the order in which they begin.
    std::sort(rows.begin(), rows.end(), [](const HostRow& lhs, const HostRow& rhs) {
      return std::tuple(lhs.external_id, lhs.is_annotation, lhs.row) <
             std::tuple(rhs.external_id, rhs.is_annotation, rhs.row);
    });
    RowSequence thread{.items = std::move(rows), .names = {}};
    for (const HostRow& row : thread.items) {
      thread.names.push_back(names.Of(NameOf(trace, row)));
    }
    if (!thread.items.empty()) {
      threads.push_back(std::move(thread));
    }
  }
  std::stable_sort(threads.begin(), threads.end(), [](const auto& lhs, const auto& rhs) {
    return lhs.items.front().begin_ns < rhs.items.front().begin_ns;
  });
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
  std::size_t equal = 0;
  for (std::size_t i = 0; i < std::min(lhs.size(), rhs.size()); ++i) {
    equal += lhs[i] == rhs[i] ? 1 : 0;
  }
  return equal;
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

std::vector<std::size_t> FindPlaces(const NodeSequence& nodes, const RowSequence& rows) {
  auto places = FindOccurrences(nodes.names, rows.names);
  return places.empty() ? FindSimilar(nodes.names, rows.names) : places;
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

std::size_t CountHostWork(const Trace& trace) {
  std::size_t count = 0;
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    count += IsHostWork(trace, node) ? 1 : 0;
  }
  return count;
}

GraphMatches MatchByOrder(const Trace& trace, const NameNumbers& names) {
  const auto node_threads = NodesByThread(trace, names);
  const auto row_threads = RowsByThread(trace, names);
  std::vector<bool> is_taken(row_threads.size(), false);
  GraphMatches found{.rule = GraphLinkRule::kThreadOrder, .matches = {}};
  std::size_t num_found = 0;
  for (const NodeSequence& nodes : node_threads) {
    for (std::size_t thread = 0; thread < row_threads.size(); ++thread) {
      const auto places =
          is_taken[thread] ? std::vector<std::size_t>() : FindPlaces(nodes, row_threads[thread]);
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
  return IsEnough(num_found, CountHostWork(trace)) ? found : GraphMatches{};
}

void MatchRowsById(const Trace& trace, const NameNumbers& names, const RowIndex& nodes_by_id,
                   const auto& table, bool is_annotation, std::size_t& num_tried,
                   std::vector<GraphMatch>& matches) {
  for (RowId row = 0; row < table.size(); ++row) {
    const RowId node = table.record_function_id[row] == 0
                           ? kNoRow
                           : nodes_by_id.First(table.record_function_id[row]);
    if (node == kNoRow || !IsHostWork(trace, node)) {
      continue;
    }
    ++num_tried;
    if (names.Of(trace.graph_nodes.name[node]) == names.Of(table.name[row])) {
      matches.push_back({node, row, is_annotation});
    }
  }
}

GraphMatches MatchById(const Trace& trace, const NameNumbers& names) {
  const RowIndex nodes_by_id(trace.graph_nodes.record_function_id);
  GraphMatches found{.rule = GraphLinkRule::kRecordFunctionId, .matches = {}};
  std::size_t num_tried = 0;
  MatchRowsById(trace, names, nodes_by_id, trace.host_ops, false, num_tried, found.matches);
  MatchRowsById(trace, names, nodes_by_id, trace.annotations, true, num_tried, found.matches);
  return IsEnough(found.matches.size(), num_tried) ? found : GraphMatches{};
}

}  // namespace

bool IsHostWork(const Trace& trace, RowId node) {
  const GraphNodeKind kind = trace.graph_nodes.kind[node];
  const bool is_host = kind == GraphNodeKind::kOperator || kind == GraphNodeKind::kAnnotation;
  return is_host && trace.Text(trace.graph_nodes.name[node]) != "## process_group:init ##";
}

GraphMatches MatchGraph(const Trace& trace) {
  const NameNumbers names(trace.strings);
  GraphMatches by_id = MatchById(trace, names);
  return by_id.rule != GraphLinkRule::kNone ? by_id : MatchByOrder(trace, names);
}

}  // namespace orrery::trace
