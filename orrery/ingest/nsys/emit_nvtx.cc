#include "orrery/ingest/nsys/emit_nvtx.h"

#include <algorithm>
#include <array>

#include "orrery/base/parse_number.h"

namespace orrery::ingest::nsys {
namespace {

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
         std::count(text.begin(), text.end(), '[') == std::count(text.begin(), text.end(), ']');
}

}  // namespace

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
