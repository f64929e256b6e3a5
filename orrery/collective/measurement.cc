#include "orrery/collective/measurement.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/hardware/gpu.h"

namespace orrery::collective {

namespace {

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;
constexpr double kGiga = 1e9;

tl::unexpected<Error> BadRow(std::string reason) {
  return Fail(Error::Kind::kInvalidInput, std::move(reason));
}

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
    return BadRow(fmt::format("{} is not a time above zero", column));
  }
  return *value * unit;
}

Result<int> GpusIn(const Table& table, std::size_t row, std::string_view column) {
  const std::optional<double> value = table.NumberInText(row, column);
  if (!value || *value < 1 || *value > 10'000'000) {
    return BadRow(fmt::format("{} is not a number of GPUs", column));
  }
  return static_cast<int>(*value);
}

/// The fields of a row before the machine is looked up.
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
    ORRERY_TRY(request.element, ParseElement(element));
  }
  return request;
}

/// Some tables have only the bandwidth.
double SecondsAtBusBandwidth(const Measurement& measurement, double bytes_per_second) {
  const auto bytes = static_cast<double>(measurement.request.size.count);
  return bytes * BusFactor(measurement.request.kind, measurement.gpus) / bytes_per_second;
}

// --- truth/nccl.csv ----------------------------------------------------------------------------

Raw ReadTruth(const Table& table, std::size_t row) {
  RawRow raw;
  ORRERY_TRY(raw.measurement.gpus, GpusIn(table, row, "n_gpus"));
  const double bytes = table.NumberInText(row, "size_bytes").value_or(0);
  const bool has_time = HasCell(table, row, "oop_time_us");
  if (raw.measurement.gpus == 1 || bytes <= 0 ||
      (!has_time && !HasCell(table, row, "oop_busbw_GBps"))) {
    return std::nullopt;
  }
  raw.measurement.source = TextOr(table, row, "source");
  raw.measurement.setup = TextOr(table, row, "gpu");
  ORRERY_TRY(raw.measurement.request,
             RequestOf(TextOr(table, row, "collective"), bytes, TextOr(table, row, "dtype")));
  ORRERY_TRY(raw.measurement.settings, ParseNcclSettings(TextOr(table, row, "algo_env")));
  raw.measurement.nccl_version = TextOr(table, row, "nccl_version");
  if (has_time) {
    ORRERY_TRY(raw.measurement.seconds, SecondsIn(table, row, "oop_time_us", kMicro));
  } else {
    const double bandwidth = table.NumberInText(row, "oop_busbw_GBps").value_or(0) * kGiga;
    if (!(bandwidth > 0)) {
      return BadRow("oop_busbw_GBps is not a bandwidth above zero");
    }
    raw.measurement.seconds = SecondsAtBusBandwidth(raw.measurement, bandwidth);
  }
  raw.machine =
      fmt::format("{} {} {} {}", TextOr(table, row, "gpu"), TextOr(table, row, "inter_node"),
                  TextOr(table, row, "intra_node"), raw.measurement.source);
  raw.gpus_per_node = static_cast<int>(table.NumberInText(row, "gpus_per_node").value_or(0));
  return raw;
}

// --- aiconfigurator's tables -------------------------------------------------------------------

Raw ReadAiconfigurator(const Table& table, std::size_t row) {
  RawRow raw;
  raw.measurement.source = "aiconfigurator";
  ORRERY_TRY(raw.measurement.gpus, GpusIn(table, row, "num_gpus"));
  const std::string element = TextOr(table, row, "nccl_dtype");
  const double elements = table.NumberInText(row, "message_size").value_or(0);
  ORRERY_TRY(raw.measurement.request, RequestOf(TextOr(table, row, "op_name"),
                                                elements * (element == "half" ? 2 : 1), element));
  raw.measurement.nccl_version = TextOr(table, row, "version");
  ORRERY_TRY(raw.measurement.seconds, SecondsIn(table, row, "latency_ms", kMilli));
  raw.machine = TextOr(table, row, "device");
  raw.measurement.setup = raw.machine;
  return raw;
}

// --- vidur's and pipeweave's tables ------------------------------------------------------------

/// `size` is documented as elements of fp16. Then eight A100 would reach a bus bandwidth of
/// 342 to 455 GB/s over links of 300; as bytes it is 171 to 228, as everywhere else.
Raw ReadVidur(const Table& table, std::size_t row) {
  RawRow raw;
  ORRERY_TRY(raw.measurement.gpus, GpusIn(table, row, "num_workers"));
  if (raw.measurement.gpus == 1) {
    return std::nullopt;
  }
  raw.measurement.source = TextOr(table, row, "source");
  ORRERY_TRY(raw.measurement.request,
             RequestOf(TextOr(table, row, "collective"),
                       table.NumberInText(row, "size").value_or(0), "half"));
  ORRERY_TRY(raw.measurement.seconds, SecondsIn(table, row, "median_ms", kMilli));
  raw.machine = TextOr(table, row, "system");
  raw.measurement.setup = raw.machine;
  raw.gpus_per_node = static_cast<int>(table.NumberInText(row, "devices_per_node").value_or(0));
  return raw;
}

// --- nccl-tests --------------------------------------------------------------------------------

Raw ReadNcclTests(const Table& table, std::size_t row) {
  RawRow raw;
  ORRERY_TRY(raw.measurement.gpus, GpusIn(table, row, "nranks"));
  const double bytes = table.NumberInText(row, "size_bytes").value_or(0);
  if (raw.measurement.gpus == 1 || bytes <= 0) {
    return std::nullopt;
  }
  raw.measurement.source = TextOr(table, row, "source", "nccl-tests");
  ORRERY_TRY(raw.measurement.request, RequestOf(TextOr(table, row, "test", "all_reduce"), bytes,
                                                TextOr(table, row, "data_type")));
  raw.measurement.nccl_version = TextOr(table, row, "nccl_version");
  ORRERY_TRY(raw.measurement.seconds, SecondsIn(table, row, "oop_time_us", kMicro));
  raw.machine = TextOr(table, row, "gpu");
  if (const double nodes = table.NumberInText(row, "nodes").value_or(0); nodes > 0) {
    raw.gpus_per_node = static_cast<int>(raw.measurement.gpus / nodes);
  }
  raw.measurement.setup = raw.machine;
  return raw;
}

struct Layout {
  std::string_view name;
  std::vector<std::string_view> columns;
  Raw (*read)(const Table& table, std::size_t row);
};

const std::array<Layout, 4>& Layouts() {
  static const std::array<Layout, 4> layouts = {{
      {"truth", {"collective", "n_gpus", "size_bytes", "oop_time_us"}, ReadTruth},
      {"aiconfigurator", {"op_name", "num_gpus", "message_size", "latency_ms"}, ReadAiconfigurator},
      {"vidur", {"collective", "num_workers", "size", "median_ms"}, ReadVidur},
      {"nccl-tests", {"nranks", "size_bytes", "oop_time_us"}, ReadNcclTests},
  }};
  return layouts;
}

const Layout* FindLayout(const Table& table) {
  for (const Layout& layout : Layouts()) {
    bool has_all = true;
    for (const std::string_view column : layout.columns) {
      has_all = has_all && table.FindColumn(column).has_value();
    }
    if (has_all) {
      return &layout;
    }
  }
  return nullptr;
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

/// `file` may contain what a log does not: aws_p4de_2node.log.
Status Place(RawRow& raw, const hardware::Cluster* given, const std::string& file) {
  const std::string words = raw.machine + " " + std::filesystem::path(file).stem().string();
  const hardware::Cluster* cluster = given != nullptr ? given : hardware::FindCluster(words);
  if (cluster == nullptr) {
    cluster = LikeliestCluster(raw.machine);
  }
  if (cluster == nullptr) {
    return BadRow(raw.machine.empty()
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

}  // namespace

bool HoldsCollectives(const Table& table) {
  return FindLayout(table) != nullptr;
}

Status AddMeasurements(const MeasuredTable& table, const std::string& cluster,
                       Measurements& measurements) {
  const Layout* layout = FindLayout(table.table);
  if (layout == nullptr) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: neither an nccl-tests log nor a table of collectives: columns "
                            "collective, n_gpus, size_bytes and oop_time_us are needed",
                            table.file));
  }
  const hardware::Cluster* given = cluster.empty() ? nullptr : hardware::FindCluster(cluster);
  if (!cluster.empty() && given == nullptr) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("no cluster is called '{}'", cluster));
  }
  const auto file = static_cast<std::uint32_t>(measurements.files.size());
  measurements.files.push_back(table.file);
  for (std::size_t row = 0; row < table.table.num_rows(); ++row) {
    const std::uint32_t line = table.has_lines ? static_cast<std::uint32_t>(row + 2) : 0;
    Raw raw = layout->read(table.table, row);
    if (raw && !*raw) {
      ++measurements.skipped;
      continue;
    }
    const Status placed = raw ? Place(**raw, given, table.file) : Status(tl::unexpect, raw.error());
    if (!placed) {
      measurements.rejected.push_back({file, line, placed.error().message()});
      continue;
    }
    (**raw).measurement.file = file;
    (**raw).measurement.line = line;
    measurements.rows.push_back(std::move((**raw).measurement));
  }
  return {};
}

}  // namespace orrery::collective
