#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/api/errors.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/learn/model_file.h"

namespace orrery::collective {
class MachineModels;
struct Measurements;
}  // namespace orrery::collective

namespace orrery::overlap {
struct PairTable;
}  // namespace orrery::overlap

namespace orrery::api {

/// Names rows that were not used: "FILE:LINE: reason", the first few of them.
[[nodiscard]] std::vector<std::string> RejectedLines(std::span<const std::string> files,
                                                     std::span<const RejectedRow> rows);
[[nodiscard]] std::string RejectedText(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows);

/// The notice that rows were not used.
[[nodiscard]] std::string RejectedNotice(std::span<const std::string> files,
                                         std::span<const RejectedRow> rows);

/// Fails where none of the measured rows can be used.
template <typename Measurements>
[[nodiscard]] Result<Measurements> WithRows(Measurements data) {
  if (data.rows.empty()) {
    return InvalidInput("no row of the data can be used\n{}",
                        RejectedText(data.files, data.rejected));
  }
  return data;
}

/// Reads measured collectives: nccl-tests logs and tables (docs/formats/measured-collectives.md).
/// `cluster` names the machine of files that do not.
[[nodiscard]] Result<collective::Measurements> ReadCollectives(
    const std::vector<std::string>& paths, const std::string& cluster);

/// The notice that rows do not name their GPU.
[[nodiscard]] std::string UnnamedGpuNotice(const collective::Measurements& data,
                                           const std::string& cluster);

/// Says whether a file holds measured collectives: a log, or a table with their columns.
[[nodiscard]] bool IsCollectiveData(const std::string& path);

/// The models of a file, or the shipped ones when none is named.
[[nodiscard]] Result<collective::MachineModels> LoadMachineModels(const std::string& path);

/// Reads tables of measured pairs; an error where none of the rows can be used.
[[nodiscard]] Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                                          std::span<const std::string> counters);

/// The files that a model was fitted to, for its card.
[[nodiscard]] Result<std::vector<learn::DataCard::Source>> SourcesOf(
    std::span<const std::string> paths);

}  // namespace orrery::api
