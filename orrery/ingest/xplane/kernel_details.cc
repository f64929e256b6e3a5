#include "orrery/ingest/xplane/kernel_details.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/plane_rows.h"
#include "orrery/ingest/xplane/stat.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

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

std::optional<std::tuple<std::int32_t, std::int32_t, std::int32_t>> Dimensions(
    std::string_view text) {
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
  return at == end ? std::optional(std::tuple(sizes[0], sizes[1], sizes[2])) : std::nullopt;
}

bool TakeDimensions(std::string_view name, std::string_view value, Shape& shape) {
  const auto sizes = Dimensions(value);
  if (!sizes) {
    return false;
  }
  if (name == "grid") {
    std::tie(shape.grid_x, shape.grid_y, shape.grid_z) = *sizes;
  } else if (name == "block") {
    std::tie(shape.block_x, shape.block_y, shape.block_z) = *sizes;
  } else {
    return false;
  }
  return true;
}

// Static and dynamic shared memory are one column; ROCm calls it group memory.
bool TakeNumber(std::string_view name, std::string_view value, Shape& shape) {
  const std::int32_t number = SmallOrUnknown(ParseInteger(value).value_or(-1));
  if (number < 0) {
    return false;
  }
  if (name == "regs") {
    shape.registers_per_thread = number;
  } else if (name == "static_shared" || name == "dynamic_shared" || name == "group_mem") {
    shape.shared_memory_bytes = std::max<std::int64_t>(shape.shared_memory_bytes, 0) + number;
  } else if (name == "occ_pct" && number > 0) {
    shape.occupancy_percent = number;
  } else {
    return false;
  }
  return true;
}

using Device = trace::Devices::Row;

bool TakeDeviceNumber(std::string_view name, std::int64_t value, Device& device) {
  using Member = std::pair<std::string_view, std::int32_t Device::*>;
  constexpr std::array kMembers{Member{"core_count", &Device::multiprocessors},
                                Member{"compute_cap_major", &Device::compute_major},
                                Member{"compute_cap_minor", &Device::compute_minor}};
  constexpr std::int64_t kBeyond = 1'000'000;
  if (name == "memory_size" && value >= 0) {
    device.memory_bytes = value;
    return true;
  }
  const auto member = LookUp(kMembers, name);
  if (!member || value < 0 || value >= kBeyond) {
    return false;
  }
  device.** member = static_cast<std::int32_t>(value);
  return true;
}

// The value alone, as JSON.
std::string JsonOf(const Stat& stat, const StatNames& names) {
  JsonFields field;
  AddField(stat, names, field);
  const std::size_t end_of_name = field.text().find("\":");
  return end_of_name == std::string::npos ? std::string() : field.text().substr(end_of_name + 2);
}

}  // namespace

std::optional<Shape> ParseKernelDetails(std::string_view details, StringTable& strings) {
  Shape shape;
  JsonFields others;
  bool any = false;
  ForEachDetail(details, [&](std::string_view name, std::string_view value) {
    any = true;
    if (!TakeDimensions(name, value, shape) && !TakeNumber(name, value, shape)) {
      others.Add(CleanText(name), CleanText(value));
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

void AddDevice(const Plane& plane, std::int32_t device, trace::Trace& trace) {
  Device row{.id = device};
  JsonFields others;
  std::string_view vendor;
  for (const Stat& stat : plane.stats) {
    const std::string_view name = NameOf(stat, plane.stat_names);
    if (name == "device_type_string") {
      row.name = trace.strings.Intern(CleanText(TextOf(stat, plane.stat_names)));
    } else if (!TakeDeviceNumber(name, IntegerOf(stat).value_or(-1), row)) {
      AddField(stat, plane.stat_names, others);
    }
    vendor = name == "device_vendor" ? TextOf(stat, plane.stat_names) : vendor;
  }
  if (row.name == StringId::kEmpty) {
    row.name = trace.strings.Intern(CleanText(vendor));
  }
  row.extra = trace.strings.Intern(others.text());
  trace.devices.Append(row);
}

void AddMetadata(const Plane& plane, Recording& recording) {
  StringTable& strings = recording.trace.strings;
  for (const Stat& stat : plane.stats) {
    const std::string_view name = NameOf(stat, plane.stat_names);
    const auto value = IntegerOf(stat);
    if (name == "profile_start_time" && value && *value > 0) {
      recording.profile_start_ns = value;
    }
    const bool is_text = stat.type == Stat::Type::kText || stat.type == Stat::Type::kReference;
    const std::string text =
        is_text ? CleanText(TextOf(stat, plane.stat_names)) : JsonOf(stat, plane.stat_names);
    recording.trace.metadata.Append({.key = strings.Intern(CleanText(name)),
                                     .value = strings.Intern(text),
                                     .is_json = static_cast<std::uint8_t>(is_text ? 0 : 1)});
  }
}

}  // namespace orrery::ingest::xplane
