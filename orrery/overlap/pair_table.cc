#include "orrery/overlap/pair_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/base/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/bound.h"
#include "orrery/kernel/operator.h"
#include "orrery/overlap/kernel_name.h"

namespace orrery::overlap {
namespace {

// With a larger interquartile range the order of launches was random, and the median mixes two
// cases.
constexpr double kMostSpreadPercent = 10;

using CountersOfKernel = std::map<std::pair<std::string, std::string>, Counters>;

constexpr auto kNeeded = std::to_array<std::string_view>(
    {"gpu", "mode", "k_operator", "k_alone_us", "k_together_us", "c_blocks", "c_pattern"});

Status CheckColumns(const Table& table, const std::string& path) {
  for (const std::string_view column : kNeeded) {
    if (!table.FindColumn(column)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: column {} is missing; expected a table of `orrery measure "
                              "overlap` (docs/formats/overlap-pairs.md)",
                              path, column));
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
constexpr double kSectorBytes = 32;  // what one load at a random place brings

std::string_view ValueOf(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

double NumberOf(std::string_view text, std::string_view key) {
  const std::string_view value = ValueOf(text, key);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
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
      const auto number = [&](std::string_view column) {
        return table.Number(row, column).value_or(kUnknown);
      };
      counters[{std::string(table.Text(row, "operator").value_or("")),
                std::string(table.Text(row, "kernel").value_or(""))}] = {
          .compute = number("compute_pct"),
          .memory = number("memory_pct"),
          .dram = number("dram_pct"),
          .l1_hit = number("l1_hit_pct"),
          .l2_hit = number("l2_hit_pct"),
          .achieved_occupancy = number("achieved_occupancy_pct"),
          .theoretical_occupancy = number("theoretical_occupancy_pct")};
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
      return Fail(Error::Kind::kInvalidInput, std::string(reason));
    }
    const hardware::Gpu* const gpu = hardware::FindGpu(Text("gpu"));
    if (gpu == nullptr) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the GPU '{}' is not in the catalogue", Text("gpu")));
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
  [[nodiscard]] std::string_view Text(std::string_view column) const {
    return table_.Text(row_, column).value_or("");
  }

  [[nodiscard]] double Number(std::string_view column, double missing = 0) const {
    return table_.NumberInText(row_, column).value_or(missing);
  }

  [[nodiscard]] int Integer(std::string_view column) const {
    return static_cast<int>(Number(column));
  }

  [[nodiscard]] LaunchShape Shape(std::string_view blocks, std::string_view threads,
                                  std::string_view registers, std::string_view shared) const {
    return {.blocks = static_cast<std::int64_t>(Number(blocks)),
            .threads = Integer(threads),
            .registers = Integer(registers),
            .shared_bytes = Integer(shared)};
  }

  [[nodiscard]] Result<ComputeKernel> Compute(const hardware::Gpu& gpu) const {
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

  [[nodiscard]] Result<CommunicationKernel> Communication() const {
    CommunicationKernel communication;
    communication.shape = Shape("c_blocks", "c_threads", "c_regs", "c_smem");
    ORRERY_TRY(communication.pattern, PatternOf(Text("c_pattern")));
    ORRERY_TRY(communication.place, PlaceOf(Text("c_place")));
    ORRERY_TRY(communication.priority, PriorityOf(Text("priority")));
    communication.payload_gbps = Number("c_alone_gbps");
    communication.chunk_bytes = Number("c_chunk_bytes");
    return communication;
  }

  [[nodiscard]] Status ReadTimes(MeasuredPair& row) const {
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
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("its repeats differ by more than {} %", kMostSpreadPercent));
    }
    if (row.pair.compute.alone_us <= 0 || row.together_us <= 0) {
      return Fail(Error::Kind::kInvalidInput, "the time alone or together is missing");
    }
    return {};
  }

  const Table& table_;
  std::size_t row_;
  const CountersOfKernel& counters_;
};

}  // namespace

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
