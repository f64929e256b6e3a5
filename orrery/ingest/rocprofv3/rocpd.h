#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {

/// Whether a database is rocprofv3's, by the names of its tables.
[[nodiscard]] bool IsRocpd(const SqliteDatabase& database);

/// Returns the endings of the names of tables, one for each process in the database; fails where
/// there is no table of records.
[[nodiscard]] Result<std::vector<std::string>> RocpdProcesses(const SqliteDatabase& database);

/// Reads the tables of one process into `trace`. The tables themselves are read and not the views
/// that rocpd defines over them: a view is a program of whoever wrote the file. Fails where a table
/// has no columns of times.
[[nodiscard]] Status ReadRocpdProcess(const SqliteDatabase& database, const std::string& suffix,
                                      trace::Trace& trace);

}  // namespace orrery::ingest::rocprofv3
