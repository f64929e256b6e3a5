#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

struct Measurement {
  std::string source;                          // of the measurement
  std::string setup = {};                      // the source's name of the machine
  const hardware::Cluster* cluster = nullptr;  // the catalogue's, or the nearest to it
  int gpus = 0;
  Request request = {};
  NcclSettings settings = {};
  std::string nccl_version = {};
  double seconds = 0;
  Fabric fabric = {};
  std::uint32_t file = 0;
  std::uint32_t line = 0;  // 0: not known

  [[nodiscard]] const std::string& machine() const { return cluster->name; }
};

struct Measurements {
  std::vector<std::string> files;
  std::vector<Measurement> rows;
  std::vector<RejectedRow> rejected;
  /// Rows without a usable time: one GPU, no bytes, bandwidth of one link only.
  std::size_t skipped = 0;
  /// Rows that do not name their GPU: the given cluster is not checked.
  std::size_t without_gpu = 0;
};

/// A table of measured collectives with its file name for messages.
struct MeasuredTable {
  std::string file;
  Table table;
  bool has_lines = false;  // row i is line i + 2
};

[[nodiscard]] bool HoldsCollectives(const Table& table);

/// Adds the rows of a table: the columns of ../shared/truth/nccl.csv, of aiconfigurator's or
/// vidur's tables, or an nccl-tests log. `cluster` names the machine where the table does not.
/// Fails if the layout of the columns or the machine is unknown, or if a row names a GPU that the
/// cluster does not have.
[[nodiscard]] Status AddMeasurements(const MeasuredTable& table, const std::string& cluster,
                                     Measurements& measurements);

}  // namespace orrery::collective
