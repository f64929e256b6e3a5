#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::execution_trace {

/// A node as its text has it; the parent is still a number.
struct Node {
  trace::GraphNodes::Row row;
  std::int64_t parent_id = -1;  // -1: not given
  bool has_id = false;
  bool is_empty = true;  // "{}"
};

/// Reads nodes of all schemas: flat (up to 1.0.1), nested (from 1.0.2), and those with times and
/// Chrome keys of traces that were merged with Kineto. Schemas are not asked for: a node is read by
/// the keys it has, and what has no column goes to `attributes`.
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

  void ReadFields(simdjson::ondemand::object object);
  void ReadField(std::string_view key, simdjson::ondemand::value value);
  void ReadAttributes(simdjson::ondemand::array attributes);
  void ReadTensors(std::string_view prefix, simdjson::ondemand::object tensors);
  void TakeOrKeep(std::string_view key, const Value& value);
  bool TakeColumn(std::string_view key, const Value& value);
  bool TakeText(std::string_view key, const Value& value);
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

}  // namespace orrery::ingest::execution_trace
