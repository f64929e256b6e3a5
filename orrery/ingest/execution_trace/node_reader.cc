#include "orrery/ingest/execution_trace/node_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::GraphNodeKind;
using trace::GraphNodes;

constexpr std::int32_t kUserScope = 7;

// "12", "\"12\"" and, for a list of parents, the first of "[12,13]".
std::optional<std::int64_t> IntegerOf(std::string_view raw) {
  if (raw.starts_with('[')) {
    raw.remove_prefix(1);
    raw = raw.substr(0, raw.find_first_of(",]"));
  }
  return ingest::IntegerOf(raw);
}

constexpr auto kNumberColumns =
    std::to_array<std::pair<std::string_view, std::int64_t GraphNodes::Row::*>>({
        {"rf_id", &GraphNodes::Row::record_function_id},
        {"fw_parent", &GraphNodes::Row::forward_parent},
        {"seq_id", &GraphNodes::Row::sequence},
    });

constexpr auto kSmallNumberColumns =
    std::to_array<std::pair<std::string_view, std::int32_t GraphNodes::Row::*>>({
        {"scope", &GraphNodes::Row::scope},
        {"tid", &GraphNodes::Row::thread},
        {"fw_tid", &GraphNodes::Row::forward_thread},
    });

// JSON text. Nested nodes have "inputs": {"values": …}, flat ones "inputs" and "input_shapes".
struct TextColumn {
  std::string_view nested_prefix;
  std::string_view nested_key;
  std::string_view flat_key;
  StringId GraphNodes::Row::* member;
};

constexpr std::array kTextColumns{
    TextColumn{"inputs", "values", "inputs", &GraphNodes::Row::input_values},
    TextColumn{"inputs", "shapes", "input_shapes", &GraphNodes::Row::input_shapes},
    TextColumn{"inputs", "types", "input_types", &GraphNodes::Row::input_types},
    TextColumn{"inputs", "strides", "input_strides", &GraphNodes::Row::input_strides},
    TextColumn{"outputs", "values", "outputs", &GraphNodes::Row::output_values},
    TextColumn{"outputs", "shapes", "output_shapes", &GraphNodes::Row::output_shapes},
    TextColumn{"outputs", "types", "output_types", &GraphNodes::Row::output_types},
    TextColumn{"outputs", "strides", "output_strides", &GraphNodes::Row::output_strides},
};

bool TakeNumber(std::string_view key, std::string_view raw, GraphNodes::Row& row) {
  const auto number = IntegerOf(raw);
  if (const auto member = LookUp(kNumberColumns, key); number && member) {
    row.** member = *number;
    return true;
  }
  if (const auto member = LookUp(kSmallNumberColumns, key);
      member && number && std::in_range<std::int32_t>(*number)) {
    row.** member = static_cast<std::int32_t>(*number);
    return true;
  }
  return false;
}

bool TakeTime(std::string_view key, std::string_view raw, GraphNodes::Row& row) {
  const auto nanoseconds = ParseMicroseconds(Unquoted(raw));
  if (!nanoseconds || *nanoseconds < 0) {
    return false;
  }
  (key == "ts" ? row.begin_ns : row.duration_ns) = *nanoseconds;
  return true;
}

tl::unexpected<Error> InvalidNode(std::string_view why) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("a node is not valid JSON: {}", why));
}

using trace::Trace;

// File order is the order in which operators ended; id order is that in which they began.
void SortById(GraphNodes& nodes, std::vector<std::int64_t>& parent_ids) {
  std::vector<RowId> order(nodes.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::ranges::stable_sort(order, {}, [&](RowId row) { return nodes.id[row]; });
  std::vector<std::int64_t> sorted_ids;
  sorted_ids.reserve(order.size());
  for (const RowId row : order) {
    sorted_ids.push_back(parent_ids[row]);
  }
  PermuteRows(nodes, order);
  parent_ids = std::move(sorted_ids);
}

RowId FindProcessRoot(const Trace& trace) {
  for (RowId row = 0; row < trace.graph_nodes.size(); ++row) {
    if (trace.graph_nodes.kind[row] == GraphNodeKind::kRoot &&
        trace.Text(trace.graph_nodes.name[row]).ends_with("|process]")) {
      return row;
    }
  }
  return kNoRow;
}

enum class Visit : std::uint8_t { kNew, kOnPath, kDone };

// Follows parents from `row` up to known ground; returns the node that closes a cycle, if any.
RowId WalkUp(const GraphNodes& nodes, RowId row, std::vector<Visit>& visits) {
  RowId last = kNoRow;
  for (; row != kNoRow && visits[row] == Visit::kNew; row = nodes.parent[row]) {
    visits[row] = Visit::kOnPath;
    last = row;
  }
  return row != kNoRow && visits[row] == Visit::kOnPath ? last : kNoRow;
}

std::int64_t BreakCycles(GraphNodes& nodes, RowId root) {
  std::vector<Visit> visits(nodes.size(), Visit::kNew);
  std::int64_t num_cycles = 0;
  for (RowId row = 0; row < nodes.size(); ++row) {
    const RowId closing = WalkUp(nodes, row, visits);
    if (closing != kNoRow) {
      nodes.parent[closing] = root;
      ++num_cycles;
    }
    for (RowId done = row; done != kNoRow && visits[done] == Visit::kOnPath;
         done = nodes.parent[done]) {
      visits[done] = Visit::kDone;
    }
  }
  return num_cycles;
}

}  // namespace

Result<Node> NodeReader::Read(std::string& text) {
  node_ = {};
  attributes_.clear();
  has_chrome_keys_ = false;
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  // On-demand parsing leaves what is not requested unchecked, and whole values are kept as text.
  if (const auto error = validator_.parse(text.data(), text.size(), false).error()) {
    return InvalidNode(simdjson::error_message(error));
  }
  try {
    simdjson::ondemand::document document =
        parser_.iterate(simdjson::padded_string_view(text.data(), text.size(), text.capacity()));
    for (auto field : document.get_object()) {
      node_.is_empty = false;
      ReadField(field.unescaped_key(), field.value());
    }
  } catch (const simdjson::simdjson_error& error) {
    return InvalidNode(error.what());
  }
  node_.row.attributes = strings_.Intern(attributes_);
  if (node_.row.begin_ns >= 0 && node_.row.duration_ns < 0) {
    node_.row.duration_ns = 0;
  }
  DecideKind();
  return node_;
}

void NodeReader::ReadField(std::string_view key, simdjson::ondemand::value value) {
  const simdjson::ondemand::json_type type = value.type();
  if (key == "attrs" && type == simdjson::ondemand::json_type::array) {
    ReadAttributes(value.get_array());
  } else if ((key == "inputs" || key == "outputs") &&
             type == simdjson::ondemand::json_type::object) {
    ReadTensors(key, value.get_object());
  } else {
    TakeOrKeep(key, ReadValue(value));
  }
}

void NodeReader::ReadAttributes(simdjson::ondemand::array attributes) {
  for (auto attribute : attributes) {
    std::string_view name;
    Value value;
    for (auto field : attribute.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "name") {
        name = field.value().get_string();
      } else if (key == "value") {
        value = ReadValue(field.value());
      }
    }
    if (!name.empty() && !value.raw.empty()) {
      TakeOrKeep(name, value);
    }
  }
}

void NodeReader::ReadTensors(std::string_view prefix, simdjson::ondemand::object tensors) {
  for (auto field : tensors) {
    const std::string_view key = field.unescaped_key();
    const std::string_view raw = ReadValue(field.value()).raw;
    const auto* const column = std::ranges::find_if(kTextColumns, [&](const TextColumn& each) {
      return each.nested_prefix == prefix && each.nested_key == key;
    });
    if (column != kTextColumns.end()) {
      node_.row.*column->member = strings_.Intern(raw);
    } else {
      Keep(fmt::format("{}.{}", prefix, key), raw);
    }
  }
}

NodeReader::Value NodeReader::ReadValue(simdjson::ondemand::value value) {
  Value read;
  read.raw = simdjson::to_json_string(value);
  read.is_string = read.raw.starts_with('"');
  if (read.is_string) {
    read.content = value.get_string();
  }
  return read;
}

void NodeReader::TakeOrKeep(std::string_view key, const Value& value) {
  if (!TakeColumn(key, value)) {
    has_chrome_keys_ = has_chrome_keys_ || key == "ph" || key == "cat";
    Keep(key, value.raw);
  }
}

bool NodeReader::TakeColumn(std::string_view key, const Value& value) {
  if (key == "id") {
    const auto id = IntegerOf(value.raw);
    node_.row.id = id.value_or(0);
    node_.has_id = id.has_value();
    return node_.has_id;
  }
  if (key == "parent" || key == "ctrl_deps") {
    node_.parent_id = IntegerOf(value.raw).value_or(-1);
    // More than one dependency is kept as it is, beside the first.
    return value.raw.find(',') == std::string_view::npos;
  }
  if (key == "ts" || key == "dur") {
    return TakeTime(key, value.raw, node_.row);
  }
  if ((key == "name" || key == "op_schema") && value.is_string) {
    (key == "name" ? node_.row.name : node_.row.op_schema) = strings_.Intern(value.content);
    return true;
  }
  if (const auto* column = std::ranges::find(kTextColumns, key, &TextColumn::flat_key);
      column != kTextColumns.end()) {
    node_.row.*column->member = strings_.Intern(value.raw);
    return true;
  }
  return TakeNumber(key, value.raw, node_.row);
}

void NodeReader::Keep(std::string_view key, std::string_view raw) {
  attributes_ += fmt::format("{}{}:{}", attributes_.empty() ? "" : ",", QuoteJson(key), raw);
}

void NodeReader::DecideKind() {
  const std::string_view name = strings_.View(node_.row.name);
  if (name.starts_with("[pytorch|profiler|execution_")) {
    node_.row.kind = GraphNodeKind::kRoot;
  } else if (has_chrome_keys_) {
    node_.row.kind = GraphNodeKind::kDeviceWork;
  } else if (node_.row.scope == kUserScope) {
    node_.row.kind = GraphNodeKind::kAnnotation;
  }
}

void LinkNodes(Trace& trace, std::vector<std::int64_t> parent_ids) {
  GraphNodes& nodes = trace.graph_nodes;
  SortById(nodes, parent_ids);
  for (std::size_t row = 1; row < nodes.size(); ++row) {
    if (nodes.id[row] == nodes.id[row - 1]) {
      trace.problems.Note("graph nodes that share an id", 1, fmt::format("node {}", nodes.id[row]));
    }
  }
  const trace::RowIndex by_id(nodes.id);
  const RowId root = FindProcessRoot(trace);
  for (RowId row = 0; row < nodes.size(); ++row) {
    if (row == root) {
      continue;
    }
    nodes.parent[row] = by_id.First(parent_ids[row]);
    if (nodes.parent[row] == kNoRow) {
      nodes.parent[row] = root;
      trace.problems.Note("graph node whose parent is missing, now below the root", 1,
                          fmt::format("node {}", nodes.id[row]));
    }
  }
  trace.problems.Note("cycle of graph nodes, broken", BreakCycles(nodes, root));
}

}  // namespace orrery::ingest::execution_trace
