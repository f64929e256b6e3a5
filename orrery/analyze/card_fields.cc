#include "orrery/analyze/card_fields.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

#include "orrery/trace/summary.h"

namespace orrery::analyze {
namespace {

// Sections that may contain a field. Cards without model_arch have its fields directly under model.
constexpr std::array<std::string_view, 9> kPlaces{"workload.model.model_arch.",
                                                  "workload.model.",
                                                  "workload.data.",
                                                  "workload.hardware.xpu_spec.",
                                                  "workload.hardware.",
                                                  "workload.hardware.network_topo.",
                                                  "model_executor.model_plan_parallelization.",
                                                  "model_executor.expert_parallel.",
                                                  "model_executor."};

// Returns the first value of a field that `get(path)` accepts.
template <typename Get>
auto FirstOf(const trace::TraceSet& set, std::string_view field, Get&& get)
    -> decltype(get(std::string())) {
  for (const std::string_view place : kPlaces) {
    if (const auto value = set.card ? get(std::string(place).append(field)) : std::nullopt) {
      return value;
    }
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> IfPositive(std::optional<T> number) {
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace

std::optional<double> CardNumber(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field,
                 [&](const std::string& path) { return IfPositive(set.card->Number(path)); });
}

std::optional<std::int64_t> CardInteger(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field,
                 [&](const std::string& path) { return IfPositive(set.card->Integer(path)); });
}

std::optional<std::string_view> CardText(const trace::TraceSet& set, std::string_view field) {
  return FirstOf(set, field, [&](const std::string& path) { return set.card->Text(path); });
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

const hardware::Gpu* ChipOf(const RunView& run) {
  if (const auto model = CardText(*run.set, "xpu_spec.model")) {
    if (const hardware::Gpu* const gpu = hardware::FindGpu(*model)) {
      return gpu;
    }
  }
  return run.set->ranks.empty() ? nullptr
                                : hardware::FindGpu(trace::DeviceName(run.set->ranks.front()));
}

}  // namespace orrery::analyze
