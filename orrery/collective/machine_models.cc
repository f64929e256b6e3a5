#include "orrery/collective/machine_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/collective/embedded_machine_models.h"
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

/// The distance of two machines with respect to the library's constants.
double DistanceBetween(const hardware::Cluster& one, const hardware::Cluster& other) {
  const hardware::Gpu* gpu = hardware::FindGpu(one.gpu);
  const hardware::Gpu* other_gpu = hardware::FindGpu(other.gpu);
  const bool is_same_generation =
      gpu != nullptr && other_gpu != nullptr && gpu->generation == other_gpu->generation;
  double distance = 0;
  distance += one.island.kind == other.island.kind ? 0 : 4;
  distance += one.gpu == other.gpu ? 0 : is_same_generation ? 1 : 3;
  distance += one.nics.kind == other.nics.kind ? 0 : 0.5;
  distance += one.cpu == other.cpu ? 0 : 0.25;
  const double bandwidth = one.nics.bandwidth.bytes_per_second;
  const double other_bandwidth = other.nics.bandwidth.bytes_per_second;
  if (bandwidth > 0 && other_bandwidth > 0) {
    distance += 0.1 * std::abs(std::log2(bandwidth / other_bandwidth));
  }
  return distance;
}

tl::unexpected<Error> Damaged(const std::string& name, const YAML::Node& node,
                              std::string_view what) {
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{}:{}: {}; write the file with `orrery fit collectives`", name,
                          node.Mark().line + 1, what));
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
  model.constants = DefaultConstants();
  for (std::size_t i = 0; i < kNumConstants; ++i) {
    const auto constant = static_cast<Constant>(i);
    const ConstantInfo& info = InfoOf(constant);
    const YAML::Node value = node["constants"][std::string(info.name)];
    if (!value) {
      continue;
    }
    const double number = value.as<double>(std::nan(""));
    if (!(number >= info.least && number <= info.most)) {
      return Damaged(name, value,
                     fmt::format("{} lies outside of {} to {}", info.name, info.least, info.most));
    }
    model.constants.Set(constant, number);
    model.fitted.push_back(constant);
  }
  return model;
}

}  // namespace

void MachineModels::Add(MachineModel model) {
  models_.push_back(std::move(model));
}

MachineModels::Found MachineModels::Find(const Question& question) const {
  Found best{&DefaultModel(), ModelMatch::kNearest};
  double best_distance = std::numeric_limits<double>::infinity();
  for (const MachineModel& model : models_) {
    const hardware::Cluster& other = *hardware::FindCluster(model.machine);
    const bool is_same = &other == question.cluster;
    const bool is_same_source = is_same && model.source == question.source;
    if (is_same_source && model.setup == question.setup) {
      return {&model, ModelMatch::kSource};
    }
    // Constants of links and of the network are independent.
    const bool is_same_reach =
        (question.gpus > question.cluster->island.gpus) == (model.most_gpus > other.island.gpus);
    // Ties: most fitted constants, then most rows.
    const double distance = (is_same_source ? -2
                             : is_same      ? -1
                                            : DistanceBetween(*question.cluster, other)) +
                            (is_same_reach ? 0 : 0.5) -
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
  std::string text =
      fmt::format("format: orrery collective model\nversion: {}\nmachines:\n", kFormatVersion);
  for (const MachineModel& model : models_) {
    text += fmt::format(
        "  - machine: \"{}\"\n    source: \"{}\"\n    setup: \"{}\"\n    nccl_version: \"{}\"\n"
        "    version_told: {}\n    settings: \"{}\"\n    rows: {}\n    most_gpus: {}\n    "
        "constants:\n",
        model.machine, model.source, model.setup, model.nccl_version, model.was_version_told,
        model.assumed_settings, model.rows, model.most_gpus);
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
    return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}", name, error.what()));
  }
  if (!file.IsMap() || file["format"].as<std::string>("") != "orrery collective model") {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: not a model of collectives; write one with `orrery fit "
                            "collectives`",
                            name));
  }
  if (file["version"].as<int>(0) != kFormatVersion) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("{}: version {} of the format, this program reads {}; fit it again",
                            name, file["version"].as<std::string>("?"), kFormatVersion));
  }
  MachineModels models;
  for (const YAML::Node& node : file["machines"]) {
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
