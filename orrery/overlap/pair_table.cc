#include "orrery/overlap/pair_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/math/round_up.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

/// "128x64" of a name; further factors are ignored.
struct Size {
  int rows = 0;
  int columns = 0;
};

std::optional<Size> SizeOf(std::string_view word) {
  constexpr std::string_view kPrefix = "tilesize";
  if (word.starts_with(kPrefix)) {
    word.remove_prefix(kPrefix.size());
  }
  Size size;
  const char* const end = word.data() + word.size();
  const auto [middle, error] = std::from_chars(word.data(), end, size.rows);
  if (error != std::errc() || middle == end || *middle != 'x') {
    return std::nullopt;
  }
  const auto [last, second] = std::from_chars(middle + 1, end, size.columns);
  const bool is_whole = second == std::errc() && (last == end || *last == 'x');
  return is_whole && size.rows > 0 && size.columns > 0 ? std::optional(size) : std::nullopt;
}

std::vector<Size> SizesIn(std::string_view name) {
  std::vector<Size> sizes;
  for (const auto part : name | std::views::split('_')) {
    const std::string_view word(part.begin(), part.end());
    if (const std::optional<Size> size = SizeOf(word)) {
      sizes.push_back(*size);
    }
  }
  return sizes;
}

// The third of nvjet's sizes: tile, depth with stages, cluster.
Size ClusterOfNvjet(std::span<const Size> sizes) {
  constexpr std::size_t kPlace = 2;
  return sizes.size() > kPlace ? sizes[kPlace] : Size{.rows = 1, .columns = 1};
}

bool IsNvjet(std::string_view kernel) {
  return kernel.starts_with("nvjet");
}

std::int64_t TilesAlong(double length, int of_tile) {
  return static_cast<std::int64_t>(std::ceil(length / of_tile));
}

// Columns of tiles in a CUTLASS group, by their number.
std::int64_t ColumnsOfGroup(std::int64_t columns) {
  constexpr std::int64_t kForEight = 6;
  constexpr std::int64_t kForFour = 3;
  return columns >= kForEight ? 8 : columns >= kForFour ? 4 : columns >= 2 ? 2 : 1;
}

// With a larger interquartile range the order of launches was random, and the median mixes two
// cases.
constexpr double kMostSpreadPercent = 10;

using CountersOfKernel = std::map<std::pair<std::string, std::string>, Counters>;

constexpr auto kNeeded = std::to_array<std::string_view>(
    {"gpu", "mode", "k_operator", "k_alone_us", "k_together_us", "c_blocks", "c_pattern"});

Status CheckColumns(const Table& table, const std::string& path) {
  for (const std::string_view column : kNeeded) {
    if (!table.FindColumn(column)) {
      return Invalid(
          "{}: column {} is missing; expected a table of `orrery measure "
          "overlap` (docs/formats/overlap-pairs.md)",
          path, column);
    }
  }
  return {};
}

/// A compute kernel of capture/overlap's own, whose blocks record when they ran.
struct StampedKernel {
  std::string_view kind;  // "stamped moves", …; static text
  double flops = 0;
  double bytes = 0;
};

constexpr double kRoundBytes = 32;   // a thread reads sixteen bytes and writes as many
constexpr double kSectorBytes = 32;  // transferred by one load at a random address

std::string_view ValueOf(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

double NumberOf(std::string_view text, std::string_view key) {
  return ParsePrefix<double>(ValueOf(text, key)).value_or(0);
}

/// Reads "stamped kind=moves blocks=528 threads=256 shared=0 work=1024"; nothing for other texts.
std::optional<StampedKernel> ParseStampedKernel(std::string_view text) {
  if (!text.starts_with("stamped ")) {
    return std::nullopt;
  }
  const double threads = NumberOf(text, " blocks=") * NumberOf(text, " threads=");
  const double work = NumberOf(text, " work=");
  const std::string_view kind = ValueOf(text, " kind=");
  if (kind == "moves") {
    return StampedKernel{"stamped moves", 0,
                         threads * std::floor(work / kRoundBytes) * kRoundBytes};
  }
  if (kind == "computes") {
    return StampedKernel{"stamped computes", 2 * threads * work, 0};
  }
  return StampedKernel{"stamped waits", 0, threads * work * kSectorBytes};
}

Result<CountersOfKernel> ReadCounters(std::span<const std::string> paths) {
  CountersOfKernel counters;
  for (const std::string& path : paths) {
    ORRERY_TRY(const Table table, ReadCsvFile(path));
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      Counters& of_kernel = counters[{std::string(table.Text(row, "operator").value_or("")),
                                      std::string(table.Text(row, "kernel").value_or(""))}];
      for (const auto& [column, counter] : kCounterColumns) {
        of_kernel.*counter = table.Number(row, column).value_or(kUnknown);
      }
    }
  }
  return counters;
}

/// Reads one row of a table; a missing number is 0.
class RowReader {
 public:
  RowReader(const Table& table, std::size_t row, const CountersOfKernel& counters)
      : table_(table), row_(row), counters_(counters) {}

  Result<MeasuredPair> Read() const {
    if (const std::string_view reason = Text("rejected"); !reason.empty()) {
      return Invalid(std::string(reason));
    }
    const hardware::Gpu* const gpu = hardware::FindGpu(Text("gpu"));
    if (gpu == nullptr) {
      return Invalid("the GPU '{}' is not in the catalogue", Text("gpu"));
    }
    MeasuredPair row;
    row.machine = MachineOf(*gpu);
    row.gpu = gpu->name;
    row.kernel = Text("k_operator");
    row.name = Text("k_name");
    ORRERY_TRY(row.pair.compute, Compute(*gpu));
    ORRERY_TRY(row.pair.communication, Communication());
    ORRERY_TRY_STATUS(ReadTimes(row));
    return row;
  }

 private:
  std::string_view Text(std::string_view column) const {
    return table_.Text(row_, column).value_or("");
  }

  double Number(std::string_view column, double missing = 0) const {
    return table_.NumberInText(row_, column).value_or(missing);
  }

  int Integer(std::string_view column) const { return static_cast<int>(Number(column)); }

  LaunchShape Shape(std::string_view blocks, std::string_view threads, std::string_view registers,
                    std::string_view shared) const {
    return {.blocks = static_cast<std::int64_t>(Number(blocks)),
            .threads = Integer(threads),
            .registers = Integer(registers),
            .shared_bytes = Integer(shared)};
  }

  Result<ComputeKernel> Compute(const hardware::Gpu& gpu) const {
    ComputeKernel compute;
    compute.shape = Shape("k_grid", "k_block", "k_regs", "k_smem");
    if (const std::optional<StampedKernel> stamped = ParseStampedKernel(Text("k_operator"))) {
      compute.kind = stamped->kind;
      compute.flops = stamped->flops;
      compute.bytes = stamped->bytes;
      compute.flops_peak = gpu.PeakFlops("fp32").value_or(0);
    } else {
      ORRERY_TRY(const kernel::Operator op, kernel::ParseOperator(Text("k_operator")));
      const kernel::Work work = kernel::WorkOf(op);
      compute.kind = kernel::SchemaOf(op.kind()).name;
      compute.flops = work.flops;
      compute.bytes = work.Bytes();
      const double seconds = kernel::BoundOf(op, work, gpu).compute_seconds;
      compute.flops_peak = seconds > 0 ? work.flops / seconds : 0;
      AssignTiles(op, compute);
    }
    compute.alone_us = Number("k_alone_us");
    compute.shape.cluster = ClusterInName(Text("k_name"));
    compute.family = FamilyOf(Text("k_name"));
    compute.operands_rotate = Integer("k_copies") > 1;
    const auto found =
        counters_.find({std::string(Text("k_operator")), std::string(Text("k_name"))});
    if (found != counters_.end()) {
      compute.counters = found->second;
    }
    return compute;
  }

  void AssignTiles(const kernel::Operator& op, ComputeKernel& compute) const {
    if (kernel::IsGemm(op.kind())) {
      const GemmBlocks gemm =
          BlocksOfGemm(kernel::GemmOf(op), Text("k_name"), compute.shape.blocks);
      compute.shape.blocks = gemm.working;
      compute.tiles = gemm.tiles;
    }
  }

  Result<CommunicationKernel> Communication() const {
    CommunicationKernel communication;
    communication.shape = Shape("c_blocks", "c_threads", "c_regs", "c_smem");
    ORRERY_TRY(communication.pattern, PatternOf(Text("c_pattern")));
    ORRERY_TRY(communication.place, PlaceOf(Text("c_place")));
    ORRERY_TRY(communication.priority, PriorityOf(Text("priority")));
    communication.payload_gbps = Number("c_alone_gbps");
    communication.chunk_bytes = Number("c_chunk_bytes");
    return communication;
  }

  Status ReadTimes(MeasuredPair& row) const {
    row.mode = Text("mode") == "arrival" ? Mode::kArrival : Mode::kSteady;
    // Kernels that are released together may begin at different times: launches differ.
    const double later_us = Number("offset_us") + Number("c_launch_us") - Number("k_launch_us");
    row.compute_is_first = row.mode == Mode::kArrival && later_us >= 0;
    row.offset_us = std::abs(later_us);
    row.alone_spread = Number("k_alone_spread_pct") / 100;
    row.together_us = Number("k_together_us");
    row.together_spread = Number("k_together_spread_pct") / 100;
    row.repeats = Integer("repeats");
    row.communication_alone_us = Number("c_alone_us", kUnknown);
    row.communication_together_us = Number("c_together_us", kUnknown);
    row.communication_together_gbps = Number("c_together_gbps");
    row.compute_delay_us = std::max(0.0, Number("k_gap_us") - Number("k_gap_alone_us"));
    row.communication_delay_us = Number("c_start_delay_us", kUnknown);
    if (Number("k_together_spread_pct") > kMostSpreadPercent) {
      return Invalid("its repeats differ by more than {} %", kMostSpreadPercent);
    }
    if (row.pair.compute.alone_us <= 0 || row.together_us <= 0) {
      return Invalid("the time alone or together is missing");
    }
    return {};
  }

  const Table& table_;
  std::size_t row_;
  const CountersOfKernel& counters_;
};

}  // namespace

std::optional<Tile> TileInName(std::string_view kernel) {
  constexpr int kLeast = 8;
  const std::vector<Size> sizes = SizesIn(kernel);
  const auto tile = std::ranges::find_if(
      sizes, [](const Size& size) { return size.rows >= kLeast && size.columns >= kLeast; });
  if (tile == sizes.end()) {
    return std::nullopt;
  }
  const Size cluster = IsNvjet(kernel) ? ClusterOfNvjet(sizes) : Size{.rows = 1, .columns = 1};
  return Tile{.rows = tile->rows,
              .columns = tile->columns,
              .cluster_rows = cluster.rows,
              .cluster_columns = cluster.columns};
}

int ClusterInName(std::string_view kernel) {
  constexpr int kOfWarpGroups = 2;  // seen in 8 of 10 such kernels (overlap-counters-1)
  if (IsNvjet(kernel)) {
    const Size cluster = ClusterOfNvjet(SizesIn(kernel));
    return cluster.rows * cluster.columns;
  }
  return kernel.starts_with("sm90_xmma") ? kOfWarpGroups : 1;
}

GemmBlocks BlocksOfGemm(const kernel::GemmShape& gemm, std::string_view kernel_name,
                        std::int64_t blocks) {
  const std::optional<Tile> tile = TileInName(kernel_name);
  if (!tile || blocks <= 0) {
    return {.working = blocks};
  }
  // The library's rows are our columns.
  const std::int64_t columns = TilesAlong(gemm.n, tile->rows);
  const std::int64_t rows = TilesAlong(gemm.m, tile->columns);
  const auto batch = static_cast<std::int64_t>(gemm.batch);
  const bool takes_tiles_in_turn = IsNvjet(kernel_name) || kernel_name.starts_with("sm90_xmma");
  if (takes_tiles_in_turn) {
    const std::int64_t tiles =
        batch * RoundUp(columns, tile->cluster_rows) * RoundUp(rows, tile->cluster_columns);
    return {.working = blocks, .tiles = static_cast<double>(tiles)};
  }
  const std::int64_t tiles = batch * rows * columns;
  const std::int64_t assigned = batch * rows * RoundUp(columns, ColumnsOfGroup(columns));
  if (tiles <= 0 || blocks % tiles == 0 || blocks % assigned != 0) {
    return {.working = blocks};
  }
  return {.working = tiles * (blocks / assigned)};  // for every part of split-K
}

std::optional<KernelOverlap> KernelOverlapOf(const MeasuredPair& row) {
  if (row.mode == Mode::kSteady) {
    return std::nullopt;
  }
  return KernelOverlap{.compute_is_first = row.compute_is_first,
                       .offset_us = row.offset_us,
                       .communication_us = row.communication_alone_us};
}

Result<PairTable> ReadPairs(std::span<const std::string> paths,
                            std::span<const std::string> counters) {
  ORRERY_TRY(const CountersOfKernel counted, ReadCounters(counters));
  PairTable pairs;
  for (const std::string& path : paths) {
    ORRERY_TRY(const Table table, ReadCsvFile(path));
    ORRERY_TRY_STATUS(CheckColumns(table, path));
    const auto file = static_cast<std::uint32_t>(pairs.files.size());
    pairs.files.push_back(path);
    for (std::size_t i = 0; i < table.num_rows(); ++i) {
      const auto line = static_cast<std::uint32_t>(i + 2);  // the header is line 1
      Result<MeasuredPair> row = RowReader(table, i, counted).Read();
      if (!row) {
        pairs.rejected.push_back({file, line, row.error().message()});
        continue;
      }
      row->file = file;
      row->line = line;
      pairs.rows.push_back(*std::move(row));
    }
  }
  return pairs;
}

}  // namespace orrery::overlap
