#include "orrery/workload/recorded/host/host_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/workload/embedded_hosts.h"
#include "orrery/workload/input.h"
#include "orrery/workload/recorded/host/host_pace.h"

namespace orrery::workload {
namespace {

/// Nanoseconds of one call, by what is called.
using MeasuredCosts = std::map<std::string, double, std::less<>>;

/// The file of known hosts.
struct HostFile {
  MeasuredCosts reference;
  std::vector<HostMachine> machines;
};

// Costs that capture/host measures; the last needs a GPU.
constexpr auto kOperators =
    std::to_array<std::string_view>({"view", "empty", "operator", "backward"});
constexpr auto kProgram = std::to_array<std::string_view>({"python", "module"});
constexpr auto kLaunches = std::to_array<std::string_view>({"launch"});

HostMachine MachineOf(YamlFields fields) {
  HostMachine machine{.name = fields.Text("name"),
                      .cpu = fields.Text("cpu"),
                      .pace = {.operators = fields.Positive("operators"),
                               .program = fields.Positive("program"),
                               .launches = fields.Positive("launches")},
                      .samples = fields.Size("samples", 0),
                      .source = fields.Text("source")};
  fields.RefuseOthers();
  return machine;
}

const HostFile& KnownHostFile() {
  static const HostFile kFile = [] {
    HostFile file;
    std::optional<Error> error;
    YamlFields fields(YAML::Load(std::string(kEmbeddedHosts)), "data/host/machines.yaml", error);
    YamlFields reference = fields.Map("reference");
    for (const auto& names : {std::span<const std::string_view>(kOperators),
                              std::span<const std::string_view>(kProgram),
                              std::span<const std::string_view>(kLaunches)}) {
      for (const std::string_view name : names) {
        file.reference.emplace(name, reference.Positive(name));
      }
    }
    for (YamlFields& machine : fields.Maps("machines")) {
      file.machines.push_back(MachineOf(std::move(machine)));
    }
    ORRERY_CHECK(!error, error ? error->message() : "");
    return file;
  }();
  return kFile;
}

std::optional<double> RatioOf(const MeasuredCosts& measured,
                              std::span<const std::string_view> names) {
  double logarithms = 0;
  for (const std::string_view name : names) {
    const auto found = measured.find(name);
    if (found == measured.end()) {
      return std::nullopt;
    }
    logarithms += std::log(found->second / KnownHostFile().reference.find(name)->second);
  }
  return std::exp(logarithms / static_cast<double>(names.size()));
}

/// The costs of a measured host, by name.
Result<MeasuredCosts> CostsOf(std::string_view yaml, std::string_view place) {
  std::optional<Error> error;
  MeasuredCosts measured;
  try {
    YamlFields fields(YAML::Load(std::string(yaml)), std::string(place), error);
    const YAML::Node costs = fields.Node("costs");
    for (const auto& entry : costs) {
      const auto name = entry.first.as<std::string>();
      YamlFields cost(entry.second, fmt::format("{}: costs.{}", place, name), error);
      measured.emplace(name, cost.Positive("ns"));
    }
  } catch (const YAML::Exception& exception) {
    return Refuse("{}: {}; `orrery measure host` writes the file", place, exception.what());
  }
  if (error) {
    return tl::unexpected(*error);
  }
  return measured;
}

}  // namespace

const std::vector<HostMachine>& KnownHosts() {
  return KnownHostFile().machines;
}

const HostMachine* FindHost(std::string_view name) {
  const auto found = std::ranges::find(KnownHosts(), name, &HostMachine::name);
  return found == KnownHosts().end() ? nullptr : &*found;
}

Result<HostPace> PaceOfMeasuredHost(std::string_view yaml, std::string_view place) {
  ORRERY_TRY(const MeasuredCosts measured, CostsOf(yaml, place));
  const std::optional<double> operators = RatioOf(measured, kOperators);
  const std::optional<double> program = RatioOf(measured, kProgram);
  if (!operators || !program) {
    return Refuse(
        "{}: costs of operators are missing; measure where PyTorch is installed "
        "(orrery measure host)",
        place);
  }
  return HostPace{.operators = *operators,
                  .program = *program,
                  .launches = RatioOf(measured, kLaunches).value_or(*operators)};
}

}  // namespace orrery::workload
