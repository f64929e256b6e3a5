#include <memory>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/orrs/assemble.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/ingest/registry.h"
#include "orrery/stream/reader.h"

namespace orrery::ingest::orrs {
namespace {

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  FileContent content;
  Recording recording(content.traces.emplace_back());
  ORRERY_TRY(stream::StreamReader reader, stream::StreamReader::Open(*source));
  DescribeFile(file.path(), reader.minor_version(), recording.trace->info);
  while (true) {
    ORRERY_TRY(const stream::Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    recording.Add(*chunk);
  }
  NoteLosses(reader.losses(), source->damage(), recording.trace->problems);
  if (!recording.has_end) {
    recording.trace->problems.Note(
        "recording without an end: the process was killed or is still recording");
  }
  Replay replay = ReplayEvents(recording);
  replay.memory.EndRequested();
  Assemble(recording, replay, options);
  return content;
}

}  // namespace

// Recorded event streams (docs/formats/orrs.md): one process, with what its launches did to memory
// and how much of that was seen.
constinit const Format kFormat{
    .name = "Orrery event stream",
    .matches = [](const InputFile& file) { return stream::IsStream(file.head()); },
    .read = Read};

}  // namespace orrery::ingest::orrs
