#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/job/published/published_run.h"

namespace orrery::workload {

/// Columns that every row of a table of measured runs has, whether it can be described or not.
struct RunLabel {
  std::string id;
  std::string source;
  std::string grade;      // empty where a table has none
  std::string team = {};  // the source where a table has none
  std::string release = {};
  std::string stack = {};  // whose training code ran; the team where nothing says it
};

/// A table of measured training runs of any layout.
struct RunTable {
  Table table;
  /// The row as a job; an error gives the reason why it cannot be described.
  std::function<Result<PublishedRun>(const Table& table, std::size_t row)> read;
  std::string source = {};  // of all rows; empty: each has its own
  bool has_grades = false;

  [[nodiscard]] std::size_t num_rows() const { return table.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const;

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row) const { return read(table, row); }
};

/// Opens a table, plain or packed; its columns tell which of the layouts of
/// docs/formats/published-runs.md it has. Fails for a file with another layout.
[[nodiscard]] Result<std::unique_ptr<RunTable>> OpenRunTable(const std::string& path);

/// The table that is part of the program (data/published/training.csv).
[[nodiscard]] std::unique_ptr<RunTable> ShippedRunTable();

/// Returns true if the table is one of throughputs of models on single machines: model, gpu,
/// batch_per_gpu, throughput, unit, columns_json.
[[nodiscard]] bool IsSingleGpuTable(const Table& table);

/// Reads one row of it. What it describes: pretraining of BERT-large, ResNet-50 and DLRM, where the
/// row says its batch and its framework has a profile; the rest is refused with the reason.
[[nodiscard]] Result<PublishedRun> ReadSingleGpuRun(const Table& table, std::size_t row);

}  // namespace orrery::workload
