#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A job as a file describes it.
struct JobFile {
  Job job;
  std::string yaml;                            // the file's content with the overrides applied
  std::vector<std::string> not_modelled = {};  // a sentence for each thing that is left out
};

/// The text of a job and its origin.
struct JobText {
  std::string yaml;
  std::string place;                  // the beginning of errors, and the job's name
  std::filesystem::path folder = {};  // in which files that it names are looked for
};

/// Reads a job (docs/formats/job.md) after "plan.tp=4" and the like have been applied to it, and
/// checks it (CheckJob). An error is one sentence that names the key and the fix.
[[nodiscard]] Result<JobFile> ReadJob(const JobText& text,
                                      std::span<const std::string> overrides = {});

/// Reads a job whose plan may still change: nothing that follows from other settings is filled in
/// (plan.dp is 0 where the file has none), and whether they fit together is not checked.
[[nodiscard]] Result<JobFile> ReadOpenJob(const JobText& text,
                                          std::span<const std::string> overrides = {});

/// Fills in what follows from other settings of such a job, and checks it (CheckJob). `place` is
/// that of its text.
[[nodiscard]] Status FinishJob(const std::string& place, Job& job);

[[nodiscard]] Result<JobText> ReadJobText(const std::string& path);

/// Reads a job from a file; its name is that of the file unless it has one.
[[nodiscard]] Result<JobFile> ReadJobFile(const std::string& path,
                                          std::span<const std::string> overrides = {});

}  // namespace orrery::workload
