#include "orrery/stream/schema_text.h"

#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/core.h>

#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema.h"

namespace orrery::stream {
namespace {

constexpr std::array<std::string_view, 13> kChunkNames{
    "", "HDR", "STR", "STK", "MOD", "FUN", "EVT", "OBJ", "AGG", "TMD", "TRC", "COV", "CAL"};

constexpr std::array<std::string_view, 10> kEncodingNames{
    "u", "s", "m", "text", "list", "Δtime", "Δaddress", "Δsequence", "Δreference", "Δobject"};

template <typename Record>
std::string RowOf() {
  std::string fields;
  ForEachField<Record>([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    fields += fmt::format("{}`{}` {}", fields.empty() ? "" : ", ", field.name,
                          kEncodingNames[static_cast<std::size_t>(encoding)]);
  });
  return fmt::format("| {} {} | {} | `{}` | {} |\n", static_cast<int>(Record::kChunk),
                     kChunkNames[static_cast<std::size_t>(Record::kChunk)], Record::kKind,
                     Record::kName, fields);
}

}  // namespace

std::string SchemaText() {
  std::string text;
  ForEachRecordType([&]<typename Record>() { text += RowOf<Record>(); });
  return text;
}

}  // namespace orrery::stream
