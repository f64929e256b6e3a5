#include "orrery/report/document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/list.h"
#include "orrery/base/document/value.h"
#include "orrery/kernel/operator.h"

namespace orrery::api {
namespace {

using Column = Document::Column;
using Table = Document::Table;

Column AsFormat(std::string key, std::string header, NumberFormat format) {
  return {std::move(key), std::move(header), std::move(format)};
}

// A table of the fields that columns name; fields without a column are for programs. `shown` makes
// the cell of a column without a name.
template <typename Row>
Table MakeTable(std::string key, const std::vector<Row>& rows, std::vector<Column> columns,
                std::string (*shown)(const Row&) = nullptr) {
  Table table{.key = std::move(key), .columns = std::move(columns), .max_shown = SIZE_MAX};
  for (const Field<Row>& field : FieldList<Row>::Get()) {
    const bool has_column = std::ranges::any_of(
        table.columns, [&](const Column& column) { return column.key == field.name; });
    if (!has_column) {
      table.columns.push_back(
          {.key = std::string(field.name), .header = "", .shown = report::Shown::kNowhere});
    }
  }
  for (const Row& row : rows) {
    std::vector<Value>& cells = table.rows.emplace_back();
    for (const Column& column : table.columns) {
      cells.push_back(column.key.empty() ? Value(shown(row))
                                         : FindField<Row>(column.key)->get(row));
    }
  }
  return table;
}

std::string KernelTimes(const ListedGpu& gpu) {
  return gpu.measured_rows == 0 ? "estimated from other GPUs"
                                : fmt::format("measured: {} of {} operator kinds",
                                              gpu.measured_kinds.size(), kernel::kNumOperatorKinds);
}

// "1 or more", "ring, all_gather": the values of a key, for people.
std::string ValuesOf(const ListedKey& key) {
  if (!key.words.empty()) {
    return fmt::format("{}{}", key.type == "list" ? "some of " : "", fmt::join(key.words, ", "));
  }
  if (key.type == "flag" || key.type == "text") {
    return key.type == "flag" ? "true, false" : "text";
  }
  if (key.least && key.most) {
    return fmt::format("{} to {}", *key.least, *key.most);
  }
  return key.least ? fmt::format("{} or more", *key.least) : key.type;
}

Table GpuTable(const std::vector<ListedGpu>& gpus) {
  Table table = MakeTable(
      "gpus", gpus,
      {AsText("name", "GPU"), AsFormat("memory_bytes", "memory", NumberFormat("{:.0f} GB", 1e-9)),
       AsFormat("memory_bytes_per_s", "bandwidth", NumberFormat("{:.0f} GB/s", 1e-9)),
       AsFormat("bf16_flops", "bf16, dense", NumberFormat("{:.0f} TFLOP/s", 1e-12)),
       AsFormat("link_bytes_per_s", "links", NumberFormat("{:.0f} GB/s", 1e-9)),
       AsFormat("power_w", "power", NumberFormat("{:.0f} W")), AsText("", "kernel times")},
      &KernelTimes);
  table.caption =
      "Measured: operators were timed on this GPU. All others are estimated from the GPUs "
      "where they were.\n"
      "Links: all of a GPU, in one direction.";
  return table;
}

Table ClusterTable(const std::vector<ListedCluster>& clusters) {
  Table table =
      MakeTable("clusters", clusters,
                {AsText("name", "cluster"), AsText("gpu", "GPU"), AsNumber("gpus_per_node", "GPUs"),
                 AsText("island", "inside a node"),
                 AsFormat("island_bytes_per_s", "per GPU", NumberFormat("{:.0f} GB/s", 1e-9)),
                 AsNumber("island_gpus", "linked"), AsNumber("nics_per_node", "NICs"),
                 AsText("network", "network"),
                 AsFormat("nic_bytes_per_s", "per NIC", NumberFormat("{:.0f} Gb/s", 8e-9)),
                 Column{"fabric", "fabric", Unit::kText, 60, report::Shown::kInHtml}});
  table.caption =
      "GPUs and NICs of a node. Linked: GPUs that reach each other without a NIC, each with "
      "this bandwidth in\n"
      "one direction.";
  return table;
}

Table HostTable(const std::vector<ListedHost>& hosts) {
  const NumberFormat times("{:.2f}", 1);
  Table table =
      MakeTable("hosts", hosts,
                {AsText("name", "host"), AsText("cpu", "processor"),
                 AsFormat("operators", "operators", times), AsFormat("program", "Python", times),
                 AsFormat("launches", "launches", times), AsNumber("samples", "samples"),
                 AsText("source", "known from", 86)});
  table.caption =
      "Times over those of the reference, whose costs of operators are part of the program.\n"
      "`orrery measure host` measures another one.";
  return table;
}

Table ModelTable(const std::vector<ListedModel>& models) {
  Table table = MakeTable(
      "models", models,
      {AsText("name", "model"),
       AsFormat("parameters", "parameters", NumberFormat("{:.2f} B", 1e-9)),
       AsFormat("active_parameters", "per token", NumberFormat("{:.2f} B", 1e-9)),
       AsNumber("layers", "layers"), AsNumber("hidden", "hidden"), AsText("also", "also called")});
  table.caption =
      "Per token: parameters that one token meets; of the experts, those that it is "
      "routed to.\n"
      "Layers of convolutional networks are single operators.";
  return table;
}

Table FrameworkTable(const std::vector<ListedFramework>& frameworks) {
  Table table = MakeTable("frameworks", frameworks,
                          {AsText("name", "framework"), AsText("fitted_with", "efficiency"),
                           AsText("origin", "known from", 86)});
  table.caption =
      "Efficiency: fitted to published runs of its own, or that of a framework with "
      "the same code.";
  return table;
}

Table MetricTable(const std::vector<ListedMetric>& metrics) {
  Table table = MakeTable(
      "metrics", metrics,
      {AsText("name", "metric", 0), AsText("unit", "unit", 0), AsText("meaning", "meaning", 0)});
  table.caption =
      "`orrery analyze --list` also has the names of other tools and what each metric "
      "needs; with a run it says\n"
      "which apply.";
  return table;
}

Table FormatTable(const std::vector<ListedFormat>& formats) {
  Table table =
      MakeTable("formats", formats,
                {AsText("direction", ""), AsText("name", "format"), AsText("about", "files", 90)});
  table.caption =
      "Files are recognised by content and may be packed with gzip or zstd; `orrery convert` "
      "writes by the name of\n"
      "OUT. `orrery simulate` also reads SimAI workloads, Chakra traces and graphs of Echo.";
  return table;
}

Table KeyTable(std::string_view section, const std::vector<ListedKey>& keys) {
  Table table = MakeTable(fmt::format("{}_keys", section), keys,
                          {AsText("name", "key", 0), AsText("default", "default", 0),
                           AsText("", "values", 0), AsText("meaning", "meaning", 0)},
                          &ValuesOf);
  table.heading = std::string(section);
  return table;
}

// Adds a table where its list was requested.
template <typename Row, typename MakeRows>
void AddTable(const std::vector<Row>& rows, MakeRows make_table, Document& document) {
  if (!rows.empty()) {
    document.AddSection().Add(make_table(rows));
  }
}

}  // namespace

Document MakeDocument(const ListResult& result) {
  Document document{.kind = fmt::format("Orrery {}", result.what)};
  AddTable(result.gpus, &GpuTable, document);
  AddTable(result.clusters, &ClusterTable, document);
  AddTable(result.hosts, &HostTable, document);
  AddTable(result.models, &ModelTable, document);
  AddTable(result.frameworks, &FrameworkTable, document);
  AddTable(result.metrics, &MetricTable, document);
  AddTable(result.formats, &FormatTable, document);
  const auto add_keys = [&](std::string_view section, const std::vector<ListedKey>& keys) {
    AddTable(keys, [&](const auto& rows) { return KeyTable(section, rows); }, document);
  };
  add_keys("model", result.model_keys);
  add_keys("training", result.training_keys);
  add_keys("plan", result.plan_keys);
  add_keys("framework", result.framework_keys);
  document.data = result.what == "job-schema" ? result.job_schema : ToObject(result);
  return document;
}

}  // namespace orrery::api
