#include "orrery/ingest/nsys/nvtx_payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/sqlite_database.h"

namespace orrery::ingest::nsys {
namespace {

constexpr std::size_t kHeaderBytes = 32;

// Schemas and enumerations that a program registers have numbers from here on.
constexpr std::int64_t kFirstRegistered = 1 << 24;

std::uint64_t ReadWord(std::string_view bytes, std::size_t offset, std::size_t size) {
  static_assert(std::endian::native == std::endian::little, "payloads are little-endian");
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, size);
  return word;
}

struct FieldType {
  std::uint64_t bytes = 0;  // 0: a type we do not read
  bool is_signed = false;
  bool is_float = false;
};

// NVTX_PAYLOAD_ENTRY_TYPE_* of the NVTX extension for payloads, for a 64-bit Linux program.
FieldType TypeOf(std::int64_t type) {
  // Pairs of a signed and an unsigned type, of these many bytes: char, short, int, long, long long,
  // int8, int16, int32, int64. 0 is invalid, 21 is long double.
  constexpr std::array<std::uint64_t, 9> kPairBytes{1, 2, 4, 8, 8, 1, 2, 4, 8};
  if (type >= kFirstRegistered) {
    return {4};  // NCCL's enumerations
  }
  if (type >= 1 && type <= 18) {
    return {kPairBytes[static_cast<std::size_t>(type - 1) / 2], type % 2 == 1};
  }
  switch (type) {
    case 19:  // float
      return {4, true, true};
    case 20:  // double
      return {8, true, true};
    case 22:  // size_t
    case 23:  // address
      return {8};
    default:
      return {};
  }
}

// The data of a payload. The fourth word has been seen as the place of the data and as the size of
// the whole, so it is believed only where the data fit.
std::string_view DataOf(std::string_view bytes) {
  const std::uint64_t size = ReadWord(bytes, 16, 8);
  const std::uint64_t offset = ReadWord(bytes, 24, 8);
  const bool is_place = offset >= kHeaderBytes && offset <= bytes.size() &&
                        size <= bytes.size() - static_cast<std::size_t>(offset);
  return bytes.substr(is_place ? static_cast<std::size_t>(offset) : kHeaderBytes,
                      static_cast<std::size_t>(size));
}

// In the order in which they are written.
constexpr std::array<std::string_view, 4> kMarkers{
    ", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};

using Parts = std::array<std::string_view, kMarkers.size()>;

// Cuts the parts off from the back, so that each ends where the next begins.
Parts CutParts(std::string_view& text) {
  Parts parts;
  for (std::size_t i = kMarkers.size(); i > 0; --i) {
    const std::size_t at = text.rfind(kMarkers[i - 1]);
    if (at != std::string_view::npos) {
      parts[i - 1] = text.substr(at + kMarkers[i - 1].size());
      text = text.substr(0, at);
    }
  }
  return parts;
}

// Lists of numbers are JSON as they stand; anything else is not passed on as such.
bool IsListOfNumbers(std::string_view text) {
  return text.starts_with('[') && text.ends_with(']') &&
         text.find_first_not_of("[]0123456789-, ") == std::string_view::npos &&
         std::ranges::count(text, '[') == std::ranges::count(text, ']');
}

}  // namespace

PayloadDecoder::PayloadDecoder(ExportContext& context) {
  context.ForEachRow("NVTX_PAYLOAD_SCHEMA_ENTRIES",
                     {"domainId", "schemaId", "idx", "type", "name", "offset"},
                     [&](TableScan& row) {
                       const std::int64_t offset = row.Integer(5);
                       if (offset >= 0) {
                         schemas_[{row.Integer(0), row.Integer(1)}][row.Integer(2)] = {
                             .name = std::string(row.Text(4)),
                             .type = row.Integer(3),
                             .offset = static_cast<std::uint64_t>(offset)};
                       }
                     });
  context.ForEachRow("NVTX_PAYLOAD_ENUM_ENTRIES", {"domainId", "schemaId", "value", "name"},
                     [&](TableScan& row) {
                       enums_[{row.Integer(0), row.Integer(1)}][row.Integer(2)] = row.Text(3);
                     });
}

std::optional<PayloadValue> PayloadDecoder::DecodeField(const Field& field, std::int64_t domain,
                                                        std::string_view data) const {
  const FieldType type = TypeOf(field.type);
  if (type.bytes == 0 || field.offset > data.size() || type.bytes > data.size() - field.offset) {
    return std::nullopt;
  }
  const std::uint64_t bits = ReadWord(data, field.offset, type.bytes);
  PayloadValue value{.name = field.name, .bits = bits, .is_signed = type.is_signed};
  if (type.is_float) {
    value.is_float = true;
    value.number = type.bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                   : std::bit_cast<double>(bits);
  } else if (type.is_signed) {
    const std::uint64_t shift = 64 - 8 * type.bytes;
    value.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift);
  }
  if (const auto names = enums_.find({domain, field.type}); names != enums_.end()) {
    const auto name = names->second.find(static_cast<std::int64_t>(bits));
    value.enum_name = name == names->second.end() ? std::string_view() : name->second;
  }
  return value;
}

std::optional<std::vector<PayloadValue>> PayloadDecoder::Decode(std::string_view bytes) const {
  if (bytes.size() < kHeaderBytes) {
    return std::nullopt;
  }
  // Both fit into 32 bits; the upper halves of their words have been seen to hold flags.
  const auto domain = static_cast<std::int64_t>(ReadWord(bytes, 0, 4));
  const auto schema = schemas_.find({domain, static_cast<std::int64_t>(ReadWord(bytes, 8, 4))});
  if (schema == schemas_.end()) {
    return std::nullopt;
  }
  const std::string_view data = DataOf(bytes);
  std::vector<PayloadValue> values;
  for (const auto& [index, field] : schema->second) {
    if (const auto value = DecodeField(field, domain, data)) {
      values.push_back(*value);
    }
  }
  return values;
}

void AddPayload(JsonFields& extra, const std::vector<PayloadValue>& payload) {
  for (const PayloadValue& value : payload) {
    if (!value.enum_name.empty()) {
      extra.Add(value.name, value.enum_name);
    } else if (value.is_float) {
      extra.Add(value.name, value.number);
    } else if (value.is_signed) {
      extra.Add(value.name, static_cast<std::int64_t>(value.bits));
    } else {
      extra.Add(value.name, value.bits);
    }
  }
}

std::optional<EmittedOperator> ParseEmittedOperator(std::string_view text) {
  EmittedOperator op{.name = text};
  const Parts parts = CutParts(op.name);
  if (op.name.size() == text.size() && !text.starts_with("aten::")) {
    return std::nullopt;
  }
  op.sequence = ParsePrefix<std::int64_t>(parts[0]).value_or(-1);
  op.record_function_id = ParsePrefix<std::int64_t>(parts[1]).value_or(0);
  op.sizes = IsListOfNumbers(parts[2]) ? parts[2] : std::string_view();
  op.input_op_ids = parts[3];
  return op;
}

}  // namespace orrery::ingest::nsys
