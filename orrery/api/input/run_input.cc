#include "orrery/api/input/run_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/api/fields.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/manifest.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/finish.h"

namespace orrery::api {

Result<ingest::Run> ReadRun(const RunInput& input, const Progress& progress) {
  ORRERY_TRY_STATUS(trace::CheckStepMarker(input.step_marker));
  ingest::RunOptions options;
  options.read.threads = input.threads;
  options.read.unpack.max_ratio = input.max_unpack_ratio;
  options.read.step_marker = input.step_marker;
  if (progress) {
    options.progress = [&](std::size_t done, std::size_t total, std::string_view file) {
      progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), file);
    };
  }
  return ingest::ReadRun(input.paths, options);
}

bool IsRecording(const std::string& path) {
  const Result<ingest::InputFile> file = ingest::InputFile::Open(path);
  const auto matches = [&](const ingest::Format* format) { return format->matches(*file); };
  return file &&
         (ingest::IsManifest(*file) || std::ranges::any_of(ingest::KnownFormats(), matches));
}

ORRERY_SET_FIELDS(RunInput, kRunFields)

}  // namespace orrery::api
