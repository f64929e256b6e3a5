#include "orrery/collective/measurement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"

namespace orrery::collective {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;
constexpr double kGiga = 1e9;

std::string TextOr(const Table& table, std::size_t row, std::string_view column,
                   std::string_view fallback = "") {
  return std::string(table.Text(row, column).value_or(fallback));
}

bool HasCell(const Table& table, std::size_t row, std::string_view column) {
  const std::optional<std::size_t> index = table.FindColumn(column);
  return index && !std::holds_alternative<std::monostate>(table.At(row, *index));
}

Result<double> SecondsIn(const Table& table, std::size_t row, std::string_view column,
                         double unit) {
  const std::optional<double> value = table.NumberInText(row, column);
  if (!value || !std::isfinite(*value) || *value <= 0) {
    return Invalid("{} is not a time above zero", column);
  }
  return *value * unit;
}

Result<int> GpusIn(const Table& table, std::size_t row, std::string_view column) {
  const std::optional<double> value = table.NumberInText(row, column);
  if (!value || *value < 1 || *value > 10'000'000) {
    return Invalid("{} is not a number of GPUs", column);
  }
  return static_cast<int>(*value);
}

struct RawRow {
  Measurement measurement;
  std::string machine;  // its name in the row
  int gpus_per_node = 0;
};

/// Nothing if the row has no time.
using Raw = Result<std::optional<RawRow>>;

Result<Request> RequestOf(std::string_view kind, double bytes, std::string_view element) {
  Request request;
  ORRERY_TRY(request.kind, ParseCollectiveKind(kind));
  request.size = Bytes{static_cast<std::int64_t>(bytes)};
  if (!element.empty()) {
    ORRERY_TRY(request.element, ParseElementType(element));
  }
  return request;
}

/// The columns of a publisher's table.
struct Layout {
  std::string_view gpus;
  std::string_view size;  // bytes
  std::string_view time;
  double time_unit;
  std::string_view kind;
  std::string_view element;
  std::string_view machine;
  std::string_view version = "nccl_version";
  std::string_view gpus_per_node = {};
  std::string_view bandwidth = {};  // of the bus, GB/s, for rows without a time
  std::string_view default_source = {};
  std::string_view default_kind = {};  // the column is optional
  std::string_view default_element = {};
  bool counts_elements = false;  // sizes are in elements of half precision or of one byte
};

constexpr auto kLayouts = std::to_array<Layout>({
    // truth/nccl.csv
    {"n_gpus", "size_bytes", "oop_time_us", kMicro, "collective", "dtype", "gpu", "nccl_version",
     "gpus_per_node", "oop_busbw_GBps"},
    // aiconfigurator
    {"num_gpus", "message_size", "latency_ms", kMilli, "op_name", "nccl_dtype", "device", "version",
     "", "", "aiconfigurator", "", "", true},
    // vidur and pipeweave. `size` is documented as elements of fp16. Then eight A100 would reach a
    // bus bandwidth of 342 to 455 GB/s over links of 300; as bytes it is 171 to 228, as elsewhere.
    {"num_workers", "size", "median_ms", kMilli, "collective", "", "system", "nccl_version",
     "devices_per_node", "", "", "", "half"},
    // nccl-tests
    {"nranks", "size_bytes", "oop_time_us", kMicro, "test", "data_type", "gpu", "nccl_version", "",
     "", "nccl-tests", "all_reduce"},
});

const Layout* FindLayout(const Table& table) {
  const auto found = std::ranges::find_if(kLayouts, [&](const Layout& layout) {
    return table.FindColumn(layout.gpus) && table.FindColumn(layout.size) &&
           table.FindColumn(layout.time) &&
           (!layout.default_kind.empty() || table.FindColumn(layout.kind));
  });
  return found == kLayouts.end() ? nullptr : &*found;
}

Result<double> TimeIn(const Layout& layout, const Table& table, std::size_t row,
                      const Measurement& measurement) {
  if (layout.bandwidth.empty() || HasCell(table, row, layout.time)) {
    return SecondsIn(table, row, layout.time, layout.time_unit);
  }
  const double bandwidth = table.NumberInText(row, layout.bandwidth).value_or(0) * kGiga;
  if (!(bandwidth > 0)) {
    return Invalid("{} is not a bandwidth above zero", layout.bandwidth);
  }
  const auto bytes = static_cast<double>(measurement.request.size.count);
  return bytes * BusFactor(measurement.request.kind, measurement.gpus) / bandwidth;
}

int GpusPerNode(const Layout& layout, const Table& table, std::size_t row, int gpus) {
  const double nodes = table.NumberInText(row, "nodes").value_or(0);
  return static_cast<int>(layout.gpus_per_node.empty() && nodes > 0
                              ? gpus / nodes
                              : table.NumberInText(row, layout.gpus_per_node).value_or(0));
}

Raw ReadRow(const Layout& layout, const Table& table, std::size_t row) {
  RawRow raw;
  Measurement& measurement = raw.measurement;
  ORRERY_TRY(measurement.gpus, GpusIn(table, row, layout.gpus));
  const std::string element = TextOr(table, row, layout.element, layout.default_element);
  const double bytes = table.NumberInText(row, layout.size).value_or(0) *
                       (layout.counts_elements && element == "half" ? 2 : 1);
  const bool has_time = layout.bandwidth.empty() || HasCell(table, row, layout.time) ||
                        HasCell(table, row, layout.bandwidth);
  if (measurement.gpus == 1 || bytes <= 0 || !has_time) {
    return std::nullopt;
  }
  measurement.source = TextOr(table, row, "source", layout.default_source);
  ORRERY_TRY(measurement.request,
             RequestOf(TextOr(table, row, layout.kind, layout.default_kind), bytes, element));
  const std::string settings = TextOr(table, row, "algo_env");
  ORRERY_TRY(measurement.settings,
             ParseNcclSettings(settings.ends_with("default") ? "" : settings));
  measurement.nccl_version = TextOr(table, row, layout.version);
  ORRERY_TRY(measurement.seconds, TimeIn(layout, table, row, measurement));
  measurement.setup = TextOr(table, row, layout.machine);
  raw.machine =
      layout.bandwidth.empty()
          ? measurement.setup
          : fmt::format("{} {} {} {}", measurement.setup, TextOr(table, row, "inter_node"),
                        TextOr(table, row, "intra_node"), measurement.source);
  raw.gpus_per_node = GpusPerNode(layout, table, row, measurement.gpus);
  return raw;
}

/// A machine that is not in the catalogue is replaced by one whose GPUs have the same vendor and
/// generation and similar links.
const hardware::Cluster* LikeliestCluster(std::string_view words) {
  const hardware::Gpu* gpu = hardware::FindGpu(words);
  const hardware::Cluster* best = nullptr;
  double best_distance = 0;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    const hardware::Gpu* other = hardware::FindGpu(cluster.gpu);
    if (gpu == nullptr || other == nullptr || gpu->vendor != other->vendor) {
      continue;
    }
    const double distance = (gpu->generation == other->generation ? 0 : 1) +
                            std::abs(std::log2((1e9 + gpu->link.bytes_per_second) /
                                               (1e9 + other->link.bytes_per_second)));
    if (best == nullptr || distance < best_distance) {
      best = &cluster;
      best_distance = distance;
    }
  }
  return best;
}

// GPUs of one generation with equal links communicate alike: H100 and H200, not H100 and H800.
bool AreAlike(const hardware::Gpu& one, const hardware::Gpu& other) {
  return one.vendor == other.vendor && one.generation == other.generation &&
         one.link.bytes_per_second == other.link.bytes_per_second;
}

/// Returns true if the row names its GPU; fails if that is not the cluster's.
Result<bool> IsMeasuredOn(const hardware::Cluster& cluster, const Measurement& measurement) {
  const hardware::Gpu* measured = hardware::FindGpu(measurement.setup);
  const hardware::Gpu* expected = hardware::FindGpu(cluster.gpu);
  if (measured != nullptr && expected != nullptr && !AreAlike(*measured, *expected)) {
    return Invalid(
        "measured on {}, and the GPUs of --cluster '{}' are {}; name the cluster that was "
        "measured, or leave --cluster out where the data name it",
        measurement.setup, cluster.name, cluster.gpu);
  }
  return measured != nullptr;
}

/// `file` may contain what a log does not: aws_p4de_2node.log.
Status Place(RawRow& raw, const hardware::Cluster* given, const std::string& file) {
  const std::string words = raw.machine + " " + std::filesystem::path(file).stem().string();
  const hardware::Cluster* cluster = given != nullptr ? given : hardware::FindCluster(words);
  if (cluster == nullptr) {
    cluster = LikeliestCluster(raw.machine);
  }
  if (cluster == nullptr) {
    return Invalid(raw.machine.empty()
                       ? "the machine is unknown; name it with --cluster"
                       : fmt::format("no machine of the catalogue is like '{}'; name one with "
                                     "--cluster",
                                     raw.machine));
  }
  raw.measurement.cluster = cluster;
  // Islands may span nodes: only fewer GPUs than a node has determine the placement.
  const int per_node = raw.gpus_per_node < cluster->gpus_per_node ? raw.gpus_per_node : 0;
  ORRERY_TRY(raw.measurement.fabric,
             FabricOf(*cluster, {.gpus = raw.measurement.gpus, .gpus_per_node = per_node}));
  return {};
}

// Adds one row, or says why it is left out; an error is one of the command, not of the row.
Status AddRow(const MeasuredTable& table, const Layout& layout, std::size_t row,
              const hardware::Cluster* given, Measurements& measurements) {
  const auto file = static_cast<std::uint32_t>(measurements.files.size() - 1);
  const std::uint32_t line = table.has_lines ? static_cast<std::uint32_t>(row + 2) : 0;
  Raw raw = ReadRow(layout, table.table, row);
  if (raw && !*raw) {
    ++measurements.skipped;
    return {};
  }
  if (raw && given != nullptr) {
    const Result<bool> is_named = IsMeasuredOn(*given, (**raw).measurement);
    if (!is_named) {
      return FailWithin(line == 0 ? table.file : fmt::format("{}:{}", table.file, line), is_named);
    }
    measurements.without_gpu += *is_named ? 0 : 1;
  }
  const Status placed = raw ? Place(**raw, given, table.file) : Status(tl::unexpect, raw.error());
  if (!placed) {
    measurements.rejected.push_back({file, line, placed.error().message()});
    return {};
  }
  (**raw).measurement.file = file;
  (**raw).measurement.line = line;
  measurements.rows.push_back(std::move((**raw).measurement));
  return {};
}

}  // namespace

bool HoldsCollectives(const Table& table) {
  return FindLayout(table) != nullptr;
}

Status AddMeasurements(const MeasuredTable& table, const std::string& cluster,
                       Measurements& measurements) {
  const Layout* layout = FindLayout(table.table);
  if (layout == nullptr) {
    return Invalid(
        "{}: neither an nccl-tests log nor a table of collectives: columns "
        "collective, n_gpus, size_bytes and oop_time_us are needed",
        table.file);
  }
  const hardware::Cluster* given = cluster.empty() ? nullptr : hardware::FindCluster(cluster);
  if (!cluster.empty() && given == nullptr) {
    return Invalid("no cluster is called '{}'", cluster);
  }
  measurements.files.push_back(table.file);
  for (std::size_t row = 0; row < table.table.num_rows(); ++row) {
    ORRERY_TRY_STATUS(AddRow(table, *layout, row, given, measurements));
  }
  return {};
}

}  // namespace orrery::collective
