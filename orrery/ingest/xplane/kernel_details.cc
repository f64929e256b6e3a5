#include "orrery/ingest/xplane/kernel_details.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

#include "orrery/base/decimal.h"
#include "orrery/ingest/nsys/json_fields.h"
#include "orrery/ingest/xplane/stat.h"

namespace orrery::ingest::xplane {
namespace {

using Shape = trace::LaunchShapes::Row;

// Calls `visit(name, value)` for each word NAME:VALUE.
template <typename Visit>
void ForEachDetail(std::string_view details, Visit visit) {
  while (!details.empty()) {
    const std::string_view word = details.substr(0, details.find(' '));
    const std::size_t colon = word.find(':');
    if (colon != std::string_view::npos && colon > 0) {
      visit(word.substr(0, colon), word.substr(colon + 1));
    }
    details.remove_prefix(std::min(word.size() + 1, details.size()));
  }
}

std::optional<std::int32_t> SmallNumber(std::string_view text) {
  const auto number = ParseInteger(text);
  const bool fits = number && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max();
  return fits ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

std::optional<std::array<std::int32_t, 3>> Dimensions(std::string_view text) {
  std::array<std::int32_t, 3> sizes{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, sizes[i]);
    const bool has_comma = stop != end && *stop == ',';
    if (error != std::errc() || has_comma != (i + 1 < sizes.size())) {
      return std::nullopt;
    }
    at = has_comma ? stop + 1 : stop;
  }
  return at == end ? std::optional(sizes) : std::nullopt;
}

bool TakeDimensions(std::string_view name, std::string_view value, Shape& shape) {
  const auto sizes = Dimensions(value);
  if (!sizes) {
    return false;
  }
  if (name == "grid") {
    shape.grid_x = (*sizes)[0];
    shape.grid_y = (*sizes)[1];
    shape.grid_z = (*sizes)[2];
    return true;
  }
  if (name == "block") {
    shape.block_x = (*sizes)[0];
    shape.block_y = (*sizes)[1];
    shape.block_z = (*sizes)[2];
    return true;
  }
  return false;
}

// Static and dynamic shared memory are one column; ROCm calls it group memory.
bool TakeNumber(std::string_view name, std::string_view value, Shape& shape) {
  const auto number = SmallNumber(value);
  if (!number) {
    return false;
  }
  if (name == "regs") {
    shape.registers_per_thread = *number;
  } else if (name == "static_shared" || name == "dynamic_shared" || name == "group_mem") {
    shape.shared_memory_bytes = std::max<std::int64_t>(shape.shared_memory_bytes, 0) + *number;
  } else if (name == "occ_pct" && *number > 0) {
    shape.occupancy_percent = *number;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Shape> ParseKernelDetails(std::string_view details, StringTable& strings) {
  Shape shape;
  nsys::JsonFields others;
  bool any = false;
  ForEachDetail(details, [&](std::string_view name, std::string_view value) {
    any = true;
    if (!TakeDimensions(name, value, shape) && !TakeNumber(name, value, shape)) {
      others.AddText(CleanText(name), CleanText(value));
    }
  });
  shape.extra = strings.Intern(others.text());
  return any ? std::optional(shape) : std::nullopt;
}

std::optional<std::int64_t> CopiedBytes(std::string_view details) {
  std::optional<std::int64_t> bytes;
  ForEachDetail(details, [&](std::string_view name, std::string_view value) {
    if (name == "size") {
      bytes = ParseInteger(value);
    }
  });
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

}  // namespace orrery::ingest::xplane
