#include "orrery/cli/convert/recompress_stream.h"

#include <filesystem>
#include <memory>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/terminal.h"
#include "orrery/draw/number_format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/recompress.h"

namespace orrery::cli {
namespace {

Result<stream::Recompressed> RecompressFile(const std::string& input, const std::string& output) {
  std::error_code error;
  if (std::filesystem::is_directory(input, error)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: is a folder; streams are packed one by one", input));
  }
  if (std::filesystem::equivalent(input, output, error)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: a stream cannot be packed onto itself; name another file", input));
  }
  ORRERY_TRY(const ingest::InputFile file, ingest::InputFile::Open(input));
  if (!stream::IsStream(file.head())) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("{}: only a recorded event stream can become an .orrs file; use .orr "
                            "for traces of other tools",
                            input));
  }
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  ORRERY_TRY(const std::unique_ptr<ByteSink> sink, CreateFile(output));
  auto done = stream::Recompress(*source, *sink);
  if (!done) {
    return FailWithin(input, done);
  }
  ORRERY_TRY_STATUS(sink->Close());
  return done;
}

// What the input lacks, the output lacks too.
bool PrintLosses(const stream::StreamLosses& losses) {
  const auto print = [](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      Print(
          fmt::format("lost: {} {}\n", draw::FormatCount(static_cast<std::int64_t>(count)), what));
    }
    return count > 0;
  };
  const bool has_bytes = print(losses.num_skipped_bytes, "bytes outside of intact chunks");
  const bool has_chunks =
      print(losses.num_unknown_chunks, "chunks of types that a newer Orrery writes");
  return has_bytes || has_chunks;
}

}  // namespace

Result<int> Recompress(const std::string& input, const std::string& output) {
  ORRERY_TRY(const stream::Recompressed done, RecompressFile(input, output));
  const bool has_loss = PrintLosses(done.losses);
  Print(fmt::format("{}: {} chunks, {} instead of {}\n", output, draw::FormatCount(done.num_chunks),
                    draw::FormatBytes({done.bytes_after}), draw::FormatBytes({done.bytes_before})));
  return has_loss ? kExitPartial : kExitOk;
}

}  // namespace orrery::cli
