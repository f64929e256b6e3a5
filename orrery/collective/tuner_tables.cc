#include "orrery/collective/tuner_tables.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <system_error>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/collective/embedded_nccl.h"

namespace orrery::collective {
namespace {

constexpr std::array<const char*, kNumTunedAlgorithms> kAlgorithmKeys = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};

constexpr std::array<const char*, kNumProtocols> kProtocolKeys = {"ll", "ll128", "simple"};

constexpr std::array<const char*, 4> kGenerationKeys = {"volta", "ampere", "hopper", "blackwell"};

// Each reader below takes the fields that exist and keeps the others of the previous version.

template <typename Value>
void ReadValue(const YAML::Node& node, Value& value) {
  if (node.IsDefined()) {
    value = node.as<Value>();
  }
}

template <typename Rows, std::size_t kSize>
void ReadRows(const YAML::Node& node, const std::array<const char*, kSize>& keys, Rows& rows) {
  for (std::size_t i = 0; node.IsDefined() && i < kSize; ++i) {
    ReadValue(node[keys[i]], rows[i]);
  }
}

void ReadLatencies(const YAML::Node& node, TunerTables::Latencies& latencies) {
  if (node.IsDefined()) {
    ReadRows(node["base"], kAlgorithmKeys, latencies.base);
    ReadRows(node["nvlink"], kAlgorithmKeys, latencies.nvlink);
    ReadRows(node["pci"], kAlgorithmKeys, latencies.pci);
    ReadRows(node["network"], kAlgorithmKeys, latencies.network);
  }
}

void ReadLimits(const YAML::Node& node, TunerTables::Limits& limits) {
  if (node.IsDefined()) {
    ReadRows(node["ll"], kGenerationKeys, limits.ll);
    ReadRows(node["ring_ll128_channel"], kGenerationKeys, limits.ring_ll128_channel);
    ReadRows(node["tree_ll128_channel"], kGenerationKeys, limits.tree_ll128_channel);
    ReadRows(node["tree_channel"], kGenerationKeys, limits.tree_channel);
    ReadRows(node["nvls_tree_channel"], kGenerationKeys, limits.nvls_tree_channel);
  }
}

void ReadVersion(const YAML::Node& node, TunerTables& tables) {
  tables.version = node["version"].as<std::string>();
  ReadLatencies(node["latency_us"], tables.latencies);
  ReadLimits(node["gbps"], tables.limits);
  ReadRows(node["nvls_efficiency"], kGenerationKeys, tables.nvls_efficiency);
  ReadValue(node["nvls_head_share"], tables.nvls_head_share);
  ReadValue(node["ring_ll_share"], tables.ring_ll_share);
  ReadValue(node["ring_ll_share_one_way"], tables.ring_ll_share_one_way);
  ReadValue(node["has_nvls"], tables.has_nvls);
  ReadValue(node["has_pat"], tables.has_pat);
  ReadRows(node["tree_correction"], kProtocolKeys, tables.tree_correction);
}

// Newest first.
struct Version {
  int major = 0;
  int minor = 0;

  auto operator<=>(const Version&) const = default;
};

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') {
    return std::nullopt;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  return minor.ec == std::errc{} ? std::optional(version) : std::nullopt;
}

}  // namespace

std::size_t RowOf(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kVolta:
      return 0;
    case GpuGeneration::kAmpere:
    case GpuGeneration::kOther:
      return 1;
    case GpuGeneration::kHopper:
      return 2;
    case GpuGeneration::kBlackwell:
      return 3;
  }
  return 1;
}

const std::vector<TunerTables>& AllTunerTables() {
  static const std::vector<TunerTables> all = [] {
    std::vector<TunerTables> versions;
    for (const YAML::Node& node : YAML::Load(kEmbeddedNcclTuner)["versions"]) {
      TunerTables tables;
      if (node["like"].IsDefined()) {
        const auto like =
            std::ranges::find(versions, node["like"].as<std::string>(), &TunerTables::version);
        ORRERY_CHECK(like != versions.end(), node["like"].as<std::string>());
        tables = *like;
      }
      ReadVersion(node, tables);
      versions.push_back(std::move(tables));
    }
    return versions;
  }();
  return all;
}

const TunerTables& NewestTunerTables() {
  return AllTunerTables().front();
}

Result<const TunerTables*> FindTunerTables(std::string_view nccl_version) {
  if (nccl_version.empty()) {
    return &NewestTunerTables();
  }
  const std::optional<Version> version = ParseVersion(nccl_version);
  if (!version) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("'{}' is no version of NCCL such as 2.21.5", nccl_version));
  }
  const auto& all = AllTunerTables();
  const auto found = std::ranges::find_if(
      all, [&](const TunerTables& tables) { return *ParseVersion(tables.version) <= *version; });
  if (found == all.end()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("the oldest NCCL whose choices are known is {}, not {}",
                            all.back().version, nccl_version));
  }
  return &*found;
}

}  // namespace orrery::collective
