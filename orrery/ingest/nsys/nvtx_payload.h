#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"

namespace orrery::ingest::nsys {

/// One field of a decoded payload.
struct PayloadValue {
  std::string_view name = {};
  std::uint64_t bits = 0;  // sign-extended for signed types
  bool is_signed = false;
  bool is_float = false;
  double number = 0;
  std::string_view enum_name = {};  // of an enumeration, where the export has it
};

/// Decodes the binary payloads of NVTX ranges by the schemas that the export holds.
///
/// A payload is: domain, schema, size and place of the data as four 64-bit words, then the data.
/// Fields are read at the offsets of NVTX_PAYLOAD_SCHEMA_ENTRIES; fields that do not lie inside the
/// data are skipped.
class PayloadDecoder {
 public:
  explicit PayloadDecoder(ExportContext& context);

  /// Nothing if there is no schema for it or the bytes are too few.
  [[nodiscard]] std::optional<std::vector<PayloadValue>> Decode(std::string_view bytes) const;

 private:
  using SchemaKey = std::pair<std::int64_t, std::int64_t>;  // domain and schema

  struct Field {
    std::string name = {};
    std::int64_t type = 0;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] std::optional<PayloadValue> DecodeField(const Field& field, std::int64_t domain,
                                                        std::string_view data) const;

  std::map<SchemaKey, std::map<std::int64_t, Field>> schemas_;  // fields by their index
  std::map<SchemaKey, std::map<std::int64_t, std::string>> enums_;
};

/// Adds all values to the arguments of a range.
void AddPayload(JsonFields& extra, const std::vector<PayloadValue>& payload);

/// An operator as PyTorch's `emit_nvtx` writes it into the text of a range.
struct EmittedOperator {
  std::string_view name = {};
  std::int64_t sequence = -1;
  std::int64_t record_function_id = 0;  // "op_id" is the handle of the record function
  std::string_view sizes = {};          // "[[4, 8]]", which is JSON; empty if not told
  std::string_view input_op_ids = {};   // "[(3,0)]"; empty if not told
};

/// Takes "aten::view, seq = 12, op_id = 314, sizes = [[4, 8]], input_op_ids = [(3,0)]" apart; every
/// part after the name is optional. Returns nothing for other text: without any of these parts, and
/// with a name outside the namespaces of PyTorch's operators.
[[nodiscard]] std::optional<EmittedOperator> ParseEmittedOperator(std::string_view text);

}  // namespace orrery::ingest::nsys
