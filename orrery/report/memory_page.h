#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/table.h"
#include "orrery/draw/chart/series.h"

namespace orrery::report {

/// What a number of a memory tool counts; people see it with its unit, programs as it is.
enum class MemoryUnit : std::uint8_t {
  kText,
  kCount,
  kBytes,        // shown in powers of 1,024
  kNanoseconds,  // shown as a time
  kShare,        // 0 to 1, shown in percent
  kRatio,        // shown with two digits and "×"
  kAddress,      // shown in hexadecimal
};

/// Returns a cell as people read it; a missing one is "–".
[[nodiscard]] std::string MemoryCellText(const Table::Cell& cell, MemoryUnit unit);

/// A number to see first. `key` is its name in JSON, with the unit: "peak_bytes".
struct MemoryFact {
  std::string key;
  std::string label;
  Table::Cell value;
  MemoryUnit unit = MemoryUnit::kCount;
  std::string note = {};
};

/// A table of results. Integers, numbers and text go into cells as they are.
struct MemoryTable {
  struct Column {
    std::string key;     // in JSON and CSV, with the unit: "total_ns"
    std::string header;  // for people
    MemoryUnit unit = MemoryUnit::kText;
    std::size_t max_width = 60;  // of text; longer cells end in "…", 0: no limit
  };

  std::string key;
  std::string heading;
  std::vector<Column> columns = {};
  std::vector<std::vector<Table::Cell>> rows = {};
  std::string caption = {};
  std::size_t max_shown = 40;  // rows on pages for people (0: only its name); JSON and CSV have all
};

/// A picture that `draw` made, and what its legend names.
struct MemoryPicture {
  std::string heading;
  std::string svg;
  std::string caption = {};
  std::vector<draw::Series> legend = {};
};

/// How many launches of a run were seen in one way.
struct MemoryCoverage {
  std::string run;
  std::string coverage;  // "exact"
  std::int64_t launches = 0;
  double launch_share = 0;
  std::int64_t launches_with_times = 0;
  std::int64_t time_ns = 0;
  double time_share = 0;  // of kernel time
};

/// What a memory tool says, in the one form that text, JSON, CSV, HTML and SVG are made from.
struct MemoryPage {
  std::string tool;
  std::string title;                       // of the recording
  std::vector<std::string> coverage = {};  // one line for each rank or run
  std::vector<MemoryCoverage> coverage_parts = {};
  std::vector<std::string> times = {};      // where times are from, if from another run
  std::vector<std::string> sentences = {};  // what it shows and which rules were used
  std::vector<MemoryFact> facts = {};
  std::vector<MemoryPicture> pictures = {};
  std::vector<MemoryTable> tables = {};
};

[[nodiscard]] std::string RenderMemoryText(const MemoryPage& page);

/// Returns one HTML file that fetches nothing.
[[nodiscard]] std::string RenderMemoryHtml(const MemoryPage& page);

}  // namespace orrery::report
