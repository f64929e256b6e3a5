#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest::nsys_report {

/// The first bytes are those of a report of Nsight Systems (.nsys-rep): the words that its first
/// line has always begun with, then the version that wrote it.
[[nodiscard]] bool LooksLikeReport(std::string_view head);

/// Has `nsys export` write the report as a SQLite database into `folder` and returns its path.
/// Fails with a sentence that says how to export it elsewhere where there is no `nsys`, or where
/// that one refuses (it reads reports of its own version and older ones).
[[nodiscard]] Result<std::string> ExportReport(const InputFile& report, const std::string& folder);

}  // namespace orrery::ingest::nsys_report
