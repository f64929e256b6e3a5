#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Whether `word` occurs in `text`, whatever the case.
[[nodiscard]] bool Mentions(std::string_view text, std::string_view word);

/// The cells of one row of a table of measured runs, and what its reader had to assume.
class RunRow {
 public:
  RunRow(const Table& table, std::size_t row, std::vector<std::string>& assumptions)
      : table_(table), row_(row), assumptions_(assumptions) {}

  /// As it stands there; empty when it is missing.
  [[nodiscard]] std::string Text(std::string_view column) const;

  [[nodiscard]] std::optional<double> Number(std::string_view column) const {
    return table_.NumberInText(row_, column);
  }

  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view column) const;

  /// A number of ranks: 1 when it is missing.
  [[nodiscard]] int Degree(std::string_view column) const;

  void Assume(std::string text) { assumptions_.push_back(std::move(text)); }

 private:
  const Table& table_;
  std::size_t row_;
  std::vector<std::string>& assumptions_;
};

/// Sets the GPU of a job and its usual machine, from the name in a table.
/// it. A GPU without such a machine stands alone in one.
[[nodiscard]] Status SetMachine(const std::string& gpu, Job& job);

/// Gives the nodes of a job's machine another number of GPUs: an island within a node follows, and
/// there are as many NICs for a GPU as before. GPUs without links reach each other by PCIe.
void SetNode(int gpus_per_node, Job& job);

/// Gives nodes without a NIC one of 200 Gb/s. False where they have some.
[[nodiscard]] bool AddNetwork(Job& job);

}  // namespace orrery::workload
