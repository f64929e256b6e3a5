#include "orrery/calibrate/dealt_rows.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <xxhash.h>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/validation.h"
#include "orrery/kernel/estimate.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_table.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::calibrate {
namespace {

using simulate::SimulationOptions;
using simulate::StepTraits;

void WriteReal(double value, ByteWriter& writer) {
  writer.Number(std::bit_cast<std::uint64_t>(value));
}

double ReadReal(ByteReader& reader) {
  return std::bit_cast<double>(reader.Number<std::uint64_t>());
}

void WriteTraits(const StepTraits& traits, ByteWriter& writer) {
  for (const double share : traits.shares) {
    WriteReal(share, writer);
  }
  WriteReal(traits.bubble, writer);
  WriteReal(traits.unmeasured, writer);
  WriteReal(traits.utilisation, writer);
  WriteReal(traits.roofline_s, writer);
  writer.Number(static_cast<std::uint8_t>(traits.has_experts));
  writer.Number(static_cast<std::uint8_t>(traits.spans_islands));
  writer.Number(static_cast<std::uint8_t>(traits.is_fitted));
}

StepTraits ReadTraits(ByteReader& reader) {
  StepTraits traits;
  for (double& share : traits.shares) {
    share = ReadReal(reader);
  }
  traits.bubble = ReadReal(reader);
  traits.unmeasured = ReadReal(reader);
  traits.utilisation = ReadReal(reader);
  traits.roofline_s = ReadReal(reader);
  traits.has_experts = reader.Number<std::uint8_t>() != 0;
  traits.spans_islands = reader.Number<std::uint8_t>() != 0;
  traits.is_fitted = reader.Number<std::uint8_t>() != 0;
  return traits;
}

void WriteCell(const Table::Cell& cell, ByteWriter& writer) {
  writer.Number(static_cast<std::uint8_t>(cell.index()));
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    writer.Number(*integer);
  } else if (const auto* const real = std::get_if<double>(&cell)) {
    WriteReal(*real, writer);
  } else if (const auto* const text = std::get_if<std::string>(&cell)) {
    writer.Text(*text);
  }
}

std::uint64_t HashOf(const Table& table) {
  ByteWriter writer;
  for (std::size_t column = 0; column < table.num_columns(); ++column) {
    writer.Text(table.column_name(column));
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      WriteCell(table.At(row, column), writer);
    }
  }
  return XXH3_64bits(writer.bytes().data(), writer.bytes().size());
}

std::vector<std::size_t> RequestedRows(const workload::RunTable& table, const LabelFilter& filter) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!filter || filter(table.Label(row))) {
      rows.push_back(row);
    }
  }
  return rows;
}

Result<workload::PublishedRun> ReadRow(const workload::RunTable& table, std::size_t row,
                                       const JobChange& change) {
  ORRERY_TRY(workload::PublishedRun run, table.Read(row));
  const workload::RunLabel label = table.Label(row);
  if (change) {
    change(label, run.job);
  }
  run.grade = label.grade;
  run.team = label.team;
  run.release = label.release;
  run.stack = label.stack;
  return run;
}

Result<std::string> SimulateRow(const workload::RunTable& table, std::size_t row,
                                const kernel::CostModel& costs, const ValidateOptions& options) {
  ORRERY_TRY(workload::PublishedRun run, ReadRow(table, row, options.change));
  SimulationOptions engine = options.engine;
  if (options.collectives) {
    engine.network.collectives = options.collectives(table.Label(row));
  }
  ORRERY_TRY(const EvaluatedRun evaluated, EvaluateRun(std::move(run), costs, engine));
  return EncodeOutcome(evaluated);
}

Validation Collect(const workload::RunTable& table, const std::vector<std::size_t>& rows,
                   std::vector<Result<std::string>> outcomes, const ValidateOptions& options) {
  Validation validation;
  validation.rows = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!outcomes[i]) {
      validation.refused.push_back({table.Label(rows[i]), outcomes[i].error().message()});
      continue;
    }
    Result<workload::PublishedRun> run = ReadRow(table, rows[i], options.change);
    ORRERY_CHECK(run.has_value(), "a row that was simulated can be read");
    EvaluatedRun& evaluated = validation.evaluated.emplace_back();
    evaluated.run = *std::move(run);
    ApplyOutcome(*outcomes[i], evaluated);
    if (options.intervals) {
      evaluated.interval =
          options.intervals(table.Label(rows[i])).Around(evaluated.predicted_s, evaluated.traits);
    }
  }
  return validation;
}

}  // namespace

std::string EncodeOutcome(const EvaluatedRun& evaluated) {
  ByteWriter writer;
  WriteReal(evaluated.predicted_s, writer);
  WriteReal(evaluated.interval.low_s, writer);
  WriteReal(evaluated.interval.high_s, writer);
  WriteTraits(evaluated.traits, writer);
  writer.Number(evaluated.memory_bytes);
  writer.Number(evaluated.allocated_bytes);
  writer.Number(static_cast<std::uint8_t>(evaluated.fits));
  const workload::Job& job = evaluated.run.job;
  writer.Number(std::int64_t{job.plan.tp});
  writer.Number(std::int64_t{job.training.micro_batch});
  writer.Number(static_cast<std::uint8_t>(job.plan.recompute));
  writer.Number(static_cast<std::uint32_t>(evaluated.run.assumptions.size()));
  for (const std::string& assumption : evaluated.run.assumptions) {
    writer.Text(assumption);
  }
  return writer.bytes();
}

void ApplyOutcome(std::string_view outcome, EvaluatedRun& evaluated) {
  ByteReader reader(outcome);
  evaluated.predicted_s = ReadReal(reader);
  evaluated.interval.low_s = ReadReal(reader);
  evaluated.interval.high_s = ReadReal(reader);
  evaluated.traits = ReadTraits(reader);
  evaluated.memory_bytes = reader.Number<std::int64_t>();
  evaluated.allocated_bytes = reader.Number<std::int64_t>();
  evaluated.fits = reader.Number<std::uint8_t>() != 0;
  workload::Job& job = evaluated.run.job;
  const auto tensor_parallelism = reader.Number<std::int64_t>();
  while (job.plan.tp < tensor_parallelism) {
    ORRERY_CHECK(workload::CutTensorsFurther(job), "it was cut so in the simulation");
  }
  job.training.micro_batch = reader.Number<std::int64_t>();
  job.plan.recompute = static_cast<workload::Recompute>(reader.Number<std::uint8_t>());
  evaluated.run.assumptions.resize(reader.Number<std::uint32_t>());
  for (std::string& assumption : evaluated.run.assumptions) {
    assumption = reader.Text();
  }
  ORRERY_CHECK(!reader.failed(), "these are the bytes of EncodeOutcome");
}

Result<Validation> Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                            const ValidateOptions& options, WorkDealer& dealer) {
  const kernel::GpuMemo memo(costs);
  const WorkDealer::Work work = {
      .answer =
          [&](std::string_view request) {
            return SimulateRow(table, ByteReader(request).Number<std::uint64_t>(), memo, options);
          },
      .inputs = HashOf(table.table)};
  if (!dealer.is_root()) {
    ORRERY_TRY_STATUS(dealer.Serve(work));
    return Validation();
  }
  const std::vector<std::size_t> rows = RequestedRows(table, options.filter);
  std::vector<std::string> requests;
  for (const std::size_t row : rows) {
    ByteWriter writer;
    writer.Number(std::uint64_t{row});
    requests.push_back(writer.bytes());
  }
  std::vector<Result<std::string>> outcomes(rows.size());
  std::size_t done = 0;
  ORRERY_TRY_STATUS(
      dealer.Run(requests, work, [&](std::size_t i, Result<std::string> outcome) -> Status {
        outcomes[i] = std::move(outcome);
        if (options.progress) {
          options.progress(++done, rows.size());
        }
        return {};
      }));
  return Collect(table, rows, std::move(outcomes), options);
}

Validation Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                    const ValidateOptions& options) {
  ThreadDealer dealer(options.threads);
  Result<Validation> validation = Validate(table, costs, options, dealer);
  ORRERY_CHECK(validation.has_value(), "threads do not fail");
  return *std::move(validation);
}

}  // namespace orrery::calibrate
