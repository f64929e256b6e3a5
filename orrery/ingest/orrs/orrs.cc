#include "orrery/ingest/orrs/orrs.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/orrs/device_rows.h"
#include "orrery/ingest/orrs/host_rows.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/ingest/orrs/touches.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::orrs {
namespace {

bool Matches(const InputFile& file) {
  return stream::IsStream(file.head());
}

void NoteLosses(const stream::StreamLosses& losses, trace::ProblemLog& problems) {
  const std::string place = fmt::format("byte {}", losses.first_damage);
  if (losses.is_torn) {
    problems.Loss("recording cut off inside its last chunk", 1, place);
  }
  problems.Loss("record in a chunk that is damaged", Signed(losses.num_lost_records), place);
  problems.Loss("byte outside of intact chunks", Signed(losses.num_skipped_bytes), place);
  problems.Loss("chunk of a type that a newer Orrery writes, skipped",
                Signed(losses.num_unknown_chunks),
                fmt::format("type {}", losses.first_unknown_type));
}

Status ReadChunks(ByteSource& source, Recording& recording) {
  ORRERY_TRY(stream::StreamReader reader, stream::StreamReader::Open(source));
  trace::Trace& trace = *recording.trace;
  trace.info.format_version = fmt::format("{}.{}", stream::kMajorVersion, reader.minor_version());
  while (true) {
    ORRERY_TRY(const stream::Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    recording.Add(*chunk);
  }
  NoteLosses(reader.losses(), trace.problems);
  if (const std::string damage = source.damage(); !damage.empty()) {
    trace.problems.Loss("file that ends early", 1, damage);
  }
  return {};
}

void Assemble(Recording& recording, const ReadOptions& options) {
  trace::Trace& trace = *recording.trace;
  if (!recording.has_end) {
    trace.problems.Note("recording without an end: the process was killed or is still recording");
  }
  Replay replay = PlayEvents(recording);
  AppendHostRows(recording);
  const DeviceRows device_rows = AppendDeviceRows(recording);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkMemory(recording, replay, device_rows);
  trace.problems.Loss("name that is used and not in the stream", recording.names.num_missing());
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  trace.info.format = "Orrery event stream";
  trace.info.files = {file.path()};
  Recording recording(trace);
  if (auto status = ReadChunks(*source, recording); !status) {
    return FailWithin(file.path(), status);
  }
  Assemble(recording, options);
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "Orrery event stream", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::orrs
