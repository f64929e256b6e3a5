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

/// Replaces the links between the GPUs of a node by PCIe.
void UsePcie(Job& job);

/// Gives nodes without a NIC one of 200 Gb/s. False where they have some.
[[nodiscard]] bool AddNetwork(Job& job);

/// The model of a row of published runs: from its columns, and what they leave out from the family
/// that the activation tells (GELU: GPT with biases and learned positions; gated: LLaMA). What no
/// column can say (latent attention, shared experts, the size of heads) comes from the preset that
/// the row names, where its hidden size and heads are those of the row. `job` has its framework and
/// training.
[[nodiscard]] Result<Model> PublishedModel(RunRow& row, const Job& job);

/// How long a step took.
struct MeasuredStep {
  double seconds = 0;
  std::string derived_from = {};  // what the time follows from; empty where the row has it
};

/// The time of a row's step: as it stands there; else the batch over the throughput; else the
/// operations of a step, counted as the row says its source counts them (`tflops_kind`), over its
/// TFLOP/s or its share of the GPU's peak. `job` has its model, batch and machine.
[[nodiscard]] Result<MeasuredStep> MeasuredStepOf(const RunRow& row, const Job& job);

/// Whether a row has a step time or what it can be derived from.
[[nodiscard]] bool HasMeasurement(const RunRow& row);

}  // namespace orrery::workload
