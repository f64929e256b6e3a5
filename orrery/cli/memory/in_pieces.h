#pragma once

#include <cstdint>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/verb.h"
#include "orrery/report/memory_page.h"

namespace orrery::cli {

/// How large recordings are read.
struct PieceArguments {
  bool whole = false;                            // at once, whatever the size
  std::optional<std::int64_t> piece_bytes = {};  // in pieces, whatever the size
};

/// Adds them to a verb.
void AddPieceOptions(Verb& verb, PieceArguments& arguments);

/// Returns whether the tool is to take the recording in pieces: one event stream of 64 MiB or more.
[[nodiscard]] bool TakesPieces(const MemoryTool& tool, const RunArguments& run,
                               const PieceArguments& arguments);

/// What a tool says, before it has a title, and whether something of the recording is lost.
struct PieceResult {
  report::MemoryPage page;
  bool is_partial = false;
};

/// Gives the tool one piece after the other, with a progress line.
[[nodiscard]] Result<PieceResult> RunInPieces(const MemoryTool& tool, const RunArguments& run,
                                              const PieceArguments& arguments, std::size_t top);

}  // namespace orrery::cli
