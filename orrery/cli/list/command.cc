#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/analyze/metric.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/value.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/list/list.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/registry.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/report/document.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/keys/job_schema.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::cli {
namespace {

using Table = Document::Table;

Document::Column Column(std::string key, std::string header, NumberFormat format) {
  return {std::move(key), std::move(header), std::move(format)};
}

/// The measurements of one GPU that the shipped models of kernel times were fitted to.
struct MeasuredKernels {
  std::set<std::string_view> kinds;
  std::int64_t rows = 0;
};

Result<std::map<std::string, MeasuredKernels, std::less<>>> MeasuredByGpu() {
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, LoadKernelModels({}));
  std::map<std::string, MeasuredKernels, std::less<>> measured;
  for (const kernel::EfficiencyModel& model : models->models()) {
    MeasuredKernels& gpu = measured[model.domain().gpu];
    gpu.kinds.insert(kernel::SchemaOf(model.domain().kind).name);
    gpu.rows += static_cast<std::int64_t>(model.domain().rows);
  }
  return measured;
}

Value TextsOf(const auto& texts) {
  Value list = Value::List();
  for (const auto& text : texts) {
    list.Add(std::string(text));
  }
  return list;
}

Result<Table> Gpus() {
  ORRERY_TRY(const auto measured, MeasuredByGpu());
  Table table{
      .key = "gpus",
      .columns = {AsText("name", "GPU"),
                  Column("memory_bytes", "memory", NumberFormat("{:.0f} GB", 1e-9)),
                  Column("memory_bytes_per_s", "bandwidth", NumberFormat("{:.0f} GB/s", 1e-9)),
                  Column("bf16_flops", "bf16, dense", NumberFormat("{:.0f} TFLOP/s", 1e-12)),
                  Column("link_bytes_per_s", "links", NumberFormat("{:.0f} GB/s", 1e-9)),
                  Column("power_w", "power", NumberFormat("{:.0f} W")),
                  AsText("", "kernel times"),
                  {.key = "measured_kinds", .header = "", .shown = report::Shown::kNowhere},
                  {.key = "measured_rows", .header = "", .shown = report::Shown::kNowhere}},
      .caption =
          "Measured: operators were timed on this GPU. All others are estimated from the GPUs "
          "where they were.\n"
          "Links: all of a GPU, in one direction."};
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    const auto found = measured.find(gpu.name);
    const bool is_measured = found != measured.end();
    const auto peak = gpu.PeakFlops("bf16");
    table.rows.push_back(
        {gpu.name, gpu.memory_size.count, gpu.memory.bytes_per_second,
         peak ? Value(*peak) : Value(),
         gpu.link.bytes_per_second > 0 ? Value(gpu.link.bytes_per_second) : Value(),
         gpu.power_watts,
         is_measured ? fmt::format("measured: {} of {} operator kinds", found->second.kinds.size(),
                                   kernel::kNumOperatorKinds)
                     : std::string("estimated from other GPUs"),
         is_measured ? TextsOf(found->second.kinds) : Value::List(),
         is_measured ? found->second.rows : 0});
  }
  return table;
}

Result<Table> Clusters() {
  Table table{
      .key = "clusters",
      .columns = {AsText("name", "cluster"), AsText("gpu", "GPU"),
                  AsNumber("gpus_per_node", "GPUs"), AsText("island", "inside a node"),
                  Column("island_bytes_per_s", "per GPU", NumberFormat("{:.0f} GB/s", 1e-9)),
                  AsNumber("island_gpus", "linked"), AsNumber("nics_per_node", "NICs"),
                  AsText("network", "network"),
                  Column("nic_bytes_per_s", "per NIC", NumberFormat("{:.0f} Gb/s", 8e-9)),
                  Document::Column{"fabric", "fabric", report::Unit::kText, 60,
                                   report::Shown::kInHtml}},
      .caption =
          "GPUs and NICs of a node. Linked: GPUs that reach each other without a NIC, each with "
          "this bandwidth in\n"
          "one direction."};
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    table.rows.push_back(
        {cluster.name, cluster.gpu, cluster.gpus_per_node, std::string(Name(cluster.island.kind)),
         cluster.island.per_gpu.bytes_per_second, cluster.island.gpus, cluster.nics.per_node,
         std::string(Name(cluster.nics.kind)), cluster.nics.bandwidth.bytes_per_second,
         std::string(Name(cluster.fabric.preset))});
  }
  return table;
}

Value LayersOf(const workload::Preset& preset, const workload::Model& model) {
  if (const auto* const shape = std::get_if<workload::TransformerShape>(&preset.facts)) {
    return shape->layers + shape->encoder_layers;
  }
  const workload::LayerList* const list = model.layer_list();
  return list == nullptr ? Value() : Value(static_cast<std::int64_t>(list->layers.size()));
}

Result<Table> Models() {
  Table table{.key = "models",
              .columns = {AsText("name", "model"),
                          Column("parameters", "parameters", NumberFormat("{:.2f} B", 1e-9)),
                          Column("active_parameters", "per token", NumberFormat("{:.2f} B", 1e-9)),
                          AsNumber("layers", "layers"), AsNumber("hidden", "hidden"),
                          AsText("also", "also called")},
              .caption =
                  "Per token: parameters that one token meets; of the experts, those that it is "
                  "routed to.\n"
                  "Layers of convolutional networks are single operators."};
  for (const workload::Preset& preset : workload::Presets().models) {
    ORRERY_TRY(const workload::Model model, workload::ModelOf(preset, DataType::kBf16));
    const auto* const shape = std::get_if<workload::TransformerShape>(&preset.facts);
    table.rows.push_back({preset.name, workload::TotalParameters(model),
                          workload::ActiveParameters(model), LayersOf(preset, model),
                          shape == nullptr ? Value() : Value(shape->hidden),
                          fmt::format("{}", fmt::join(preset.also, ", "))});
  }
  return table;
}

Result<Table> Frameworks() {
  Table table{.key = "frameworks",
              .columns = {AsText("name", "framework"), AsText("fitted_with", "efficiency"),
                          AsText("origin", "known from", 86)},
              .caption =
                  "Efficiency: fitted to published runs of its own, or that of a framework with "
                  "the same code."};
  for (const workload::Framework& framework : workload::Frameworks()) {
    table.rows.push_back({framework.name,
                          framework.scalars_of.empty() ? std::string("own") : framework.scalars_of,
                          framework.origin});
  }
  return table;
}

Result<Table> Metrics() {
  Table table{.key = "metrics",
              .columns = {AsText("name", "metric", 0), AsText("unit", "unit", 0),
                          AsText("meaning", "meaning", 0)},
              .caption =
                  "`orrery analyze --list` also has the names of other tools and what each metric "
                  "needs; with a run it says\n"
                  "which apply."};
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    table.rows.push_back({metric.name, metric.unit, metric.meaning});
  }
  return table;
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

Result<Table> Formats() {
  Table table{
      .key = "formats",
      .columns = {AsText("direction", ""), AsText("name", "format"), AsText("about", "files", 90)},
      .caption =
          "Files are recognised by content and may be packed with gzip or zstd; `orrery convert` "
          "writes by the name of\n"
          "OUT. `orrery simulate` also reads SimAI workloads, Chakra traces and graphs of Echo."};
  for (const ingest::Format* const format : ingest::KnownFormats()) {
    const auto* const found = std::ranges::find(kRead, format->name, &FormatDescription::name);
    table.rows.push_back({"read", format->name, found == kRead.end() ? "" : found->about});
  }
  for (const FormatDescription& format : kWritten) {
    table.rows.push_back({"written", format.name, format.about});
  }
  return table;
}

// "1 or more", "ring, all_gather": the values of a key, for people.
std::string ValuesOf(const workload::JobKey& key) {
  if (!key.words.empty()) {
    return fmt::format("{}{}", key.type == "list" ? "some of " : "", fmt::join(key.words, ", "));
  }
  if (key.type == "flag" || key.type == "text") {
    return key.type == "flag" ? "true, false" : "text";
  }
  if (std::isfinite(key.most)) {
    return fmt::format("{} to {}", key.least, key.most);
  }
  return std::isfinite(key.least) ? fmt::format("{} or more", key.least) : std::string(key.type);
}

Value LimitOf(double limit) {
  return std::isfinite(limit) ? Value(limit) : Value();
}

Table KeysOf(std::string_view section) {
  constexpr auto kTools =
      std::to_array<std::pair<std::string_view, std::string_view workload::JobKey::*>>(
          {{"megatron", &workload::JobKey::megatron},
           {"nemo", &workload::JobKey::nemo},
           {"torchtitan", &workload::JobKey::torchtitan},
           {"deepspeed", &workload::JobKey::deepspeed},
           {"fsdp", &workload::JobKey::fsdp},
           {"published", &workload::JobKey::published}});
  Table table{.key = fmt::format("{}_keys", section),
              .heading = std::string(section),
              .columns = {AsText("name", "key", 0), AsText("default", "default", 0),
                          AsText("", "values", 0), AsText("meaning", "meaning", 0)}};
  for (const std::string_view hidden : {"type", "least", "most", "words", "searched"}) {
    table.columns.push_back(
        {.key = std::string(hidden), .header = "", .shown = report::Shown::kNowhere});
  }
  for (const auto& [tool, member] : kTools) {
    table.columns.push_back(
        {.key = std::string(tool), .header = "", .shown = report::Shown::kNowhere});
  }
  table.max_shown = SIZE_MAX;
  for (const workload::JobKey& key : workload::JobKeys()) {
    if (key.section != section || key.is_earlier) {
      continue;
    }
    table.rows.push_back({key.name, key.usual(), ValuesOf(key), key.meaning, key.type,
                          LimitOf(key.least), LimitOf(key.most), TextsOf(key.words),
                          key.search.place > 0});
    for (const auto& [tool, member] : kTools) {
      table.rows.back().push_back(Value(std::string(key.*member)));
    }
  }
  return table;
}

struct List {
  std::string_view name;
  Result<Table> (*table)();
};

constexpr auto kLists = std::to_array<List>({
    {"gpus", Gpus},
    {"clusters", Clusters},
    {"models", Models},
    {"frameworks", Frameworks},
    {"metrics", Metrics},
    {"formats", Formats},
    {"job-keys", nullptr},
    {"job-schema", nullptr},
});

struct ListArguments {
  std::string what;
  OutputOptions output;
};

Result<int> PrintList(const ListArguments& arguments) {
  const auto* const list = std::ranges::find(kLists, arguments.what, &List::name);
  if (list->name == "job-schema") {
    Print(draw::JsonText(workload::JobSchema()) + "\n");
    return 0;
  }
  Document document{.kind = fmt::format("Orrery {}", arguments.what)};
  if (list->name == "job-keys") {
    for (const std::string_view section : {"model", "training", "plan", "framework"}) {
      document.AddSection().Add(KeysOf(section));
    }
    return Deliver(document, arguments.output);
  }
  ORRERY_TRY(Table table, list->table());
  table.max_shown = SIZE_MAX;
  document.AddSection().Add(std::move(table));
  return Deliver(document, arguments.output);
}

}  // namespace

std::vector<std::string> ListedThings() {
  std::vector<std::string> names;
  std::ranges::transform(kLists, std::back_inserter(names),
                         [](const List& list) { return std::string(list.name); });
  return names;
}

std::vector<std::string> ListedNames(std::string_view what) {
  const auto strings = [](const std::vector<std::string_view>& names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  return what == "gpus"         ? strings(NamesOf(hardware::GpuCatalogue()))
         : what == "clusters"   ? strings(NamesOf(hardware::ClusterCatalogue()))
         : what == "models"     ? strings(NamesOf(workload::Presets().models))
         : what == "frameworks" ? strings(NamesOf(workload::Frameworks()))
         : what == "metrics"    ? strings(NamesOf(analyze::AllMetrics()))
                                : std::vector<std::string>();
}

void AddListCommand(Verb& app) {
  auto arguments = std::make_shared<ListArguments>();
  Verb verb =
      app.AddVerb("list", "What is known: GPUs, clusters, models, frameworks, metrics, formats");
  verb.Footer(
      "Names of GPUs, clusters, models and frameworks are those that options and job files "
      "take.\n"
      "Keys are those of a job file's sections; --json has their names in training tools.\n"
      "job-schema is the JSON Schema of a job file, for editors.\n\n"
      "Examples:\n"
      "  orrery list gpus\n"
      "  orrery list models --json | jq '.models[] | select(.parameters < 1e9) .name'");
  verb.AddOption("WHAT", arguments->what, "the list to print").Required().OneOf(ListedThings());
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments] { return PrintList(*arguments); });
}

}  // namespace orrery::cli
