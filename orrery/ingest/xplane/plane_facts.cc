#include "orrery/ingest/xplane/plane_facts.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::xplane {
namespace {

using Device = trace::Devices::Row;

bool TakeNumber(std::string_view name, std::int64_t value, Device& device) {
  using Member = std::pair<std::string_view, std::int32_t Device::*>;
  constexpr std::array kMembers{Member{"core_count", &Device::multiprocessors},
                                Member{"compute_cap_major", &Device::compute_major},
                                Member{"compute_cap_minor", &Device::compute_minor}};
  constexpr std::int64_t kBeyond = 1'000'000;
  if (name == "memory_size" && value >= 0) {
    device.memory_bytes = value;
    return true;
  }
  for (const auto& [key, member] : kMembers) {
    if (name == key && value >= 0 && value < kBeyond) {
      device.*member = static_cast<std::int32_t>(value);
      return true;
    }
  }
  return false;
}

bool IsText(const Stat& stat) {
  return stat.type == Stat::Type::kText || stat.type == Stat::Type::kReference;
}

// The value alone, as JSON.
std::string JsonOf(const Stat& stat, const StatNames& names) {
  nsys::JsonFields field;
  AddField(stat, names, field);
  const std::size_t end_of_name = field.text().find("\":");
  return end_of_name == std::string::npos ? std::string() : field.text().substr(end_of_name + 2);
}

}  // namespace

void AddDevice(const Plane& plane, std::int32_t device, trace::Trace& trace) {
  Device row{.id = device};
  nsys::JsonFields others;
  std::string_view vendor;
  for (const Stat& stat : plane.stats) {
    const std::string_view name = NameOf(stat, plane.stat_names);
    if (name == "device_type_string") {
      row.name = trace.strings.Intern(CleanText(TextOf(stat, plane.stat_names)));
    } else if (!TakeNumber(name, IntegerOf(stat).value_or(-1), row)) {
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
    const std::string text =
        IsText(stat) ? CleanText(TextOf(stat, plane.stat_names)) : JsonOf(stat, plane.stat_names);
    recording.trace.metadata.Append({.key = strings.Intern(CleanText(name)),
                                     .value = strings.Intern(text),
                                     .is_json = static_cast<std::uint8_t>(IsText(stat) ? 0 : 1)});
  }
}

}  // namespace orrery::ingest::xplane
