#include "orrery/collective/machine_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/embedded_machine_models.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"

namespace orrery::collective {
namespace {

constexpr int kFormatVersion = 1;

const MachineModel& DefaultModel() {
  static const MachineModel model = [] {
    MachineModel defaults;
    defaults.machine = "any";
    defaults.source = "defaults";
    defaults.nccl_version = NewestTunerTables().version;
    defaults.constants = DefaultConstants();
    return defaults;
  }();
  return model;
}

/// The distance of two machines with respect to the library's constants, for ranks on several
/// nodes or on one: latencies of a network are those of its kind.
double DistanceBetween(const hardware::Cluster& one, const hardware::Cluster& other,
                       bool is_on_nodes) {
  const hardware::Gpu* gpu = hardware::FindGpu(one.gpu);
  const hardware::Gpu* other_gpu = hardware::FindGpu(other.gpu);
  const bool is_same_generation =
      gpu != nullptr && other_gpu != nullptr && gpu->generation == other_gpu->generation;
  double distance = 0;
  distance += one.island.kind == other.island.kind ? 0 : 4;
  distance += one.gpu == other.gpu ? 0 : is_same_generation ? 1 : 3;
  distance += one.nics.kind == other.nics.kind ? 0 : is_on_nodes ? 3 : 0.5;
  distance += one.cpu == other.cpu ? 0 : 0.25;
  const double bandwidth = one.nics.bandwidth.bytes_per_second;
  const double other_bandwidth = other.nics.bandwidth.bytes_per_second;
  if (bandwidth > 0 && other_bandwidth > 0) {
    distance += 0.1 * std::abs(std::log2(bandwidth / other_bandwidth));
  }
  return distance;
}

/// Version and settings of a model are known: they were checked when it was read or fitted.
FormRules RulesOf(const MachineModel& model) {
  return {model.constants, ParseNcclSettings(model.assumed_settings).value(),
          FindTunerTables(model.nccl_version).value()};
}

void TakePriorHops(const hardware::Cluster& cluster, const MachineModel& model,
                   MachineConstants& constants) {
  const MachineConstants prior = PriorOf(cluster);
  for (const Constant hop : {Constant::kLlNetworkHop, Constant::kSimpleNetworkHop}) {
    if (std::ranges::find(model.fitted, hop) == model.fitted.end()) {
      constants.Set(hop, prior[hop]);
    }
  }
  constants.Set(Constant::kSimpleNetworkHop, std::max(constants[Constant::kLlNetworkHop],
                                                      constants[Constant::kSimpleNetworkHop]));
}

tl::unexpected<Error> Damaged(const std::string& name, const YAML::Node& node,
                              std::string_view what) {
  return Invalid("{}:{}: {}; write the file with `orrery fit collectives`", name,
                 node.Mark().line + 1, what);
}

Status ReadConstants(const YAML::Node& constants, const std::string& name, MachineModel& model) {
  model.constants = DefaultConstants();
  if (!constants || constants.IsNull()) {
    return {};  // nothing was fitted
  }
  if (!constants.IsMap()) {
    return Damaged(name, constants, "constants must map names to numbers");
  }
  for (const auto& entry : constants) {
    const std::string key = entry.first.as<std::string>("");
    std::size_t number = 0;
    while (number < kNumConstants && InfoOf(static_cast<Constant>(number)).name != key) {
      ++number;
    }
    if (number == kNumConstants) {
      return Damaged(name, entry.first, fmt::format("no constant is called '{}'", key));
    }
    const auto constant = static_cast<Constant>(number);
    const ConstantInfo& info = InfoOf(constant);
    const double value = entry.second.as<double>(std::nan(""));
    if (!(value >= info.least && value <= info.most)) {
      return Damaged(name, entry.second,
                     fmt::format("{} is outside {} to {}", key, info.least, info.most));
    }
    model.constants.Set(constant, value);
    model.fitted.push_back(constant);
  }
  std::ranges::sort(model.fitted);  // in the order of the constants, whatever that of the file
  return {};
}

Result<MachineModel> ParseModel(const YAML::Node& node, const std::string& name) {
  MachineModel model;
  try {
    model.machine = node["machine"].as<std::string>();
    model.source = node["source"].as<std::string>();
    model.setup = node["setup"].as<std::string>();
    model.assumed_settings = node["settings"].as<std::string>();
    model.nccl_version = node["nccl_version"].as<std::string>();
    model.was_version_told = node["version_told"].as<bool>();
    model.rows = node["rows"].as<std::size_t>();
    model.most_gpus = node["most_gpus"].as<int>();
    model.fewest_gpus = node["fewest_gpus"].as<int>(2);
    model.kinds = node["kinds"].as<int>(1);
    model.machines_of_class = node["machines_of_class"].as<int>(1);
    model.small_deviation = node["small_deviation"].as<double>(0);
    model.large_deviation = node["large_deviation"].as<double>(0);
  } catch (const YAML::Exception&) {
    return Damaged(
        name, node,
        "a machine needs machine, source, setup, nccl_version, version_told, settings, rows "
        "and most_gpus");
  }
  if (hardware::FindCluster(model.machine) == nullptr) {
    return Damaged(name, node, fmt::format("no cluster is called '{}'", model.machine));
  }
  ORRERY_TRY(const TunerTables* tables, FindTunerTables(model.nccl_version));
  model.nccl_version = tables->version;
  if (!ParseNcclSettings(model.assumed_settings)) {
    return Damaged(name, node["settings"], "settings are none of NCCL");
  }
  ORRERY_TRY_STATUS(ReadConstants(node["constants"], name, model));
  return model;
}

}  // namespace

MachineConstants PriorOf(const hardware::Cluster& cluster) {
  using enum Constant;
  constexpr double kOfInfiniband = 1;  // µs, the network that the defaults are of
  MachineConstants prior = DefaultConstants();
  const double more =
      std::max(0.0, static_cast<double>(cluster.nics.latency.nanoseconds) / 1000 - kOfInfiniband);
  prior.Set(kLlNetworkHop, prior[kLlNetworkHop] + more);
  prior.Set(kSimpleNetworkHop, prior[kSimpleNetworkHop] + 2 * more);
  return prior;
}

double MachineModel::DeviationAt(std::int64_t bytes, bool is_nearest) const {
  // Of machines that were left out of their own constants (docs/validation/collectives.md).
  constexpr double kSmallOfNearest = 0.45;
  constexpr double kLargeOfNearest = 0.25;
  constexpr double kLeast = 0.03;  // that repeated measurements differ by
  const bool is_small = bytes < kHeavyBytes;
  const double own = is_small ? small_deviation : large_deviation;
  const double nearest = is_small ? kSmallOfNearest : kLargeOfNearest;
  return std::max(kLeast, is_nearest ? std::max(own, nearest) : own);
}

void MachineModels::Add(MachineModel model) {
  models_.push_back(std::move(model));
}

MachineModels::Found MachineModels::Find(const Question& question) const {
  const int island = question.cluster->island.gpus;
  const bool is_on_nodes = question.nodes > 1 || question.gpus > island;
  Found found = FindModel(question, is_on_nodes);
  found.forms = {RulesOf(*found.model), RulesOf(*found.model)};
  found.forms.of_node.nccl = {};
  if (is_on_nodes) {
    Question inside = question;
    inside.gpus = std::min(question.gpus, island);
    const MachineModel& of_node = *FindModel(inside, false).model;
    found.forms.of_node.constants = of_node.constants;
    found.forms.of_node.tables = RulesOf(of_node).tables;
    TakePriorHops(*question.cluster, *found.model, found.forms.over_nodes.constants);
  }
  return found;
}

MachineModels::Found MachineModels::FindModel(const Question& question, bool is_on_nodes) const {
  Found best{&DefaultModel(), ModelMatch::kNearest};
  constexpr double kOtherReach = 3;
  // All-reduce, all-gather, reduce-scatter and all-to-all: a model of one of them guesses the
  // others.
  constexpr int kKindsOfJobs = 4;
  constexpr double kUnknownKind = 0.3;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const MachineModel& model : models_) {
    const hardware::Cluster& other = *hardware::FindCluster(model.machine);
    const bool is_same = &other == question.cluster;
    if (is_same && question.is_unseen) {
      continue;
    }
    const bool is_same_source = is_same && model.source == question.source;
    if (is_same_source && model.setup == question.setup) {
      return {&model, ModelMatch::kSource};
    }
    // Constants of links and of the network are independent: rows of several nodes say little about
    // the links inside one, and the other way round.
    const bool is_same_reach =
        is_on_nodes ? model.most_gpus > other.island.gpus : model.fewest_gpus <= other.island.gpus;
    // Ties: most fitted constants, then most rows.
    const double distance = (is_same_source ? -2
                             : is_same      ? -1
                                       : DistanceBetween(*question.cluster, other, is_on_nodes)) +
                            (is_same_reach ? 0 : kOtherReach) +
                            kUnknownKind * std::max(0, kKindsOfJobs - model.kinds) -
                            1e-2 * static_cast<double>(model.fitted.size()) -
                            1e-3 * std::log2(1 + static_cast<double>(model.rows));
    if (distance < best_distance) {
      best_distance = distance;
      best = {&model, is_same ? ModelMatch::kMachine : ModelMatch::kNearest};
    }
  }
  return best;
}

std::string MachineModels::Text() const {
  // A string of JSON is one of YAML, too.
  std::string text =
      fmt::format("format: orrery collective model\nversion: {}\nmachines:\n", kFormatVersion);
  for (const MachineModel& model : models_) {
    text += fmt::format(
        "  - machine: {}\n    source: {}\n    setup: {}\n    nccl_version: {}\n"
        "    version_told: {}\n    settings: {}\n    rows: {}\n    most_gpus: {}\n"
        "    fewest_gpus: {}\n    kinds: {}\n    machines_of_class: {}\n    small_deviation: "
        "{:.3f}\n    "
        "large_deviation: {:.3f}\n"
        "    constants:\n",
        QuoteJson(model.machine), QuoteJson(model.source), QuoteJson(model.setup),
        QuoteJson(model.nccl_version), model.was_version_told, QuoteJson(model.assumed_settings),
        model.rows, model.most_gpus, model.fewest_gpus, model.kinds, model.machines_of_class,
        model.small_deviation, model.large_deviation);
    for (const Constant constant : model.fitted) {
      text += fmt::format("      {}: {:.6g}\n", InfoOf(constant).name, model.constants[constant]);
    }
  }
  return text;
}

Result<MachineModels> MachineModels::Parse(const std::string& text, const std::string& name) {
  YAML::Node file;
  try {
    file = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return Invalid("{}: {}", name, error.what());
  }
  if (!file.IsMap() || file["format"].as<std::string>("") != "orrery collective model") {
    return Invalid(
        "{}: not a model of collectives; write one with `orrery fit "
        "collectives`",
        name);
  }
  if (file["version"].as<int>(0) != kFormatVersion) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("{}: version {} of the format, this program reads {}; fit it again",
                            name, file["version"].as<std::string>("?"), kFormatVersion));
  }
  const YAML::Node machines = file["machines"];
  if (!machines || !machines.IsSequence()) {
    return Damaged(name, machines ? machines : file, "machines must be a list of machines");
  }
  MachineModels models;
  for (const YAML::Node& node : machines) {
    ORRERY_TRY(MachineModel model, ParseModel(node, name));
    models.Add(std::move(model));
  }
  return models;
}

const MachineModels& MachineModels::Shipped() {
  static const MachineModels shipped = [] {
    Result<MachineModels> models = Parse(kEmbeddedMachineModels, "data/models/collectives.yaml");
    ORRERY_CHECK(models.has_value(), "the shipped models of collectives cannot be read");
    return std::move(*models);
  }();
  return shipped;
}

std::string_view Name(ModelMatch match) {
  constexpr std::array<std::string_view, 3> kNames = {"this machine, same source", "this machine",
                                                      "the nearest machine"};
  return kNames.at(static_cast<std::size_t>(match));
}

}  // namespace orrery::collective
