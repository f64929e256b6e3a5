#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"

// Traces in the formats of viewers, and in Orrery's own.

namespace orrery::api {

struct ConvertRequest {
  std::string input;   // file or folder of one run
  std::string output;  // the name says the format
  RunInput run = {};   // of the input; its paths are not used
  std::string align = "auto";
  bool smallest = false;  // .orr and .orrs only; .orrtable is as small as it gets
  CallOptions call = {};
};

/// Rows that the format has no place for.
struct ConvertLeftOut {
  std::int64_t graph_nodes = 0;
  std::int64_t memory_objects = 0;
  std::int64_t touches = 0;
  std::int64_t accesses = 0;
  std::int64_t foreign_objects = 0;    // of a snapshot: not the allocator's
  std::int64_t misplaced_tensors = 0;  // of a snapshot: they overlap others
};

/// Something of the input that is not in the output either.
struct ConvertLoss {
  std::string what;
  std::int64_t count = 0;
  std::string first = {};
};

/// A recorded stream that was packed; its records stay as they are.
struct PackedStream {
  std::int64_t chunks = 0;
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

/// A table whose text was packed by columns, or unpacked.
struct PackedTable {
  std::int64_t lines = 0;
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

struct ConvertResult {
  std::int64_t ranks = 0;
  std::optional<std::int64_t> matched_collectives = {};  // of viewers: over the ranks
  bool aligned = false;
  ConvertLeftOut left_out = {};
  std::vector<ConvertLoss> losses = {};
  std::optional<PackedStream> stream = {};  // of .orrs, with nothing but the losses beside it
  std::optional<PackedTable> table = {};    // of .orrtable and .csv, with nothing beside it
  bool partial = false;                     // something was lost
};

/// Reads a run and writes it to a file.
[[nodiscard]] ORRERY_API Result<ConvertResult> Convert(const Session& session,
                                                       const ConvertRequest& request);

/// The result in lines of text.
[[nodiscard]] ORRERY_API std::string ConvertText(const ConvertResult& result);

ORRERY_HAS_FIELDS(ConvertRequest);
ORRERY_HAS_FIELDS(ConvertLeftOut);
ORRERY_HAS_FIELDS(ConvertLoss);
ORRERY_HAS_FIELDS(PackedStream);
ORRERY_HAS_FIELDS(PackedTable);
ORRERY_HAS_FIELDS(ConvertResult);

}  // namespace orrery::api
