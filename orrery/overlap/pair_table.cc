#include "orrery/overlap/pair_table.h"

#include <algorithm>
#include <array>
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
#include "orrery/overlap/gemm_blocks.h"
#include "orrery/overlap/stamped_kernel.h"

namespace orrery::overlap {
namespace {

// Quartiles of the repeats further apart: who came first was a matter of luck, and the median is of
// two different things.
constexpr double kMostSpreadPercent = 10;

using CountersOfKernel = std::map<std::pair<std::string, std::string>, Counters>;

constexpr auto kNeeded = std::to_array<std::string_view>(
    {"gpu", "mode", "k_operator", "k_alone_us", "k_together_us", "c_blocks", "c_pattern"});

Status CheckColumns(const Table& table, const std::string& path) {
  for (const std::string_view column : kNeeded) {
    if (!table.FindColumn(column)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: there is no column {}; a table of `orrery measure overlap` is "
                              "wanted (docs/formats/overlap-pairs.md)",
                              path, column));
    }
  }
  return {};
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

/// One row of a table, column by column; a missing number is 0.
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
    ComputeKernel side;
    side.shape = Shape("k_grid", "k_block", "k_regs", "k_smem");
    if (const std::optional<StampedKernel> stamped = ParseStampedKernel(Text("k_operator"))) {
      side.kind = stamped->kind;
      side.flops = stamped->flops;
      side.bytes = stamped->bytes;
      side.flops_peak = gpu.PeakFlops("fp32").value_or(0);
    } else {
      ORRERY_TRY(const kernel::Operator op, kernel::ParseOperator(Text("k_operator")));
      const kernel::Work work = kernel::WorkOf(op);
      side.kind = kernel::SchemaOf(op.kind()).name;
      side.flops = work.flops;
      side.bytes = work.Bytes();
      const double seconds = kernel::BoundOf(op, work, gpu).compute_seconds;
      side.flops_peak = seconds > 0 ? work.flops / seconds : 0;
      ShareOut(op, side);
    }
    side.alone_us = Number("k_alone_us");
    side.shape.cluster = ClusterInName(Text("k_name"));
    side.family = FamilyOf(Text("k_name"));
    side.operands_rotate = Integer("k_copies") > 1;
    const auto found =
        counters_.find({std::string(Text("k_operator")), std::string(Text("k_name"))});
    if (found != counters_.end()) {
      side.counters = found->second;
    }
    return side;
  }

  void ShareOut(const kernel::Operator& op, ComputeKernel& side) const {
    if (kernel::IsGemm(op.kind())) {
      const GemmBlocks product =
          BlocksOfGemm(kernel::GemmOf(op), Text("k_name"), side.shape.blocks);
      side.shape.blocks = product.working;
      side.tiles = product.tiles;
    }
  }

  [[nodiscard]] Result<CommunicationKernel> Communication() const {
    CommunicationKernel side;
    side.shape = Shape("c_blocks", "c_threads", "c_regs", "c_smem");
    ORRERY_TRY(side.pattern, PatternOf(Text("c_pattern")));
    ORRERY_TRY(side.place, PlaceOf(Text("c_place")));
    ORRERY_TRY(side.priority, PriorityOf(Text("priority")));
    side.payload_gbps = Number("c_alone_gbps");
    side.chunk_bytes = Number("c_chunk_bytes");
    return side;
  }

  [[nodiscard]] Status ReadTimes(MeasuredPair& row) const {
    row.mode = Text("mode") == "arrival" ? Mode::kArrival : Mode::kSteady;
    // Kernels that are released together need not begin together: launches differ.
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
                  fmt::format("its repeats together differ by more than {} %", kMostSpreadPercent));
    }
    if (row.pair.compute.alone_us <= 0 || row.together_us <= 0) {
      return Fail(Error::Kind::kInvalidInput, "there is no time alone, or none together");
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
