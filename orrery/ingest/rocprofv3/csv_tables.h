#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::rocprofv3 {

/// Which of rocprofv3's tables a CSV file is, by its columns.
enum class CsvTable { kNone, kKernels, kCopies, kAllocations, kCalls, kAgents };

[[nodiscard]] CsvTable TableOf(const CsvRows& rows);

/// Reads all rows behind the header; one that makes no sense is a loss.
[[nodiscard]] Status ReadTable(CsvTable table, CsvRows& rows, ProcessRows& process,
                               trace::ProblemLog& problems);

}  // namespace orrery::ingest::rocprofv3
