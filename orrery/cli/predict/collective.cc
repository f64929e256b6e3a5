#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/cli/collective_data.h"
#include "orrery/cli/command.h"
#include "orrery/cli/predict/emulated_collective.h"
#include "orrery/cli/predict/commands.h"
#include "orrery/cli/terminal.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/uneven_all_to_all.h"
#include "orrery/draw/json_writer.h"
#include "orrery/hardware/cluster.h"

namespace orrery::cli {
namespace {

struct PredictCollectiveArguments {
  std::string request;
  std::string cluster;
  int gpus = 0;
  int gpus_per_node = 0;
  std::string environment;
  std::string nccl_version;
  std::string model;
  std::string matrix;
  std::string emulated;
  std::string emulated_settings;
  bool by_flows = false;
  bool as_json = false;
};

struct PredictedCollective {
  collective::Request request;
  const hardware::Cluster* cluster = nullptr;
  int gpus = 0;
  collective::Prediction prediction;
  std::string bottleneck;
  collective::MachineModels::Found model;
};

Result<const hardware::Cluster*> ClusterNamed(const std::string& name) {
  if (const hardware::Cluster* cluster = hardware::FindCluster(name)) {
    return cluster;
  }
  std::vector<std::string> names;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    names.push_back(cluster.name);
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("no cluster is called '{}'; there are {}", name, fmt::join(names, ", ")));
}

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
                        : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string Text(const PredictedCollective& predicted) {
  const collective::Prediction& way = predicted.prediction;
  std::string text =
      fmt::format("{} of {} bytes on {} GPUs of {}\n", Name(predicted.request.kind),
                  predicted.request.size.count, predicted.gpus, predicted.cluster->name);
  text += fmt::format("  time        {}\n", TimeText(way.seconds));
  text += fmt::format("  way         {}, {}, {} channel{}\n", Name(way.algorithm),
                      Name(way.protocol), way.channels, way.channels == 1 ? "" : "s");
  text += fmt::format("  bandwidth   algbw {:.2f} GB/s, busbw {:.2f} GB/s\n",
                      way.algorithm_bandwidth / 1e9, way.bus_bandwidth / 1e9);
  text += fmt::format("  bottleneck  {}\n", predicted.bottleneck);
  text += fmt::format("  from        {}: {} ({}, up to {} GPUs)\n", Name(predicted.model.match),
                      predicted.model.model->machine, predicted.model.model->source,
                      predicted.model.model->most_gpus);
  return text;
}

std::string Json(const PredictedCollective& predicted) {
  const collective::Prediction& way = predicted.prediction;
  draw::JsonWriter json;
  json.BeginObject();
  json.Key("collective").String(Name(predicted.request.kind));
  json.Key("bytes").Number(static_cast<double>(predicted.request.size.count));
  json.Key("gpus").Number(predicted.gpus);
  json.Key("cluster").String(predicted.cluster->name);
  json.Key("time_s").Number(way.seconds);
  json.Key("algorithm").String(Name(way.algorithm));
  json.Key("protocol").String(Name(way.protocol));
  json.Key("channels").Number(way.channels);
  json.Key("algbw_GBps").Number(way.algorithm_bandwidth / 1e9);
  json.Key("busbw_GBps").Number(way.bus_bandwidth / 1e9);
  json.Key("bottleneck").String(predicted.bottleneck);
  json.Key("model").String(Name(predicted.model.match));
  json.Key("model_machine").String(predicted.model.model->machine);
  json.Key("model_source").String(predicted.model.model->source);
  json.EndObject();
  return json.Finish();
}

/// Node by node, the first GPUs of each.
std::vector<network::GpuId> GpusOfRanks(const PredictCollectiveArguments& arguments,
                                        const hardware::Cluster& cluster) {
  const int per_node =
      arguments.gpus_per_node > 0 ? arguments.gpus_per_node : cluster.gpus_per_node;
  std::vector<network::GpuId> gpu_of_rank;
  for (int rank = 0; rank < arguments.gpus; ++rank) {
    gpu_of_rank.push_back(
        static_cast<network::GpuId>(rank / per_node * cluster.gpus_per_node + rank % per_node));
  }
  return gpu_of_rank;
}

/// The time of the same way as flows over the cluster's links.
Status PredictByFlows(const PredictCollectiveArguments& arguments,
                      const collective::CostSettings& settings, PredictedCollective& predicted) {
  const std::vector<network::GpuId> gpu_of_rank = GpusOfRanks(arguments, *settings.cluster);
  const int nodes = static_cast<int>(gpu_of_rank.back()) / settings.cluster->gpus_per_node + 1;
  ORRERY_TRY(const network::Topology topology, collective::TopologyOf(*settings.cluster, nodes));
  collective::FlowNetwork links(topology);
  collective::FlowLevelCost cost(settings, links);
  ORRERY_TRY(const collective::FlowLevelTime time, cost.Time(predicted.request, gpu_of_rank));
  collective::Prediction& way = predicted.prediction;
  way.seconds = time.seconds;
  way.algorithm_bandwidth = static_cast<double>(predicted.request.size.count) / time.seconds;
  way.bus_bandwidth =
      way.algorithm_bandwidth * collective::BusFactor(predicted.request.kind, arguments.gpus);
  predicted.bottleneck =
      fmt::format("{}, {:.0f} % of the time", time.bottleneck, 100 * time.bottleneck_share);
  return {};
}

Status PredictCollective(const PredictCollectiveArguments& arguments) {
  PredictedCollective predicted;
  predicted.gpus = arguments.gpus;
  ORRERY_TRY(predicted.request, collective::ParseRequest(arguments.request));
  if (arguments.cluster.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "--cluster NAME says on which machine, --gpus N on how many GPUs");
  }
  ORRERY_TRY(predicted.cluster, ClusterNamed(arguments.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(*predicted.cluster, {.gpus = arguments.gpus,
                                                       .gpus_per_node = arguments.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
  predicted.model = models.Find({.cluster = predicted.cluster, .gpus = arguments.gpus});
  const collective::MachineModel& model = *predicted.model.model;
  collective::CostSettings settings{.cluster = predicted.cluster, .constants = model.constants};
  const std::string& assumed = fabric.nodes > 1 ? model.assumed_settings : arguments.environment;
  ORRERY_TRY(settings.nccl, collective::ParseNcclSettings(
                                arguments.environment.empty() ? assumed : arguments.environment));
  ORRERY_TRY(settings.tables,
             collective::FindTunerTables(arguments.nccl_version.empty() ? model.nccl_version
                                                                        : arguments.nccl_version));
  ORRERY_TRY(predicted.prediction, collective::Predict(fabric, predicted.request, settings.nccl,
                                                       *settings.tables, settings.constants));
  predicted.bottleneck = Name(predicted.prediction.bottleneck);
  if (arguments.by_flows) {
    ORRERY_TRY_STATUS(PredictByFlows(arguments, settings, predicted));
  }
  Print(arguments.as_json ? Json(predicted) : Text(predicted));
  return {};
}

/// A table of as many columns as rows: what the rank of the row sends to that of the column.
Result<collective::SendMatrix> ReadMatrix(const std::string& path) {
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  if (table.num_rows() != table.num_columns()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: {} rows of {} columns; as many as ranks are needed of both", path,
                            table.num_rows(), table.num_columns()));
  }
  collective::SendMatrix matrix{.ranks = static_cast<int>(table.num_rows())};
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    for (std::size_t column = 0; column < table.num_columns(); ++column) {
      const std::optional<double> bytes = table.NumberInText(row, table.column_name(column));
      if (!bytes) {
        return Fail(Error::Kind::kInvalidInput, fmt::format("{}:{}: column {} holds no size", path,
                                                            row + 2, table.column_name(column)));
      }
      matrix.bytes.push_back(*bytes);
    }
  }
  return matrix;
}

/// All-to-all whose parts differ.
Status PredictUneven(const PredictCollectiveArguments& arguments) {
  ORRERY_TRY(const collective::SendMatrix matrix, ReadMatrix(arguments.matrix));
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(arguments.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(
                 *cluster, {.gpus = matrix.ranks, .gpus_per_node = arguments.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
  const collective::MachineModels::Found model =
      models.Find({.cluster = cluster, .gpus = matrix.ranks});
  ORRERY_TRY(const double seconds,
             collective::UnevenAllToAllSeconds(fabric, matrix, model.model->constants));
  const collective::UnevenLoads loads = collective::LoadsOf(matrix, fabric.ranks_per_node);
  if (arguments.as_json) {
    draw::JsonWriter json;
    json.BeginObject();
    json.Key("collective").String("all_to_all_v");
    json.Key("gpus").Number(matrix.ranks);
    json.Key("cluster").String(cluster->name);
    json.Key("time_s").Number(seconds);
    json.Key("busiest_link_bytes").Number(loads.intra_bytes);
    json.Key("busiest_nic_bytes").Number(loads.inter_bytes);
    json.EndObject();
    Print(json.Finish());
    return {};
  }
  Print(
      fmt::format("all_to_all_v on {} GPUs of {}\n  time        {}\n  busiest     {:.4g} MB over "
                  "the links of a GPU, {:.4g} MB over a NIC\n",
                  matrix.ranks, cluster->name, TimeText(seconds), loads.intra_bytes / 1e6,
                  loads.inter_bytes / 1e6));
  return {};
}

/// What another simulator would say.
Status Emulate(const PredictCollectiveArguments& arguments) {
  ORRERY_TRY(const collective::Request request, collective::ParseRequest(arguments.request));
  ORRERY_TRY(const Duration time, EmulatedCollectiveTime(arguments.emulated, arguments.emulated_settings, request));
  if (!arguments.as_json) {
    Print(fmt::format("{} of {} bytes as {} simulates it: {} ns\n", Name(request.kind),
                      request.size.count, arguments.emulated, time.nanoseconds));
    return {};
  }
  draw::JsonWriter json;
  json.BeginObject();
  json.Key("collective").String(Name(request.kind));
  json.Key("bytes").Number(static_cast<double>(request.size.count));
  json.Key("played").String(arguments.emulated);
  json.Key("time_ns").Number(static_cast<double>(time.nanoseconds));
  json.EndObject();
  Print(json.Finish());
  return {};
}

Status Predict(const PredictCollectiveArguments& arguments) {
  return !arguments.emulated.empty() ? Emulate(arguments)
         : !arguments.matrix.empty() ? PredictUneven(arguments)
                                     : PredictCollective(arguments);
}

}  // namespace

void AddPredictCollectiveCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictCollectiveArguments>();
  Verb verb = predict.AddVerb("collective", "The time of a collective on a cluster");
  verb.AddOption("COLLECTIVE", arguments->request, "such as 'allreduce 64MiB bf16'").Required();
  verb.AddOption("--cluster", arguments->cluster, "machine of data/hardware/clusters.yaml")
      .TypeName("NAME");
  verb.AddOption("--gpus", arguments->gpus, "how many take part, node by node");
  verb.AddOption("--gpus-per-node", arguments->gpus_per_node, "of each node (all)");
  verb.AddOption("--env", arguments->environment,
                   "what is set for NCCL, such as NCCL_ALGO=Ring,NCCL_PROTO=^LL128")
      .TypeName("TEXT");
  verb.AddOption("--nccl", arguments->nccl_version, "version of NCCL (the model's)")
      .TypeName("VERSION");
  verb.AddOption("--model", arguments->model,
                   "constants of `orrery fit collectives`, instead of the shipped ones")
      .TypeName("FILE");
  verb.AddOption("--matrix", arguments->matrix,
                   "for alltoallv: a CSV of as many columns as ranks, a header, and what each rank "
                   "sends to each")
      .TypeName("FILE");
  verb.AddOption("--emulate,--play", arguments->emulated,
                   "what another simulator would say: astra-sim or simai; no cluster is needed")
      .TypeName("MODEL");
  verb.AddOption("--with", arguments->emulated_settings,
                   "settings of the model that is emulated, such as npus=8,bandwidth=50")
      .TypeName("KEY=VALUE,...");
  verb.AddFlag("--flow", arguments->by_flows,
                 "as flows over the cluster's links, which names the link that is waited for");
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return Predict(*arguments); });
}

}  // namespace orrery::cli
