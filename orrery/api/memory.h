#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Memory tools on a recording.

namespace orrery::api {

struct MemoryRequest {
  RunInput run = {};
  std::string paper = {};               // a folder of recordings, instead of a run
  std::string tool = {};                // one of MemoryToolList; empty: a summary
  std::vector<std::string> times = {};  // other runs of the programs, with times
  std::optional<std::int64_t> rank = {};
  std::uint64_t top = 20;                  // rows of lists that can grow long
  bool whole = false;                      // at once, whatever the size
  std::optional<std::int64_t> piece = {};  // bytes: in pieces, whatever the size

  // Of the tool working-set.
  std::int64_t page = 4096;

  // Of the tool heat.
  std::int64_t block = 2 << 20;
  std::optional<std::int64_t> window = {};
  std::string window_by = "accesses";

  // Of the tool timeline.
  std::string by = "time";
  std::string stack = "category";
  std::string align = {};  // empty: files are ranks of one run
  bool all_points = false;

  // Of the tool patterns.
  std::int64_t min_bytes = 1;
  std::int64_t idle_launches = 100;
  std::int64_t leak_steps = 1;
  double similar = 10;  // percent
  double touched = 80;  // percent
  double uneven = 1;

  // Of the tool overhead.
  double tolerance = 5;  // percent
  std::vector<double> plain_ms = {};

  // Of the tool uvm.
  std::optional<std::int64_t> capacity = {};  // bytes
  std::vector<double> oversubscription = {};  // empty: 1 and 3
  std::optional<std::int64_t> uvm_page = {};  // bytes
  std::optional<std::int64_t> repeat = {};
  std::optional<std::int64_t> lookahead = {};
  std::string costs = "measured";
  bool prefetch_stream = false;
  std::string gpu = {};

  CallOptions call = {};
};

/// A tool, and the fields of a request that are its own.
struct MemoryToolInfo {
  std::string_view name;
  std::string_view line;  // its result
  std::string_view first_field = {};
  std::string_view last_field = {};
};

/// In the order of --help.
[[nodiscard]] ORRERY_API const std::vector<MemoryToolInfo>& MemoryToolList();

/// The answer of a tool: fields and tables are its own (docs/formats/answers/memory.md).
struct MemoryResult {
  std::string tool;
  std::string title;
  std::vector<std::string> coverage = {};  // a line for each run
  Value coverage_parts = Value::List();    // the same in numbers
  std::vector<std::string> times = {};     // sources of times, if from another run
  Value facts = Value::Object();
  Value tables = Value::Object();
  std::vector<std::string> notes = {};

  // Not part of the JSON.
  bool is_partial = false;  // something of a recording is lost
  std::shared_ptr<const report::Document> document = {};
};

[[nodiscard]] ORRERY_API Result<MemoryResult> Memory(const Session& session,
                                                     const MemoryRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const MemoryResult& result);

ORRERY_HAS_FIELDS(MemoryRequest);
ORRERY_HAS_FIELDS(MemoryResult);

}  // namespace orrery::api
