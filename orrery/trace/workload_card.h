#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::trace {

/// The description of a run by its owner: model, data, hardware, parallelism. Cards are written by
/// hand and irregular, so a card is stored as scalar values by dotted path
/// ("workload.data.batch_size"); list elements use their index ("hardware.bandwidth_gbps.0").
struct WorkloadCard {
  std::string file;
  std::map<std::string, std::string, std::less<>> values;

  [[nodiscard]] std::optional<std::string_view> Text(std::string_view path) const;

  /// Numbers as written by hand: "16_384", "1,024", "7e9", "8B" (8·10⁹). Words are absent.
  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view path) const;
  [[nodiscard]] std::optional<double> Number(std::string_view path) const;

  bool operator==(const WorkloadCard&) const = default;
};

}  // namespace orrery::trace
