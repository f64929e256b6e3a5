#pragma once

#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// A job file from a Hugging Face config or a launch script.

namespace orrery::api {

struct InitRequest {
  std::string input;                        // config.json or launch script
  std::string output = "job.yaml";          // file to write; empty: none
  int gpus = 0;                             // 0: as the input says
  std::string cluster = {};                 // empty: as the input says
  std::vector<std::string> variables = {};  // of the script: "TP=4"
  bool replaces = false;                    // an existing output
  CallOptions call = {};
};

struct InitResult {
  std::string file;                        // as requested
  std::vector<std::string> assumed = {};   // sentences
  std::vector<std::string> not_read = {};  // sentences

  // Not part of the JSON.
  std::string input;
  std::string job_yaml;     // the text of the job file
  std::string description;  // one line
  bool is_partial = false;  // something of the input is missing
};

/// Reads the input, writes the job file and says what was assumed.
[[nodiscard]] ORRERY_API Result<InitResult> Init(const Session& session,
                                                 const InitRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const InitResult& result);

ORRERY_HAS_FIELDS(InitRequest);
ORRERY_HAS_FIELDS(InitResult);

}  // namespace orrery::api
