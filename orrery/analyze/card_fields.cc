#include "orrery/analyze/card_fields.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

namespace orrery::analyze {
namespace {

// Where a field may be; the card reader folds case and spelling of keys. model_arch is missing in
// some cards, its fields then stand directly under model.
constexpr std::array<std::string_view, 9> kPlaces{"workload.model.model_arch.",
                                                  "workload.model.",
                                                  "workload.data.",
                                                  "workload.hardware.xpu_spec.",
                                                  "workload.hardware.",
                                                  "workload.hardware.network_topo.",
                                                  "model_executor.model_plan_parallelization.",
                                                  "model_executor.expert_parallel.",
                                                  "model_executor."};

std::optional<std::string_view> Find(const trace::TraceSet& set, std::string_view field) {
  if (!set.card) {
    return std::nullopt;
  }
  for (const std::string_view place : kPlaces) {
    if (const auto text = set.card->Text(std::string(place).append(field))) {
      return text;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> CardNumber(const trace::TraceSet& set, std::string_view field) {
  if (!set.card) {
    return std::nullopt;
  }
  for (const std::string_view place : kPlaces) {
    const auto number = set.card->Number(std::string(place).append(field));
    if (number && *number > 0) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> CardInteger(const trace::TraceSet& set, std::string_view field) {
  if (!set.card) {
    return std::nullopt;
  }
  for (const std::string_view place : kPlaces) {
    const auto number = set.card->Integer(std::string(place).append(field));
    if (number && *number > 0) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> CardText(const trace::TraceSet& set, std::string_view field) {
  return Find(set, field);
}

std::string WhyNoCardValue(const trace::TraceSet& set, std::string_view field) {
  return set.card ? fmt::format("the workload card has no usable {}", field)
                  : fmt::format("no workload card (it would give {})", field);
}

std::int64_t CardParallelSize(const trace::TraceSet& set, std::string_view dimension) {
  if (dimension == "dp") {
    return CardInteger(set, "dp_replicate").value_or(1) * CardInteger(set, "dp_shard").value_or(1);
  }
  return CardInteger(set, dimension).value_or(1);
}

std::optional<double> CardLinkBytesPerSecond(const trace::TraceSet& set, bool inside_node) {
  const auto gigabits = CardNumber(set, inside_node ? "bandwidth_gbps.1" : "bandwidth_gbps.0");
  return gigabits ? std::optional(*gigabits * 1e9 / 8) : std::nullopt;
}

}  // namespace orrery::analyze
