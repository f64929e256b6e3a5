#include "orrery/workload/job/run_table.h"

#include <utility>

#include "orrery/base/csv.h"
#include "orrery/workload/job/neusight_run.h"
#include "orrery/workload/job/run_row.h"
#include "orrery/workload/job/single_gpu_run.h"

namespace orrery::workload {
namespace {

// What the rows of tables with names of sources are called.
RunLabel LabelOf(const Table& table, std::size_t row, bool has_grades) {
  std::vector<std::string> assumptions;
  const RunRow cells(table, row, assumptions);
  return {cells.Text("id"), cells.Text("source"),
          has_grades ? cells.Text("completeness") : std::string()};
}

// Language models on many GPUs: all of the plan is in columns.
class PublishedRuns : public RunTable {
 public:
  explicit PublishedRuns(Table table) : table_(std::move(table)) {}

  [[nodiscard]] std::size_t num_rows() const override { return table_.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const override {
    return LabelOf(table_, row, true);
  }

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row) const override {
    return ReadPublishedRun(table_, row);
  }

 private:
  Table table_;
};

// Throughputs of other models on one machine.
class SingleGpuRuns : public RunTable {
 public:
  explicit SingleGpuRuns(Table table) : table_(std::move(table)) {}

  [[nodiscard]] std::size_t num_rows() const override { return table_.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const override {
    return LabelOf(table_, row, false);
  }

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row) const override {
    return ReadSingleGpuRun(table_, row);
  }

 private:
  Table table_;
};

}  // namespace

Result<std::unique_ptr<RunTable>> OpenRunTable(const std::string& path) {
  ORRERY_TRY(Table table, ReadCsvFile(path));
  if (IsNeusightTable(table)) {
    return OpenNeusightRuns(std::move(table), path);
  }
  if (IsSingleGpuTable(table)) {
    return std::make_unique<SingleGpuRuns>(std::move(table));
  }
  if (const Status status = CheckPublishedColumns(table); !status) {
    return FailWithin(path, status);
  }
  return std::make_unique<PublishedRuns>(std::move(table));
}

}  // namespace orrery::workload
