#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/predict.h"
#include "orrery/api/predict/time_text.h"
#include "orrery/api/session.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/floor.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/compat/astra_sim/astra_sim.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/hardware/cluster.h"
#include "orrery/learn/interval.h"
#include "orrery/network/topology.h"

namespace orrery::api {
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

/// Node by node, the first GPUs of each.
std::vector<network::GpuId> GpusOfRanks(const PredictCollectiveRequest& request,
                                        const hardware::Cluster& cluster) {
  const int per_node = request.gpus_per_node > 0 ? request.gpus_per_node : cluster.gpus_per_node;
  std::vector<network::GpuId> gpu_of_rank;
  for (int rank = 0; rank < request.gpus; ++rank) {
    gpu_of_rank.push_back(
        static_cast<network::GpuId>(rank / per_node * cluster.gpus_per_node + rank % per_node));
  }
  return gpu_of_rank;
}

/// The time of the same algorithm as flows over the cluster's links, and the link that limits it.
Status PredictByFlows(const PredictCollectiveRequest& request,
                      const collective::CostSettings& settings,
                      const collective::Request& collective, collective::Prediction& prediction,
                      PredictCollectiveResult& result) {
  const std::vector<network::GpuId> gpu_of_rank = GpusOfRanks(request, *settings.cluster);
  const int nodes = static_cast<int>(gpu_of_rank.back()) / settings.cluster->gpus_per_node + 1;
  ORRERY_TRY(const network::Topology topology, collective::TopologyOf(*settings.cluster, nodes));
  collective::FlowNetwork links(topology);
  collective::FlowLevelCost cost(settings, links);
  ORRERY_TRY(const collective::FlowLevelTime time, cost.Time(collective, gpu_of_rank));
  prediction.seconds = time.seconds;
  prediction.algorithm_bandwidth = static_cast<double>(collective.size.count) / time.seconds;
  prediction.bus_bandwidth =
      prediction.algorithm_bandwidth * collective::BusFactor(collective.kind, request.gpus);
  result.bottleneck =
      fmt::format("{}, {:.0f} % of the time", time.bottleneck, 100 * time.bottleneck_share);
  return {};
}

void SetPrediction(const collective::Prediction& prediction,
                   const collective::MachineModels::Found& found, double floor_seconds,
                   PredictCollectiveResult& result) {
  const collective::MachineModel& model = *found.model;
  const bool is_extrapolated =
      found.match == collective::ModelMatch::kNearest || *result.gpus > model.most_gpus;
  const learn::TimeInterval interval = learn::IntervalAround(
      prediction.seconds,
      model.DeviationAt(static_cast<std::int64_t>(*result.bytes), is_extrapolated));
  result.time_s = prediction.seconds;
  result.low_s = std::max(interval.low_s, floor_seconds);
  result.high_s = interval.high_s;
  result.algorithm = Name(prediction.algorithm);
  result.protocol = Name(prediction.protocol);
  result.channels = prediction.channels;
  result.algorithm_gb_per_s = prediction.algorithm_bandwidth / 1e9;
  result.bus_gb_per_s = prediction.bus_bandwidth / 1e9;
  result.model = Name(found.match);
  result.model_machine = model.machine;
  result.model_source = model.source;
  result.model_gpus = model.most_gpus;
}

Result<PredictCollectiveResult> PredictEven(const PredictCollectiveRequest& request) {
  ORRERY_TRY(const collective::Request collective, collective::ParseRequest(request.collective));
  if (request.cluster.empty()) {
    return InvalidInput("--cluster NAME says on which machine, --gpus N on how many GPUs");
  }
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(request.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(*cluster,
                                  {.gpus = request.gpus, .gpus_per_node = request.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(request.model));
  const collective::MachineModels::Found model =
      models.Find({.cluster = cluster, .gpus = request.gpus, .nodes = fabric.nodes});
  collective::FormsOfMachine forms = model.forms;
  if (!request.nccl.empty()) {
    ORRERY_TRY(forms.of_node.tables, collective::FindTunerTables(request.nccl));
    forms.over_nodes.tables = forms.of_node.tables;
  }
  std::optional<collective::NcclSettings> forced;
  if (!request.env.empty()) {
    ORRERY_TRY(forced, collective::ParseNcclSettings(request.env));
  }
  ORRERY_TRY(collective::Prediction prediction,
             collective::Predict(fabric, collective, forms, forced));
  PredictCollectiveResult result{.collective = std::string(CollectiveKindName(collective.kind)),
                                 .bytes = static_cast<double>(collective.size.count),
                                 .gpus = request.gpus,
                                 .cluster = cluster->name,
                                 .bottleneck = std::string(Name(prediction.bottleneck))};
  if (request.flow) {
    const collective::FormRules& rules = fabric.nodes > 1 ? forms.over_nodes : forms.of_node;
    const collective::CostSettings settings{.cluster = cluster,
                                            .constants = rules.constants,
                                            .nccl = forced.value_or(rules.nccl),
                                            .tables = rules.tables};
    ORRERY_TRY_STATUS(PredictByFlows(request, settings, collective, prediction, result));
  }
  SetPrediction(prediction, model, collective::FloorSeconds(fabric, collective), result);
  return result;
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
Result<PredictCollectiveResult> PredictUneven(const PredictCollectiveRequest& request) {
  ORRERY_TRY(const collective::SendMatrix matrix, ReadMatrix(request.matrix));
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(request.cluster));
  ORRERY_TRY(const collective::Fabric fabric,
             collective::FabricOf(*cluster,
                                  {.gpus = matrix.ranks, .gpus_per_node = request.gpus_per_node}));
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(request.model));
  const collective::MachineModels::Found model =
      models.Find({.cluster = cluster, .gpus = matrix.ranks, .nodes = fabric.nodes});
  const collective::FormsOfMachine& forms = model.forms;
  ORRERY_TRY(const double seconds,
             collective::UnevenAllToAllSeconds(
                 fabric, matrix, (fabric.nodes > 1 ? forms.over_nodes : forms.of_node).constants));
  const collective::UnevenLoads loads = collective::LoadsOf(matrix, fabric.ranks_per_node);
  return PredictCollectiveResult{.collective = "all_to_all_v",
                                 .gpus = matrix.ranks,
                                 .cluster = cluster->name,
                                 .time_s = seconds,
                                 .busiest_link_bytes = loads.intra_bytes,
                                 .busiest_nic_bytes = loads.inter_bytes};
}

/// The time according to another simulator.
Result<PredictCollectiveResult> Emulate(const PredictCollectiveRequest& request) {
  ORRERY_TRY(const collective::Request collective, collective::ParseRequest(request.collective));
  ORRERY_TRY(const Duration time,
             EmulatedCollectiveTime(request.emulate, request.settings, collective));
  return PredictCollectiveResult{.collective = std::string(CollectiveKindName(collective.kind)),
                                 .bytes = static_cast<double>(collective.size.count),
                                 .played = request.emulate,
                                 .time_ns = static_cast<double>(time.nanoseconds)};
}

std::string TitleOf(const PredictCollectiveResult& result) {
  if (result.played) {
    return fmt::format("{} of {:.0f} bytes as {} simulates it: {:.0f} ns", result.collective,
                       *result.bytes, *result.played, *result.time_ns);
  }
  return result.bytes
             ? fmt::format("{} of {:.0f} bytes on {} GPUs of {}", result.collective, *result.bytes,
                           *result.gpus, *result.cluster)
             : fmt::format("{} on {} GPUs of {}", result.collective, *result.gpus, *result.cluster);
}

}  // namespace

Result<PredictCollectiveResult> PredictCollective(const Session& /*session*/,
                                                  const PredictCollectiveRequest& request) {
  return RunCancellable(request.call, [&] {
    return !request.emulate.empty()  ? Emulate(request)
           : !request.matrix.empty() ? PredictUneven(request)
                                     : PredictEven(request);
  });
}

Document MakeDocument(const PredictCollectiveResult& result) {
  Document document{.title = TitleOf(result), .kind = "Orrery prediction"};
  Document::Section& section = document.AddSection();
  if (result.algorithm) {
    section.Show("time", TimeText(*result.time_s, {*result.low_s, *result.high_s}))
        .Show("algorithm", fmt::format("{}, {}, {} channel{}", *result.algorithm, *result.protocol,
                                       *result.channels, *result.channels == 1 ? "" : "s"))
        .Show("bandwidth", fmt::format("algbw {:.2f} GB/s, busbw {:.2f} GB/s",
                                       *result.algorithm_gb_per_s, *result.bus_gb_per_s))
        .Show("bottleneck", *result.bottleneck)
        .Show("from", fmt::format("{}: {} ({}, up to {} GPUs)", *result.model,
                                  *result.model_machine, *result.model_source, result.model_gpus));
  } else if (result.time_s) {
    section.Show("time", TimeText(*result.time_s))
        .Show("busiest",
              fmt::format("{:.4g} MB over the links of a GPU, {:.4g} MB over a NIC",
                          *result.busiest_link_bytes / 1e6, *result.busiest_nic_bytes / 1e6));
  }
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
