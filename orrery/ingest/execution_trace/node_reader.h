#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// A parsed node; its parent is still an id.
struct Node {
  trace::GraphNodes::Row row;
  std::int64_t parent_id = -1;  // -1: not given
  bool has_id = false;
  bool is_empty = true;  // "{}"
};

/// Reads nodes of all schemas: flat (up to 1.0.1), nested (from 1.0.2), and those with times and
/// Chrome keys of traces that were merged with Kineto. The schema version is ignored: a node is
/// read by the keys it has, and what has no column goes to `attributes`.
class NodeReader {
 public:
  explicit NodeReader(StringTable& strings) : strings_(strings) {}

  /// `text` is one JSON object; its capacity is raised to what simdjson wants.
  [[nodiscard]] Result<Node> Read(std::string& text);

 private:
  // A value: its text, and for a string its content.
  struct Value {
    std::string_view raw;
    std::string_view content;
    bool is_string = false;
  };

  void ReadField(std::string_view key, simdjson::ondemand::value value);
  void ReadAttributes(simdjson::ondemand::array attributes);
  void ReadTensors(std::string_view prefix, simdjson::ondemand::object tensors);
  void TakeOrKeep(std::string_view key, const Value& value);
  bool TakeColumn(std::string_view key, const Value& value);
  void Keep(std::string_view key, std::string_view raw);
  void DecideKind();

  static Value ReadValue(simdjson::ondemand::value value);

  StringTable& strings_;
  simdjson::dom::parser validator_;
  simdjson::ondemand::parser parser_;
  Node node_;
  std::string attributes_;
  bool has_chrome_keys_ = false;
};

/// Puts the nodes into order of id and links each to its parent; `parent_ids[i]` is the parent's id
/// of row i as the rows are before. Nodes whose parent is missing and one node of each cycle hang
/// on the process root; both are counted.
void LinkNodes(trace::Trace& trace, std::vector<std::int64_t> parent_ids);

}  // namespace orrery::ingest::execution_trace
