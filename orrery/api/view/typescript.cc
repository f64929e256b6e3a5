#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields.h"
#include "orrery/api/view/questions.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/base/document/value.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostColumns = 140;

struct NamedType {
  std::string_view name;
  Value (*schema)();
};

// Those that the page names.
constexpr auto kNamedTypes = std::to_array<NamedType>({
    {"Step", &ObjectSchema<Step>},
    {"RunInfo", &ObjectSchema<RunInfo>},
    {"ActivityClass", &ObjectSchema<ActivityClass>},
    {"SessionInfo", &ObjectSchema<SessionInfo>},
    {"Ranks", &ObjectSchema<Ranks>},
    {"Track", &ObjectSchema<Track>},
    {"SlicePlace", &ObjectSchema<SlicePlace>},
    {"SliceDetails", &ObjectSchema<SliceDetails>},
    {"CollectiveInstance", &ObjectSchema<CollectiveInstance>},
    {"Collectives", &ObjectSchema<Collectives>},
    {"Hop", &ObjectSchema<Hop>},
    {"Critical", &ObjectSchema<Critical>},
    {"RangeTotals", &ObjectSchema<RangeTotals>},
    {"Found", &ObjectSchema<Found>},
    {"TableData", &ObjectSchema<TableData>},
    {"Points", &ObjectSchema<Points>},
    {"Fact", &ObjectSchema<Fact>},
    {"Finding", &ObjectSchema<Finding>},
    {"Chart", &ObjectSchema<Chart>},
    {"Section", &ObjectSchema<Section>},
    {"TabPage", &ObjectSchema<TabPage>},
    {"Change", &ObjectSchema<Change>},
    {"CollectiveChange", &ObjectSchema<CollectiveChange>},
    {"Differences", &ObjectSchema<Differences>},
    {"Prediction", &ObjectSchema<Prediction>},
    {"OpenedPlan", &ObjectSchema<OpenedPlan>},
    {"WhatIfChange", &ObjectSchema<WhatIfChange>},
    {"WhatIfAnswer", &ObjectSchema<WhatIfAnswer>},
});

std::string TextOf(const Value& value) {
  return std::get<std::string>(value.variant());
}

/// Writes JSON Schemas of lists of fields as types.
class Writer {
 public:
  Writer() {
    for (const NamedType& type : kNamedTypes) {
      properties_.push_back(*type.schema().Find("properties"));
    }
  }

  /// "export interface Step { name: string; … }".
  [[nodiscard]] std::string Interface(const NamedType& type) const {
    return fmt::format("export interface {} {}\n", type.name, Braces(Members(type.schema())));
  }

  [[nodiscard]] std::string Type(const Value& schema) const {
    const Value* const type = schema.Find("type");
    if (type == nullptr) {
      return "unknown";
    }
    if (type->IsList()) {
      return OneType(schema, TextOf(type->items().front())) + " | null";
    }
    return OneType(schema, TextOf(*type));
  }

  /// An object in a line.
  [[nodiscard]] std::string Inline(const Value& schema) const {
    const std::vector<std::string> members = Members(schema);
    return members.empty() ? "Record<string, never>"
                           : fmt::format("{{ {} }}", fmt::join(members, "; "));
  }

 private:
  [[nodiscard]] static std::string Braces(const std::vector<std::string>& members) {
    std::string text = "{\n";
    std::string line;
    for (const std::string& member : members) {
      if (!line.empty() && line.size() + member.size() > kMostColumns) {
        text += fmt::format("  {}\n", line);
        line.clear();
      }
      line += fmt::format("{}{};", line.empty() ? "" : " ", member);
    }
    return fmt::format("{}  {}\n}}", text, line);
  }

  [[nodiscard]] std::vector<std::string> Members(const Value& schema) const {
    const std::vector<Value>& required = schema.Find("required")->items();
    std::vector<std::string> members;
    for (const auto& [name, property] : schema.Find("properties")->fields()) {
      const bool is_required = std::ranges::find(required, Value(name)) != required.end();
      members.push_back(fmt::format("{}{}: {}", name, is_required ? "" : "?", Type(property)));
    }
    return members;
  }

  [[nodiscard]] std::string OneType(const Value& schema, std::string_view type) const {
    if (const Value* const words = schema.Find("enum")) {
      std::vector<std::string> choices;
      for (const Value& word : words->items()) {
        choices.push_back(fmt::format("'{}'", TextOf(word)));
      }
      return fmt::format("{}", fmt::join(choices, " | "));
    }
    if (type == "array") {
      const std::string item = Type(*schema.Find("items"));
      if (schema.Find("maxItems") != nullptr) {
        return fmt::format("[{0}, {0}]", item);  // the only length is two
      }
      return item.find(" | ") == std::string::npos ? item + "[]" : fmt::format("({})[]", item);
    }
    if (type == "object") {
      const auto known = std::ranges::find(properties_, *schema.Find("properties"));
      return known == properties_.end()
                 ? Inline(schema)
                 : std::string(
                       kNamedTypes[static_cast<std::size_t>(known - properties_.begin())].name);
    }
    return type == "integer" ? "number" : std::string(type);
  }

  std::vector<Value> properties_;  // of kNamedTypes
};

}  // namespace

std::string TypeScript() {
  const Writer writer;
  std::string text =
      "// Questions to the server and their answers, see docs/formats/view.md.\n"
      "// From the lists of fields in orrery/api/view: orrery help view --typescript\n\n";
  for (const NamedType& type : kNamedTypes) {
    text += writer.Interface(type);
  }
  text += "\n/** By the name behind api/. */\nexport interface Questions {\n";
  for (const Question& question : Questions()) {
    text += fmt::format(
        "  '{}': {{ request: {}; reply: {} }};\n", question.name,
        writer.Inline(question.request_schema()),
        question.reply_schema == nullptr ? "ArrayBuffer" : writer.Type(question.reply_schema()));
  }
  return text + "}\n";
}

}  // namespace orrery::api::view
