#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/launch_script.h"

namespace orrery::workload {

/// The source of a drafted job, and additions of the user.
struct DraftRequest {
  std::string path;                   // of the configuration or script
  std::filesystem::path folder = {};  // that the job file will lie in
  int gpus = 0;                       // 0: as the script says
  std::string cluster = {};           // empty: not said
  ShellVariables variables = {};      // of the script
};

/// A job file made from a file of another tool. What it had to assume or could not read stands in
/// comments of the file, too.
struct JobDraft {
  std::string yaml;
  JobFile file;                            // the same, read back
  std::vector<std::string> assumed = {};   // a sentence for each value that no file says
  std::vector<std::string> not_read = {};  // a sentence for each thing that is left out
  bool is_partial = false;                 // an argument that decides the job was not read
};

/// Drafts a job from the text of a Hugging Face config.json, or from a script that starts
/// Megatron-LM or NeMo. The draft is a job that can be simulated, else one sentence says what is
/// missing.
[[nodiscard]] Result<JobDraft> DraftJob(std::string_view text, const DraftRequest& request);

}  // namespace orrery::workload
