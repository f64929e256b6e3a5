#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::draw {

/// Writes one JSON document, value by value; wrong nesting is our mistake and stops the program.
///
///   JsonWriter json;
///   json.BeginObject().Key("ranks").Integer(8).Key("gpu").String("H200").EndObject();
///   std::string text = json.Finish();
class JsonWriter {
 public:
  enum class Layout { kPretty, kCompact };

  /// Pretty: one value a line, two spaces of indentation, a line end at the end.
  explicit JsonWriter(Layout layout = Layout::kPretty) : layout_(layout) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();

  /// Names the next value; inside objects only.
  JsonWriter& Key(std::string_view name);

  /// Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& String(std::string_view value);
  JsonWriter& Integer(std::int64_t value);
  JsonWriter& Unsigned(std::uint64_t value);

  /// The fewest digits that read back as the same value; what is not finite becomes null.
  JsonWriter& Number(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  /// Returns the document, which must be complete, and leaves the writer empty.
  [[nodiscard]] std::string Finish();

 private:
  struct Scope {
    bool is_object = false;
    bool is_empty = true;
  };

  void BeforeValue();
  JsonWriter& Begin(bool is_object);
  JsonWriter& End(bool is_object);
  void Separate(Scope& scope);
  void BreakLine();

  Layout layout_;
  std::string out_;
  std::vector<Scope> scopes_;
  bool has_key_ = false;
};

}  // namespace orrery::draw
