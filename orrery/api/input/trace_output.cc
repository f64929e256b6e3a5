#include "orrery/api/input/trace_output.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/chrome_json.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/perfetto.h"
#include "orrery/export/torch_snapshot/torch_snapshot.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {
namespace {

// For viewers: clocks aligned, collectives matched over the ranks.
Result<TraceOutput> WriteForViewer(trace::TraceSet& set, TraceFormat format,
                                   const std::string& path, trace::AlignClocks align) {
  const trace::AlignedRun aligned = trace::MatchAndAlign(set, align);
  const auto spans = exporting::SpansOf(set, aligned.matched);
  ORRERY_TRY(const auto sink, CreatePackedFile(path));
  ORRERY_TRY_STATUS(format == TraceFormat::kChrome
                        ? exporting::WriteChromeJson(set, spans, *sink, aligned.alignment)
                        : exporting::WritePerfetto(set, spans, *sink));
  ORRERY_TRY_STATUS(sink->Close());
  return TraceOutput{
      .num_spans = spans.size(), .is_for_viewer = true, .is_aligned = aligned.alignment.applies()};
}

// The allocator of one process.
Result<TraceOutput> WriteSnapshot(const trace::TraceSet& set, const std::string& path) {
  if (set.ranks.size() != 1) {
    return InvalidInput(
        "{}: a memory snapshot is of one process, and here are {} ranks; "
        "convert the file of one",
        path, set.ranks.size());
  }
  ORRERY_TRY(const auto sink, CreatePackedFile(path));
  auto left_out = exporting::WriteTorchSnapshot(set.ranks.front(), *sink);
  if (!left_out) {
    return FailWithin(path, left_out);
  }
  ORRERY_TRY_STATUS(sink->Close());
  return TraceOutput{.left_out_of_snapshot = *left_out};
}

// Columns of most files are then one block.
constexpr std::uint32_t kManyRowsPerBlock = 1 << 20;

}  // namespace

Result<TraceFormat> TraceFormatOf(std::string name) {
  if (name.ends_with(".orr")) {
    return TraceFormat::kOrr;
  }
  for (const std::string_view packing : {".gz", ".zst"}) {
    if (name.ends_with(packing)) {
      name.resize(name.size() - packing.size());
    }
  }
  if (name.ends_with(".json")) {
    return TraceFormat::kChrome;
  }
  if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) {
    return TraceFormat::kPerfetto;
  }
  if (name.ends_with(".pickle")) {
    return TraceFormat::kTorchSnapshot;
  }
  return InvalidInput(
      "{}: the name says no format that Orrery writes; use .orr, .json, "
      ".json.gz, .json.zst, .pftrace or .pickle",
      name);
}

Result<TraceOutput> WriteTraceFile(trace::TraceSet& set, const std::string& path,
                                   const TraceOutputOptions& options) {
  ORRERY_TRY(const TraceFormat format, TraceFormatOf(path));
  if (format == TraceFormat::kTorchSnapshot) {
    return WriteSnapshot(set, path);
  }
  if (format != TraceFormat::kOrr) {
    return WriteForViewer(set, format, path, options.align);
  }
  trace::OrrOptions orr{.threads = options.threads, .smallest = options.smallest};
  if (options.smallest) {
    orr.rows_per_block = kManyRowsPerBlock;
  }
  ORRERY_TRY_STATUS(trace::WriteOrr(set, path, orr));
  return TraceOutput{};
}

}  // namespace orrery::api
