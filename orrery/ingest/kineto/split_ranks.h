#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/document/json_value.h"
#include "orrery/ingest/kineto/own_export.h"

// Parts of UndoExport.

namespace orrery::ingest::kineto {

/// Takes the ranks of a file apart by its processes, as the entries of the export list them. Costs
/// as much as reading the rows again.
[[nodiscard]] std::vector<FileRank> SplitRanks(const FileRank& file,
                                               const std::optional<JsonElement>& entries);

/// Reads what the export says about a rank besides its rows.
void ReadRank(const JsonElement& entry, FileRank& rank);

/// Moves rows and arrows to other tracks.
void MoveToTracks(FileRank& rank, std::span<const RowId> home);

/// The text of a value, empty where it is none.
[[nodiscard]] inline std::string TextOrEmpty(const std::optional<JsonElement>& value) {
  return std::string(Text(value).value_or(""));
}

}  // namespace orrery::ingest::kineto
