#include "orrery/api/list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/analyze/metric.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/registry.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/keys/job_schema.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/recorded/host/host_machine.h"

namespace orrery::api {
namespace {

/// The measurements of one GPU that the shipped models of kernel times were fitted to.
struct MeasuredKernels {
  std::set<std::string_view> kinds;
  std::int64_t rows = 0;
};

Result<std::vector<ListedGpu>> ListGpus(const Session& session) {
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, session.state().Models({}));
  std::map<std::string, MeasuredKernels, std::less<>> measured;
  for (const kernel::EfficiencyModel& model : models->models()) {
    MeasuredKernels& gpu = measured[model.domain().gpu];
    gpu.kinds.insert(kernel::SchemaOf(model.domain().kind).name);
    gpu.rows += static_cast<std::int64_t>(model.domain().rows);
  }
  std::vector<ListedGpu> gpus;
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    ListedGpu& listed = gpus.emplace_back(
        ListedGpu{.name = gpu.name,
                  .memory_bytes = static_cast<std::int64_t>(gpu.memory_size.count),
                  .memory_bytes_per_s = gpu.memory.bytes_per_second,
                  .bf16_flops = gpu.PeakFlops("bf16"),
                  .power_w = gpu.power_watts});
    if (gpu.link.bytes_per_second > 0) {
      listed.link_bytes_per_s = gpu.link.bytes_per_second;
    }
    if (const auto found = measured.find(gpu.name); found != measured.end()) {
      listed.measured_kinds.assign(found->second.kinds.begin(), found->second.kinds.end());
      listed.measured_rows = found->second.rows;
    }
  }
  return gpus;
}

std::vector<ListedCluster> ListClusters() {
  std::vector<ListedCluster> clusters;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    clusters.push_back({.name = cluster.name,
                        .gpu = cluster.gpu,
                        .gpus_per_node = cluster.gpus_per_node,
                        .island = std::string(Name(cluster.island.kind)),
                        .island_bytes_per_s = cluster.island.per_gpu.bytes_per_second,
                        .island_gpus = cluster.island.gpus,
                        .nics_per_node = cluster.nics.per_node,
                        .network = std::string(Name(cluster.nics.kind)),
                        .nic_bytes_per_s = cluster.nics.bandwidth.bytes_per_second,
                        .fabric = std::string(Name(cluster.fabric.preset))});
  }
  return clusters;
}

std::vector<ListedHost> ListHosts() {
  std::vector<ListedHost> hosts;
  for (const workload::HostMachine& host : workload::KnownHosts()) {
    hosts.push_back({.name = host.name,
                     .cpu = host.cpu,
                     .operators = host.pace.operators,
                     .program = host.pace.program,
                     .launches = host.pace.launches,
                     .samples = host.samples,
                     .source = host.source});
  }
  return hosts;
}

std::optional<std::int64_t> LayersOf(const workload::Preset& preset, const workload::Model& model) {
  if (const auto* const shape = std::get_if<workload::TransformerShape>(&preset.facts)) {
    return shape->layers + shape->encoder_layers;
  }
  const workload::LayerList* const list = model.layer_list();
  return list == nullptr ? std::optional<std::int64_t>() : std::ssize(list->layers);
}

Result<std::vector<ListedModel>> ListModels() {
  std::vector<ListedModel> models;
  for (const workload::Preset& preset : workload::Presets().models) {
    ORRERY_TRY(const workload::Model model, workload::ModelOf(preset, DataType::kBf16));
    const auto* const shape = std::get_if<workload::TransformerShape>(&preset.facts);
    models.push_back({.name = preset.name,
                      .parameters = workload::TotalParameters(model),
                      .active_parameters = workload::ActiveParameters(model),
                      .layers = LayersOf(preset, model),
                      .hidden = shape == nullptr ? std::optional<std::int64_t>() : shape->hidden,
                      .also = fmt::format("{}", fmt::join(preset.also, ", "))});
  }
  return models;
}

std::vector<ListedFramework> ListFrameworks() {
  std::vector<ListedFramework> frameworks;
  for (const workload::Framework& framework : workload::Frameworks()) {
    frameworks.push_back(
        {.name = framework.name,
         .fitted_with = framework.scalars_of.empty() ? "own" : framework.scalars_of,
         .origin = framework.origin});
  }
  return frameworks;
}

std::vector<ListedMetric> ListMetrics() {
  std::vector<ListedMetric> metrics;
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    metrics.push_back({.name = std::string(metric.name),
                       .unit = std::string(metric.unit),
                       .meaning = std::string(metric.meaning)});
  }
  return metrics;
}

struct FormatDescription {
  std::string_view name;
  std::string_view about;
};

// By ingest::Format::name.
constexpr auto kRead = std::to_array<FormatDescription>({
    {"Orrery container", ".orr: everything, reads fastest (docs/formats/orr.md)"},
    {"Orrery event stream", ".orrs: what orrery capture writes (docs/formats/orrs.md)"},
    {"nsys SQLite", "nsys export --type sqlite"},
    {"nsys report", ".nsys-rep, where nsys is installed to export it"},
    {"NVF1", "NVLink counters over time"},
    {"XPlane", ".xplane.pb of the XLA and JAX profiler"},
    {"PyTorch memory snapshot", ".pickle of torch.cuda.memory._dump_snapshot"},
    {"rocprofv3", "JSON, rocpd database or CSV tables of AMD's profiler"},
    {"Kineto JSON", "torch.profiler's Chrome trace; also what convert writes as .json"},
    {"PyTorch execution trace", "ExecutionTraceObserver's JSON"},
    {"PyTorch memory timeline", "profiler.export_memory_timeline, .json or .raw.json.gz"},
    {"NVBit mem_trace", "addresses of memory accesses, as NVBit's tool prints them"},
    {"serving benchmark", "results of vLLM's and SGLang's benchmarks"},
    {"latency benchmark", "results of vLLM's latency benchmark"},
    {"gate log", "tokens of each expert by step, of a mixture of experts"},
    {"operation timeline", "CSV: operations of steps (docs/formats/operation-timeline.md)"},
    {"PARAM comms", "logs of PARAM's comms.py"},
    {"nccl-tests", "logs of nccl-tests and rccl-tests"},
    {"step score", "gpu_step_score_config.yaml and gpu_count.txt of ccl-bench"},
    {"workload card", "YAML that describes a run (docs/formats/workload-card.md)"},
});

constexpr auto kWritten = std::to_array<FormatDescription>({
    {"Orrery container", ".orr"},
    {"Chrome JSON", ".json .json.gz .json.zst: ui.perfetto.dev, chrome://tracing, Kineto tools"},
    {"Perfetto", ".pftrace: for many ranks"},
    {"PyTorch memory snapshot", ".pickle: pytorch.org/memory_viz; one process"},
    {"Orrery event stream", ".orrs: of an event stream, packed"},
});

std::vector<ListedFormat> ListFormats() {
  std::vector<ListedFormat> formats;
  for (const ingest::Format* const format : ingest::KnownFormats()) {
    const auto* const found = std::ranges::find(kRead, format->name, &FormatDescription::name);
    formats.push_back({.direction = "read",
                       .name = std::string(format->name),
                       .about = found == kRead.end() ? "" : std::string(found->about)});
  }
  for (const FormatDescription& format : kWritten) {
    formats.push_back({.direction = "written",
                       .name = std::string(format.name),
                       .about = std::string(format.about)});
  }
  return formats;
}

std::optional<double> LimitOf(double limit) {
  return std::isfinite(limit) ? std::optional(limit) : std::nullopt;
}

std::vector<ListedKey> ListKeys(std::string_view section) {
  std::vector<ListedKey> keys;
  for (const workload::JobKey& key : workload::JobKeys()) {
    if (key.section != section || key.is_earlier) {
      continue;
    }
    keys.push_back({.name = std::string(key.name),
                    .usual = key.usual(),
                    .meaning = std::string(key.meaning),
                    .type = std::string(key.type),
                    .least = LimitOf(key.least),
                    .most = LimitOf(key.most),
                    .words = {key.words.begin(), key.words.end()},
                    .searched = key.search.place > 0,
                    .megatron = std::string(key.megatron),
                    .nemo = std::string(key.nemo),
                    .torchtitan = std::string(key.torchtitan),
                    .deepspeed = std::string(key.deepspeed),
                    .fsdp = std::string(key.fsdp),
                    .published = std::string(key.published)});
  }
  return keys;
}

Result<ListResult> MakeList(const Session& session, const std::string& what) {
  ListResult result{.what = what};
  if (what == "gpus") {
    ORRERY_TRY(result.gpus, ListGpus(session));
  } else if (what == "clusters") {
    result.clusters = ListClusters();
  } else if (what == "hosts") {
    result.hosts = ListHosts();
  } else if (what == "models") {
    ORRERY_TRY(result.models, ListModels());
  } else if (what == "frameworks") {
    result.frameworks = ListFrameworks();
  } else if (what == "metrics") {
    result.metrics = ListMetrics();
  } else if (what == "formats") {
    result.formats = ListFormats();
  } else if (what == "job-keys") {
    result.model_keys = ListKeys("model");
    result.training_keys = ListKeys("training");
    result.plan_keys = ListKeys("plan");
    result.framework_keys = ListKeys("framework");
  } else if (what == "job-schema") {
    result.job_schema = workload::JobSchema();
  } else {
    return InvalidInput("what: {} is none of {}", what, fmt::join(ListedThings(), "|"));
  }
  return result;
}

}  // namespace

Result<ListResult> List(const Session& session, const ListRequest& request) {
  return RunCancellable(request.call, [&] { return MakeList(session, request.what); });
}

std::vector<std::string> ListedNames(std::string_view what) {
  const auto strings = [](const std::vector<std::string_view>& names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  return what == "gpus"         ? strings(NamesOf(hardware::GpuCatalogue()))
         : what == "clusters"   ? strings(NamesOf(hardware::ClusterCatalogue()))
         : what == "hosts"      ? strings(NamesOf(workload::KnownHosts()))
         : what == "models"     ? strings(NamesOf(workload::Presets().models))
         : what == "frameworks" ? strings(NamesOf(workload::Frameworks()))
         : what == "metrics"    ? strings(NamesOf(analyze::AllMetrics()))
                                : std::vector<std::string>();
}

}  // namespace orrery::api
