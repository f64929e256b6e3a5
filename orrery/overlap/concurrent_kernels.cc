#include "orrery/overlap/concurrent_kernels.h"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/hardware/gpu.h"
#include "orrery/overlap/embedded_multiprocessors.h"

namespace orrery::overlap {
namespace {

constexpr auto kPatterns =
    std::to_array<std::string_view>({"copy", "reduce_copy", "spin", "ll", "ll128"});
constexpr auto kPlaces = std::to_array<std::string_view>({"hbm", "l2", "host"});
constexpr auto kPriorities = std::to_array<std::string_view>({"same", "communication", "compute"});

template <typename Enum, std::size_t kCount>
Result<Enum> Find(const std::array<std::string_view, kCount>& names, std::string_view name,
                  std::string_view what) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) {
      return static_cast<Enum>(i);
    }
  }
  return Invalid("'{}' is not a valid {}; expected one of {}", name, what, fmt::join(names, ", "));
}

struct Multiprocessors {
  double reach = 1;
  std::map<std::string, Machine, std::less<>> of_generation;
};

Multiprocessors Load() {
  const YAML::Node document = YAML::Load(kEmbeddedMultiprocessors);
  Multiprocessors loaded;
  loaded.reach = document["reach"].as<double>();
  for (const YAML::Node& entry : document["generations"]) {
    Machine& machine = loaded.of_generation[entry["generation"].as<std::string>()];
    machine.sm_clusters = entry["clusters"].as<int>();
    machine.registers = entry["registers"].as<int>();
    machine.shared_bytes = entry["shared_bytes"].as<int>();
    for (const YAML::Node& step : entry["shared_steps_kib"]) {
      machine.shared_steps.push_back(step.as<int>() * 1024);
    }
    machine.threads = entry["threads"].as<int>();
    machine.block_slots = entry["blocks"].as<int>();
    machine.reserved_shared_bytes = entry["reserved_shared_bytes"].as<int>();
  }
  ORRERY_CHECK(loaded.of_generation.contains("hopper"), "the multiprocessors are built in");
  return loaded;
}

}  // namespace

std::string_view PatternName(Pattern pattern) {
  return kPatterns.at(static_cast<std::size_t>(pattern));
}

std::string_view PlaceName(Place place) {
  return kPlaces.at(static_cast<std::size_t>(place));
}

Result<Pattern> PatternOf(std::string_view name) {
  return Find<Pattern>(kPatterns, name, "access pattern");
}

Result<Place> PlaceOf(std::string_view name) {
  return Find<Place>(kPlaces, name, "place of buffers");
}

Result<Priority> PriorityOf(std::string_view name) {
  return Find<Priority>(kPriorities, name, "priority");
}

Family FamilyOf(std::string_view kernel_name) {
  // The first match counts; more specific ones come first.
  constexpr auto kParts = std::to_array<std::pair<std::string_view, Family>>({
      {"nvjet", Family::kNvjet},
      {"flash", Family::kAttention},
      {"fmha", Family::kAttention},
      {"sm90_xmma", Family::kHopperXmma},
      {"xmma", Family::kXmma},
      {"tensorop", Family::kCutlassTensor},
      {"cutlass", Family::kCutlassPlain},
      {"gemm", Family::kOtherGemm},
      {"gemv", Family::kOtherGemm},
      {"conv", Family::kOtherGemm},
      {"at::native", Family::kFramework},
  });
  for (const auto& [part, family] : kParts) {
    if (Contains(kernel_name, part)) {
      return family;
    }
  }
  return Family::kOther;
}

Family DefaultFamily(const hardware::Gpu& gpu, std::string_view kind) {
  if (kind == "attention") {
    return Family::kAttention;
  }
  if (kind != "gemm" && kind != "bgemm" && kind != "groupedgemm" && kind != "conv") {
    return Family::kFramework;
  }
  const bool is_persistent = gpu.generation == "hopper" || gpu.generation == "blackwell";
  return is_persistent ? Family::kNvjet : Family::kCutlassTensor;
}

double TrafficOfPayload(Pattern pattern) {
  constexpr std::array<double, kPatterns.size()> kTraffic = {2, 3, 0, 4, 2 * 128.0 / 120.0};
  return kTraffic.at(static_cast<std::size_t>(pattern));
}

Machine MachineOf(const hardware::Gpu& gpu) {
  static const Multiprocessors kLoaded = Load();
  const auto found = kLoaded.of_generation.find(gpu.generation);
  // Unknown multiprocessors are assumed to be like the measured one.
  Machine machine =
      found != kLoaded.of_generation.end() ? found->second : kLoaded.of_generation.at("hopper");
  machine.generation = gpu.generation;
  machine.sms = gpu.multiprocessors;
  machine.memory_gbps = kLoaded.reach * gpu.memory.bytes_per_second / 1e9;
  machine.cache_bytes = static_cast<double>(gpu.last_level_cache.count);
  return machine;
}

}  // namespace orrery::overlap
