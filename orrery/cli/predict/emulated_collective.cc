#include "orrery/cli/predict/emulated_collective.h"

#include <string_view>

#include <fmt/core.h>

#include "orrery/cli/number_settings.h"
#include "orrery/compat/astra_sim/astra_sim.h"
#include "orrery/compat/simai/bus_bandwidth.h"

namespace orrery::cli {
namespace {

namespace astra_sim = compat::astra_sim;
namespace simai = compat::simai;
using collective::CollectiveKind;

tl::unexpected<Error> NotEmulated(std::string_view model, CollectiveKind kind) {
  return Fail(Error::Kind::kUnsupported,
              fmt::format("{} of {} is not simulated", collective::Name(kind), model));
}

Result<Duration> EmulateAstraSim(const std::string& text, const collective::Request& request) {
  ORRERY_TRY(
      const NumberSettings settings,
      ReadNumberSettings(
          text, {{"npus", 8}, {"bandwidth", 50}, {"latency", 500}, {"splits", 4}, {"memory", 50}}));
  const astra_sim::System system{.network = {.npus = static_cast<int>(settings.at("npus")),
                                             .gib_per_second = settings.at("bandwidth"),
                                             .latency_ns = settings.at("latency")},
                                 .splits = static_cast<int>(settings.at("splits")),
                                 .memory_gb_per_second = settings.at("memory")};
  switch (request.kind) {
    case CollectiveKind::kAllReduce:
      return astra_sim::RingAllReduceTime(system, request.size);
    case CollectiveKind::kAllGather:
      return astra_sim::RingAllGatherTime(system, request.size);
    case CollectiveKind::kReduceScatter:
      return astra_sim::RingReduceScatterTime(system, request.size);
    default:
      return NotEmulated("ASTRA-sim", request.kind);
  }
}

Result<Duration> SimulateSimai(const std::string& text, const collective::Request& request) {
  // `group`: 0 tensor, 1 expert, 2 data, 3 data of experts.
  ORRERY_TRY(const NumberSettings settings, ReadNumberSettings(text, {{"nvlink", 360},
                                                                      {"nic", 48.5},
                                                                      {"nics", 8},
                                                                      {"server", 8},
                                                                      {"gpus", 8},
                                                                      {"tp", 1},
                                                                      {"ep", 1},
                                                                      {"pp", 1},
                                                                      {"group", 0}}));
  const auto whole = [&](const char* name) { return static_cast<int>(settings.at(name)); };
  if (whole("group") > 3) {
    return Fail(Error::Kind::kInvalidInput,
                "--with: group is 0 (tensor), 1 (expert), 2 (data) or 3 (data of experts)");
  }
  if (!simai::IsModelled(request.kind)) {
    return NotEmulated("SimAI", request.kind);
  }
  const simai::Machine machine{.nvlink_gib_per_second = settings.at("nvlink"),
                               .nic_gib_per_second = settings.at("nic"),
                               .nics_per_server = whole("nics"),
                               .gpus_per_server = whole("server")};
  const simai::Plan plan{
      .gpus = whole("gpus"), .tensor = whole("tp"), .expert = whole("ep"), .pipeline = whole("pp")};
  return simai::CollectiveTime(
      {request.kind, static_cast<simai::Group>(whole("group")), request.size}, plan, machine);
}

}  // namespace

Result<Duration> EmulatedCollectiveTime(const std::string& model, const std::string& settings,
                                        const collective::Request& request) {
  if (model == "astra-sim") {
    return EmulateAstraSim(settings, request);
  }
  if (model == "simai") {
    return SimulateSimai(settings, request);
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("--emulate: '{}' is no model; there are astra-sim and simai", model));
}

}  // namespace orrery::cli
