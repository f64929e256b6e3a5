#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/xplane/message.h"
#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/plane_rows.h"
#include "orrery/ingest/xplane/stat.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {
namespace {

/// A field of the outermost message (XSpace): a plane or a text.
struct SpaceField {
  std::uint64_t number = 0;
  std::int64_t offset = 0;  // of its content in the file
  std::string content;
  bool is_cut = false;  // the file ends before the content does
};

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
constexpr std::uint64_t kLengthDelimited = 2;
// No protobuf message is longer.
constexpr std::uint64_t kLongestMessage = (std::uint64_t{1} << 31) - 1;

// Reads the outermost message field by field, so that one plane is in memory at a time. Stated
// lengths are not trusted: memory grows with what is really there.
class SpaceReader {
 public:
  // `source` must outlive the reader.
  explicit SpaceReader(ByteSource& source) : source_(source) {}

  // Returns the next field; nothing at the end of the file and at damage. All fields of an XSpace
  // are texts or messages; another one is damage.
  [[nodiscard]] Result<std::optional<SpaceField>> Next() {
    const std::int64_t begin = offset_;
    ORRERY_TRY(const bool has_more, Refill());
    if (!has_more || damage_offset) {
      return std::nullopt;
    }
    ORRERY_TRY(const auto tag, TakeVarint());
    const bool is_valid = tag && (*tag & 7) == kLengthDelimited && *tag >> 3 != 0;
    ORRERY_TRY(const auto length, is_valid ? TakeVarint() : std::nullopt);
    if (!length || *length > kLongestMessage) {
      damage_offset = begin;
      return std::nullopt;
    }
    SpaceField field{.number = *tag >> 3, .offset = offset_, .content = {}, .is_cut = false};
    ORRERY_TRY(field.content, TakeBytes(*length));
    field.is_cut = field.content.size() < *length;
    return field;
  }

  std::optional<std::int64_t> damage_offset;  // of the first byte that is not part of a message

 private:
  // Returns whether there is a byte to take.
  Result<bool> Refill() {
    if (position_ < window_.size()) {
      return true;
    }
    window_.resize(kWindowBytes);
    ORRERY_TRY(const std::size_t count, source_.Read(window_));
    window_.resize(count);
    position_ = 0;
    return count > 0;
  }

  Result<std::optional<std::uint64_t>> TakeVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      ORRERY_TRY(const bool has_more, Refill());
      if (!has_more) {
        break;
      }
      const auto byte = static_cast<unsigned char>(window_[position_++]);
      ++offset_;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    return std::nullopt;
  }

  Result<std::string> TakeBytes(std::uint64_t length) {
    std::string bytes;
    while (bytes.size() < length) {
      ORRERY_TRY(const bool has_more, Refill());
      if (!has_more) {
        break;
      }
      const std::size_t count = std::min<std::size_t>(
          window_.size() - position_, static_cast<std::size_t>(length) - bytes.size());
      bytes.append(window_, position_, count);
      position_ += count;
      offset_ += static_cast<std::int64_t>(count);
    }
    return bytes;
  }

  ByteSource& source_;
  std::string window_;
  std::size_t position_ = 0;
  std::int64_t offset_ = 0;
};

// Fills the collectives of the finished trace from those that the recording knows of, one for
// each activity that is one, in order of time.
void LinkCollectives(Recording& recording) {
  trace::Activities& activities = recording.trace.activities;
  for (RowId row = 0; row < activities.size(); ++row) {
    if (activities.collective[row] == kNoRow) {
      continue;
    }
    trace::Collectives::Row collective = recording.collectives[activities.collective[row]];
    collective.begin_ns = activities.begin_ns[row];
    collective.duration_ns = activities.duration_ns[row];
    collective.name = activities.name[row];
    collective.track = activities.track[row];
    collective.num_kernels = 1;
    activities.collective[row] = recording.trace.collectives.Append(collective);
  }
}

// Numbers of the fields of an XSpace.
enum SpaceFieldNumber : std::uint32_t { kPlane = 1, kError = 2, kWarning = 3, kHostName = 4 };

constexpr std::string_view kProgramsPlane = "/host:metadata";

bool Matches(const InputFile& file) {
  if (!file.head().starts_with('\x0a')) {
    return false;
  }
  MessageReader reader(file.head());
  while (const auto field = reader.Next()) {
    if (field->number != kPlane || !field->is_bytes) {
      return false;
    }
    const std::string_view name = PlaneName(field->bytes);
    if (name.starts_with("/host:") || name.starts_with("/device:") || name == "Task Environment") {
      return true;
    }
  }
  return false;
}

void AddSpaceField(const SpaceField& field, Recording& recording) {
  trace::Trace& trace = recording.trace;
  switch (field.number) {
    case kPlane:
      if (PlaneName(field.content) != kProgramsPlane) {
        const Plane plane = ReadPlane(field.content);
        if (plane.is_damaged) {
          trace.problems.Loss("damaged plane; its complete events were read", 1,
                              fmt::format("{}, byte {}", CleanText(plane.name), field.offset));
        }
        AddPlane(plane, recording);
      }
      break;
    case kError:
      trace.problems.Note("profiler error", 1, CleanText(field.content));
      break;
    case kWarning:
      trace.problems.Note("profiler warning", 1, CleanText(field.content));
      break;
    case kHostName:
      trace.info.host_name =
          trace.info.host_name.empty() ? CleanText(field.content) : trace.info.host_name;
      break;
    default:
      trace.problems.Note("unknown field of the recording", 1,
                          fmt::format("byte {}", field.offset));
      break;
  }
}

Status ReadFields(ByteSource& source, Recording& recording) {
  SpaceReader reader(source);
  while (true) {
    ORRERY_TRY(const auto field, reader.Next());
    if (!field) {
      break;
    }
    AddSpaceField(*field, recording);
    if (field->is_cut) {
      recording.trace.problems.Loss(
          "the file ends early", 1,
          fmt::format("byte {}", field->offset + static_cast<std::int64_t>(field->content.size())));
    }
  }
  if (const auto offset = reader.damage_offset) {
    recording.trace.problems.Loss("the rest of the file is not an XPlane message", 1,
                                  fmt::format("byte {}", *offset));
  }
  if (const std::string damage = source.damage(); !damage.empty()) {
    recording.trace.problems.Loss(damage);
  }
  return {};
}

// Lines count from the start of the profile or from 1970; both are seen in one file.
void CountFromEpoch(Recording& recording, std::int64_t start_ns) {
  ForEachTable(recording.trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires {
                    table.begin_ns;
                    table.track;
                  }) {
      for (RowId row = 0; row < table.size(); ++row) {
        table.begin_ns[row] += recording.has_epoch_times[table.track[row]] ? 0 : start_ns;
      }
    }
  });
}

void SetTimes(Recording& recording) {
  const auto& epoch = recording.has_epoch_times;
  const bool any_epoch = std::ranges::find(epoch, true) != epoch.end();
  const bool all_epoch = std::ranges::find(epoch, false) == epoch.end();
  trace::TraceInfo& info = recording.trace.info;
  info.time_origin = trace::TimeOrigin::kRecordingStart;
  const auto start_ns = recording.profile_start_ns;
  if (start_ns && IsPlausibleTime(*start_ns)) {
    CountFromEpoch(recording, *start_ns);
    info.time_origin = trace::TimeOrigin::kEpoch;
  } else if (any_epoch && all_epoch) {
    info.time_origin = trace::TimeOrigin::kEpoch;
  } else if (any_epoch) {
    recording.trace.problems.Note(
        "some lines count from 1970 and some from the start of the profile, which is not known");
    info.time_origin = trace::TimeOrigin::kUnknown;
  }
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const auto source, file.OpenContent());
  Recording recording;
  ORRERY_TRY_STATUS(ReadFields(*source, recording));
  trace::Trace& trace = recording.trace;
  if (trace.tracks.empty() && trace.problems.has_loss()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("an XPlane recording without a complete event ({}); record it again",
                            trace.problems.all().back().what));
  }
  trace.problems.Note("no plane has events", trace.tracks.empty() ? 1 : 0);
  SetTimes(recording);
  kineto::ClassifyCopies(trace);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkCollectives(recording);
  trace.info.format = "XPlane";
  trace.info.files = {file.path()};
  return ContentOf(std::move(trace));
}

}  // namespace

// Recordings of the XLA profiler (`*.xplane.pb`), of TPUs and GPUs. Gives one trace for each file,
// with all devices of its host; `tracks.device` tells them apart. Times count from 1970 where the
// file says when the profile began, else from there. HLO protos (the plane `/host:metadata`) are
// not read.
constinit const Format kFormat{.name = "XPlane", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::xplane
