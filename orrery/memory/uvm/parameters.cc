#include "orrery/memory/uvm/parameters.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/embedded_uvm.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

Parameters ReadParameters(const char* costs_key, const char* cost_source) {
  std::optional<Error> wrong;
  YamlFields all(YAML::Load(kEmbeddedUvm)["uvm"], "uvm", wrong);
  YamlFields driver = all.Map("driver");
  YamlFields costs = all.Map(costs_key);
  YamlFields simulation = all.Map("play");
  Parameters parameters{
      .block_bytes = driver.Size("block_bytes", 1),
      .page_bytes = driver.Size("page_bytes", 1),
      .leaf_bytes = driver.Size("leaf_bytes", 1),
      .threshold_percent = driver.Count("threshold_percent", 1),
      .batch_faults = driver.Count("batch_faults", 1),
      .wake_ns = costs.Size("wake_ns", 0),
      .batch_latency_ns = costs.Size("batch_latency_ns", 0),
      .block_service_ns = costs.Size("block_service_ns", 0),
      .prefetch_wake_ns = costs.Size("prefetch_wake_ns", 0),
      .prefetch_call_ns = costs.Size("prefetch_call_ns", 0),
      .prefetch_move_ns = costs.Size("prefetch_move_ns", 0),
      .prefetch_block_ns = costs.Size("prefetch_block_ns", 0),
      .prefetch_share = costs.Positive("prefetch_share"),
      .fault_share = costs.Positive("fault_share"),
      .eviction_share = costs.Positive("eviction_share"),
      .fault_population_gbps = costs.Positive("fault_population_gbps"),
      .prefetch_population_gbps = costs.Positive("prefetch_population_gbps"),
      .kernel_floor_ns = costs.Size("kernel_floor_ns", 0),
      .gpu = simulation.Text("gpu"),
      .iterations = simulation.Count("iterations", 1),
      .max_lookahead = simulation.Count("max_lookahead", 0),
      .cost_source = cost_source,
  };
  ORRERY_CHECK(!wrong, wrong ? wrong->message() : "");
  return parameters;
}

double Seconds(std::int64_t pages, std::int64_t page_bytes, Bandwidth rate) {
  return static_cast<double>(pages * page_bytes) / rate.bytes_per_second;
}

}  // namespace

PrefetchTree Parameters::Tree() const {
  return {.pages_per_block = static_cast<int>(block_bytes / page_bytes),
          .pages_per_leaf = static_cast<int>(leaf_bytes / page_bytes),
          .threshold_percent = threshold_percent};
}

const Parameters& DefaultParameters() {
  static const Parameters parameters = ReadParameters(
      "costs", "were measured on one H200 in a virtual machine, with memory that fits");
  return parameters;
}

const Parameters& PublishedParameters() {
  static const Parameters parameters =
      ReadParameters("published_costs", "are from papers, and not verified");
  return parameters;
}

Status CheckParameters(const Parameters& parameters) {
  const std::int64_t page = parameters.page_bytes;
  const std::int64_t least = parameters.block_bytes / PageMask::kMaxPages;
  if (page <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(page)) || page < least ||
      page > parameters.leaf_bytes) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a page must be a power of two from {} to {} bytes: {}", least,
                            parameters.leaf_bytes, page));
  }
  return {};
}

Rates RatesOn(const hardware::Gpu& gpu, const Parameters& parameters) {
  const double link = gpu.host_link.bytes_per_second;
  constexpr double kGiga = 1e9;
  return {.prefetch = {.copied = {link * parameters.prefetch_share},
                       .empty = {parameters.prefetch_population_gbps * kGiga}},
          .fault = {.copied = {link * parameters.fault_share},
                    .empty = {parameters.fault_population_gbps * kGiga}},
          .eviction = {link * parameters.eviction_share}};
}

std::int64_t MoveTime(const Movement& moved, std::int64_t page_bytes, const Inflow& in,
                      const Rates& rates) {
  const double seconds = Seconds(moved.pages_copied, page_bytes, in.copied) +
                         Seconds(moved.pages_in - moved.pages_copied, page_bytes, in.empty) +
                         Seconds(moved.pages_out, page_bytes, rates.eviction);
  return std::llround(seconds * 1e9);
}

}  // namespace orrery::memory::uvm
