#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/base/string_table.h"
#include "orrery/export/json_writer.h"

namespace orrery::exporting {

/// Writes the fields of one JSON object, commas included; brackets are the caller's. Keys are ours
/// and need no escapes. It is a visitor for event_args.h.
class JsonArgs {
 public:
  JsonArgs(JsonWriter& json, JsonStrings& strings, const StringTable& table)
      : json_(json), strings_(strings), table_(table) {}

  void Integer(std::string_view key, std::int64_t value) {
    Key(key);
    json_.Integer(value);
  }

  void Unsigned(std::string_view key, std::uint64_t value) {
    Key(key);
    json_.Unsigned(value);
  }

  void Flag(std::string_view key, bool value) {
    Key(key);
    json_.Raw(value ? "true" : "false");
  }

  void Words(std::string_view key, std::string_view value) {
    Key(key);
    json_.String(value);
  }

  void Text(std::string_view key, StringId value) {
    if (value != StringId::kEmpty) {
      Key(key);
      strings_.Write(json_, value);
    }
  }

  void Json(std::string_view key, StringId value) {
    if (value != StringId::kEmpty) {
      Key(key);
      json_.Raw(table_.View(value));
    }
  }

  void Triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
    Key(key);
    json_.Raw("[");
    json_.Integer(x);
    json_.Raw(", ");
    json_.Integer(y);
    json_.Raw(", ");
    json_.Integer(z);
    json_.Raw("]");
  }

  void Fields(StringId fields) {
    if (fields != StringId::kEmpty) {
      Separate();
      json_.Raw(table_.View(fields));
    }
  }

 private:
  void Separate() {
    if (any_) {
      json_.Raw(", ");
    }
    any_ = true;
  }

  void Key(std::string_view key) {
    Separate();
    json_.Raw("\"");
    json_.Raw(key);
    json_.Raw("\": ");
  }

  JsonWriter& json_;
  JsonStrings& strings_;
  const StringTable& table_;
  bool any_ = false;
};

}  // namespace orrery::exporting
