#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/published_run.h"

namespace orrery::workload {

/// What every row of a table of measured runs has, whether it can be described or not.
struct RunLabel {
  std::string id;
  std::string source;
  std::string grade;  // empty where a table has none
};

/// A table of measured training runs of any layout.
class RunTable {
 public:
  RunTable() = default;
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;
  virtual ~RunTable() = default;

  [[nodiscard]] virtual std::size_t num_rows() const = 0;
  [[nodiscard]] virtual RunLabel Label(std::size_t row) const = 0;

  /// The row as a job; an error gives the reason why it cannot be described.
  [[nodiscard]] virtual Result<PublishedRun> Read(std::size_t row) const = 0;
};

/// Opens a table, plain or packed; its columns tell which of the layouts of
/// docs/formats/published-runs.md it has. Fails for a file that has none of them.
[[nodiscard]] Result<std::unique_ptr<RunTable>> OpenRunTable(const std::string& path);

}  // namespace orrery::workload
