#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/base/units.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/floor.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/collective/tuner_tables.h"
#include "orrery/compat/astra_sim/astra_sim.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/hardware/cluster.h"
#include "orrery/learn/interval.h"
#include "orrery/network/topology.h"

namespace orrery::cli {
namespace {

namespace astra_sim = compat::astra_sim;
namespace simai = compat::simai;

tl::unexpected<Error> NotEmulated(std::string_view model, CollectiveKind kind) {
  return Unsupported("{} of {} is not simulated", CollectiveKindName(kind), model);
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

Result<Duration> SimulateStep(const std::string& text, const collective::Request& request) {
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
    return InvalidInput("--with: group is 0 (tensor), 1 (expert), 2 (data) or 3 (data of experts)");
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

// Simulates another simulator's model ("astra-sim", "simai") with settings "npus=8,bandwidth=50".
// The size of an all-gather of ASTRA-sim is the share of each NPU, as in its workloads.
Result<Duration> EmulatedCollectiveTime(const std::string& model, const std::string& settings,
                                        const collective::Request& request) {
  if (model == "astra-sim") {
    return EmulateAstraSim(settings, request);
  }
  if (model == "simai") {
    return SimulateStep(settings, request);
  }
  return InvalidInput("--emulate: '{}' is not a model; choose astra-sim or simai", model);
}

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
  OutputOptions output;
};

struct PredictedCollective {
  collective::Request request;
  const hardware::Cluster* cluster = nullptr;
  int gpus = 0;
  collective::Prediction prediction;
  std::string bottleneck;
  collective::MachineModels::Found model;
  double floor_seconds = 0;  // by the links and NICs alone
};

Document DocumentOf(const PredictedCollective& predicted) {
  const collective::Prediction& prediction = predicted.prediction;
  const collective::MachineModel& model = *predicted.model.model;
  const bool is_extrapolated =
      predicted.model.match == collective::ModelMatch::kNearest || predicted.gpus > model.most_gpus;
  learn::TimeInterval interval = learn::IntervalAround(
      prediction.seconds, model.DeviationAt(predicted.request.size.count, is_extrapolated));
  interval.low_s = std::max(interval.low_s, predicted.floor_seconds);
  Document document{
      .title =
          fmt::format("{} of {} bytes on {} GPUs of {}", CollectiveKindName(predicted.request.kind),
                      predicted.request.size.count, predicted.gpus, predicted.cluster->name),
      .kind = "Orrery prediction"};
  Document::Section& section = document.AddSection();
  section.Set("collective", CollectiveKindName(predicted.request.kind))
      .Set("bytes", static_cast<double>(predicted.request.size.count))
      .Set("gpus", predicted.gpus)
      .Set("cluster", predicted.cluster->name)
      .Set("time_s", prediction.seconds)
      .Set("low_s", interval.low_s)
      .Set("high_s", interval.high_s)
      .Show("time", TimeText(prediction.seconds, interval))
      .Set("algorithm", Name(prediction.algorithm))
      .Set("protocol", Name(prediction.protocol))
      .Set("channels", prediction.channels)
      .Show("algorithm", fmt::format("{}, {}, {} channel{}", Name(prediction.algorithm),
                                     Name(prediction.protocol), prediction.channels,
                                     prediction.channels == 1 ? "" : "s"))
      .Set("algbw_GBps", prediction.algorithm_bandwidth / 1e9)
      .Set("busbw_GBps", prediction.bus_bandwidth / 1e9)
      .Show("bandwidth",
            fmt::format("algbw {:.2f} GB/s, busbw {:.2f} GB/s",
                        prediction.algorithm_bandwidth / 1e9, prediction.bus_bandwidth / 1e9))
      .Add(Document::Fact{"bottleneck", "bottleneck", predicted.bottleneck})
      .Set("model", Name(predicted.model.match))
      .Set("model_machine", model.machine)
      .Set("model_source", model.source)
      .Show("from", fmt::format("{}: {} ({}, up to {} GPUs)", Name(predicted.model.match),
                                model.machine, model.source, model.most_gpus));
  return document;
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

/// The time of the same algorithm as flows over the cluster's links.
Status PredictByFlows(const PredictCollectiveArguments& arguments,
                      const collective::CostSettings& settings, PredictedCollective& predicted) {
  const std::vector<network::GpuId> gpu_of_rank = GpusOfRanks(arguments, *settings.cluster);
  const int nodes = static_cast<int>(gpu_of_rank.back()) / settings.cluster->gpus_per_node + 1;
  ORRERY_TRY(const network::Topology topology, collective::TopologyOf(*settings.cluster, nodes));
  collective::FlowNetwork links(topology);
  collective::FlowLevelCost cost(settings, links);
  ORRERY_TRY(const collective::FlowLevelTime time, cost.Time(predicted.request, gpu_of_rank));
  collective::Prediction& prediction = predicted.prediction;
  prediction.seconds = time.seconds;
  prediction.algorithm_bandwidth = static_cast<double>(predicted.request.size.count) / time.seconds;
  prediction.bus_bandwidth = prediction.algorithm_bandwidth *
                             collective::BusFactor(predicted.request.kind, arguments.gpus);
  predicted.bottleneck =
      fmt::format("{}, {:.0f} % of the time", time.bottleneck, 100 * time.bottleneck_share);
  return {};
}

Result<int> PredictCollective(const PredictCollectiveArguments& arguments) {
  PredictedCollective predicted;
  predicted.gpus = arguments.gpus;
  ORRERY_TRY(predicted.request, collective::ParseRequest(arguments.request));
  if (arguments.cluster.empty()) {
    return InvalidInput("--cluster NAME says on which machine, --gpus N on how many GPUs");
  }
  ORRERY_TRY(predicted.cluster, ClusterNamed(arguments.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(*predicted.cluster, {.gpus = arguments.gpus,
                                                       .gpus_per_node = arguments.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
  predicted.model =
      models.Find({.cluster = predicted.cluster, .gpus = arguments.gpus, .nodes = fabric.nodes});
  collective::FormsOfMachine forms = predicted.model.forms;
  if (!arguments.nccl_version.empty()) {
    ORRERY_TRY(forms.of_node.tables, collective::FindTunerTables(arguments.nccl_version));
    forms.over_nodes.tables = forms.of_node.tables;
  }
  std::optional<collective::NcclSettings> forced;
  if (!arguments.environment.empty()) {
    ORRERY_TRY(forced, collective::ParseNcclSettings(arguments.environment));
  }
  ORRERY_TRY(predicted.prediction, collective::Predict(fabric, predicted.request, forms, forced));
  predicted.floor_seconds = collective::FloorSeconds(fabric, predicted.request);
  predicted.bottleneck = Name(predicted.prediction.bottleneck);
  if (arguments.by_flows) {
    const collective::FormRules& rules = fabric.nodes > 1 ? forms.over_nodes : forms.of_node;
    const collective::CostSettings settings{.cluster = predicted.cluster,
                                            .constants = rules.constants,
                                            .nccl = forced.value_or(rules.nccl),
                                            .tables = rules.tables};
    ORRERY_TRY_STATUS(PredictByFlows(arguments, settings, predicted));
  }
  return Deliver(DocumentOf(predicted), arguments.output);
}

/// A table of as many columns as rows: what the rank of the row sends to that of the column.
Result<collective::SendMatrix> ReadMatrix(const std::string& path) {
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  if (table.num_rows() != table.num_columns()) {
    return InvalidInput("{}: {} rows of {} columns; as many as ranks are needed of both", path,
                        table.num_rows(), table.num_columns());
  }
  collective::SendMatrix matrix{.ranks = static_cast<int>(table.num_rows())};
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    for (std::size_t column = 0; column < table.num_columns(); ++column) {
      const std::optional<double> bytes = table.NumberInText(row, table.column_name(column));
      if (!bytes) {
        return InvalidInput("{}:{}: column {} holds no size", path, row + 2,
                            table.column_name(column));
      }
      matrix.bytes.push_back(*bytes);
    }
  }
  return matrix;
}

/// All-to-all whose parts differ.
Result<int> PredictUneven(const PredictCollectiveArguments& arguments) {
  ORRERY_TRY(const collective::SendMatrix matrix, ReadMatrix(arguments.matrix));
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(arguments.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(
                 *cluster, {.gpus = matrix.ranks, .gpus_per_node = arguments.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
  const collective::MachineModels::Found model =
      models.Find({.cluster = cluster, .gpus = matrix.ranks, .nodes = fabric.nodes});
  const collective::FormsOfMachine& forms = model.forms;
  ORRERY_TRY(const double seconds,
             collective::UnevenAllToAllSeconds(
                 fabric, matrix, (fabric.nodes > 1 ? forms.over_nodes : forms.of_node).constants));
  const collective::UnevenLoads loads = collective::LoadsOf(matrix, fabric.ranks_per_node);
  Document document{
      .title = fmt::format("all_to_all_v on {} GPUs of {}", matrix.ranks, cluster->name),
      .kind = "Orrery prediction"};
  document.AddSection()
      .Set("collective", "all_to_all_v")
      .Set("gpus", matrix.ranks)
      .Set("cluster", cluster->name)
      .Set("time_s", seconds)
      .Show("time", TimeText(seconds))
      .Set("busiest_link_bytes", loads.intra_bytes)
      .Set("busiest_nic_bytes", loads.inter_bytes)
      .Show("busiest", fmt::format("{:.4g} MB over the links of a GPU, {:.4g} MB over a NIC",
                                   loads.intra_bytes / 1e6, loads.inter_bytes / 1e6));
  return Deliver(document, arguments.output);
}

/// The time according to another simulator.
Result<int> Emulate(const PredictCollectiveArguments& arguments) {
  ORRERY_TRY(const collective::Request request, collective::ParseRequest(arguments.request));
  ORRERY_TRY(const Duration time,
             EmulatedCollectiveTime(arguments.emulated, arguments.emulated_settings, request));
  Document document{.title = fmt::format("{} of {} bytes as {} simulates it: {} ns",
                                         CollectiveKindName(request.kind), request.size.count,
                                         arguments.emulated, time.nanoseconds),
                    .kind = "Orrery prediction"};
  document.AddSection()
      .Set("collective", CollectiveKindName(request.kind))
      .Set("bytes", static_cast<double>(request.size.count))
      .Set("played", arguments.emulated)
      .Set("time_ns", static_cast<double>(time.nanoseconds));
  return Deliver(document, arguments.output);
}

Result<int> Predict(const PredictCollectiveArguments& arguments) {
  return !arguments.emulated.empty() ? Emulate(arguments)
         : !arguments.matrix.empty() ? PredictUneven(arguments)
                                     : PredictCollective(arguments);
}

}  // namespace

void AddPredictCollectiveCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictCollectiveArguments>();
  Verb verb = predict.AddVerb("collective", "The time of a collective on a cluster");
  verb.AddOption("COLLECTIVE", arguments->request, "such as 'allreduce 64MiB bf16'").Required();
  verb.AddOption("--cluster NAME", arguments->cluster, "machine (orrery list clusters)");
  verb.AddOption("--gpus", arguments->gpus, "number of GPUs, filled node by node");
  verb.AddOption("--gpus-per-node", arguments->gpus_per_node, "GPUs used per node (all)");
  verb.AddOption("--env TEXT", arguments->environment,
                 "environment variables of NCCL, such as NCCL_ALGO=Ring,NCCL_PROTO=^LL128");
  verb.AddOption("--nccl VERSION", arguments->nccl_version, "version of NCCL (the model's)");
  verb.AddOption("--model FILE", arguments->model,
                 "constants of `orrery fit collectives`, instead of the shipped ones");
  verb.AddOption("--matrix FILE", arguments->matrix,
                 "for alltoallv: a CSV of as many columns as ranks, a header, and what each rank "
                 "sends to each");
  verb.AddOption("--emulate,--play MODEL", arguments->emulated,
                 "predict as another simulator does: astra-sim or simai; needs no cluster");
  verb.AddOption("--with KEY=VALUE,...", arguments->emulated_settings,
                 "settings of the model that is emulated, such as npus=8,bandwidth=50");
  verb.AddFlag("--flow", arguments->by_flows,
               "simulate flows over the links of the cluster, and name the bottleneck link");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return Predict(*arguments); });
}

}  // namespace orrery::cli
