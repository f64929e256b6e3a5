#include "orrery/export/perfetto_sequence.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting::perfetto {
namespace {

using trace::Trace;
using trace::TrackKind;

bool IsOnDevice(const Trace& trace, RowId drawn_track) {
  return drawn_track < trace.tracks.size() && trace.tracks.kind[drawn_track] == TrackKind::kDevice;
}

// Identifies a thread or stream by the profiler's numbers, or by name where those are synthetic.
std::string IdentityOf(const Trace& trace, RowId drawn_track) {
  if (drawn_track >= DrawnTracks(trace).none) {
    return TrackTitle(trace, drawn_track);
  }
  const trace::Tracks::Row track = trace.tracks.At(drawn_track);
  if (track.kind == TrackKind::kDevice) {
    return fmt::format("device {} stream {}", track.device, track.thread);
  }
  return fmt::format("process {} {} thread {} {}", track.process,
                     track.process < 0 ? trace.Text(track.process_name) : "", track.thread,
                     track.thread < 0 ? trace.Text(track.name) : "");
}

constexpr std::size_t kFlushBytes = 1 << 20;

}  // namespace

std::uint64_t TrackUuids::Of(std::string identity) {
  while (true) {
    const std::uint64_t uuid = XXH3_64bits(identity.data(), identity.size());
    // 0 is the trace itself.
    if (uuid != 0 && taken_.insert(uuid).second) {
      return uuid;
    }
    identity += '\'';
  }
}

RankTracks::RankTracks(const Trace& trace, const RankLayout& layout, std::int64_t rank, Place place,
                       TrackUuids& uuids, Sequence& sequence)
    : trace_(trace),
      layout_(layout),
      rank_name_(fmt::format("rank {}", rank)),
      uuids_(uuids),
      sequence_(sequence),
      lanes_(layout.num_lanes.size()) {
  rank_track_ = uuids_.Of(rank_name_);
  sequence_.Describe(
      {.uuid = rank_track_, .parent = place.parent, .name = rank_name_, .order = place.order});
  for (RowId track = 0; track < lanes_.size(); ++track) {
    if (!IsOnDevice(trace_, track) && layout_.IsUsed(track)) {
      DescribeLanes(track, rank_track_);
    }
  }
  for (RowId track = 0; track < trace_.tracks.size(); ++track) {
    if (IsOnDevice(trace_, track)) {
      DescribeLanes(track, Device(trace_.tracks.device[track]));
    }
  }
}

std::uint64_t RankTracks::Describe(const std::string& identity, std::uint64_t parent,
                                   std::string name) {
  const std::uint64_t uuid = uuids_.Of(rank_name_ + " / " + identity);
  sequence_.Describe(
      {.uuid = uuid, .parent = parent, .name = std::move(name), .order = next_order_++});
  return uuid;
}

void RankTracks::DescribeLanes(RowId drawn_track, std::uint64_t parent) {
  const std::string identity = IdentityOf(trace_, drawn_track);
  const std::string title = TrackTitle(trace_, drawn_track);
  for (exporting::Lane lane = 0; lane < layout_.num_lanes[drawn_track]; ++lane) {
    lanes_[drawn_track].push_back(
        Describe(fmt::format("{} / lane {}", identity, lane), parent, LaneTitle(title, lane)));
  }
}

std::uint64_t RankTracks::Device(std::int32_t device) {
  const auto known = devices_.find(device);
  if (known != devices_.end()) {
    return known->second;
  }
  const std::uint64_t uuid =
      Describe(fmt::format("device {}", device), rank_track_, fmt::format("GPU {}", device));
  devices_.emplace(device, uuid);
  return uuid;
}

std::uint64_t RankTracks::Counter(std::string_view name, std::int32_t device, bool counts_bytes) {
  auto key = std::pair(device, std::string(name));
  const auto known = counters_.find(key);
  if (known != counters_.end()) {
    return known->second;
  }
  const std::uint64_t parent = device >= 0 ? Device(device) : rank_track_;
  const std::uint64_t uuid =
      uuids_.Of(fmt::format("{} / device {} / counter {}", rank_name_, device, name));
  sequence_.Describe({.uuid = uuid,
                      .parent = parent,
                      .name = std::string(name),
                      .order = next_order_++,
                      .is_counter = true,
                      .counts_bytes = counts_bytes});
  counters_.emplace(std::move(key), uuid);
  return uuid;
}

void PacketFile::Add(const std::string& packet) {
  protozero::pbf_writer(buffer_).add_message(kTracePacket, packet);
  if (buffer_.size() >= kFlushBytes) {
    static_cast<void>(Flush());
  }
}

Status PacketFile::Flush() {
  if (status_) {
    status_ = sink_.Write(buffer_);
  }
  buffer_.clear();
  return status_;
}

std::uint64_t Interning::Id(std::string_view text, std::string& new_entries) {
  const auto known = id_of_text_.find(text);
  if (known != id_of_text_.end()) {
    return known->second;
  }
  const std::uint64_t id = Define(text, new_entries);
  id_of_text_.emplace(text, id);
  return id;
}

std::uint64_t Interning::Id(const StringTable& strings, StringId id, std::string& new_entries) {
  const auto index = static_cast<std::size_t>(id);
  if (id_of_string_.empty()) {
    id_of_string_.resize(strings.size(), 0);
  }
  if (id_of_string_[index] == 0) {
    id_of_string_[index] = Define(strings.View(id), new_entries);
  }
  return id_of_string_[index];
}

std::uint64_t Interning::Define(std::string_view text, std::string& new_entries) {
  protozero::pbf_writer entries(new_entries);
  protozero::pbf_writer entry(entries, field_);
  entry.add_uint64(interned::kEntryId, next_);
  entry.add_string(interned::kEntryText, text.data(), text.size());
  return next_++;
}

void Sequence::AddHeader(protozero::pbf_writer& packet) {
  packet.add_uint32(packet::kSequenceId, id_);
  packet.add_uint32(packet::kSequenceFlags,
                    is_first_ ? packet::kStateCleared | packet::kNeedsState : packet::kNeedsState);
  is_first_ = false;
}

void Sequence::Describe(const TrackDescription& track) {
  packet_.clear();
  protozero::pbf_writer packet(packet_);
  AddHeader(packet);
  {
    protozero::pbf_writer descriptor(packet, packet::kTrackDescriptor);
    descriptor.add_uint64(track::kUuid, track.uuid);
    descriptor.add_string(track::kName, track.name);
    if (track.parent != 0) {
      descriptor.add_uint64(track::kParentUuid, track.parent);
    }
    if (track.is_counter) {
      protozero::pbf_writer counter(descriptor, track::kCounter);
      if (track.counts_bytes) {
        counter.add_enum(track::kCounterUnit, track::kUnitSizeBytes);
      }
    }
    descriptor.add_enum(track::kChildOrdering, track::kExplicitOrder);
    if (track.order != 0) {
      descriptor.add_int32(track::kSiblingOrderRank, track.order);
    }
    descriptor.add_enum(track::kSiblingMergeBehavior, track::kNoMerge);
  }
  file_.Add(packet_);
}

void Sequence::Start(std::int32_t type, std::uint64_t track) {
  event_.clear();
  protozero::pbf_writer event(event_);
  event.add_enum(event::kType, type);
  event.add_uint64(event::kTrackUuid, track);
}

void Sequence::Name(StringId name) {
  protozero::pbf_writer(event_).add_uint64(event::kNameId, names_.Id(strings_, name, new_entries_));
}

void Sequence::Name(std::string_view name) {
  protozero::pbf_writer(event_).add_uint64(event::kNameId, names_.Id(name, new_entries_));
}

void Sequence::Category(std::string_view category) {
  if (!category.empty()) {
    protozero::pbf_writer(event_).add_uint64(event::kCategoryIds,
                                             categories_.Id(category, new_entries_));
  }
}

void Sequence::Flows(std::span<const std::uint64_t> ids) {
  protozero::pbf_writer event(event_);
  for (const std::uint64_t id : ids) {
    event.add_fixed64(event::kFlowIds, id);
  }
}

void Sequence::Text(std::string_view key, StringId value) {
  if (value != StringId::kEmpty) {
    Annotate(key, [&](protozero::pbf_writer& annotation) {
      annotation.add_uint64(annotation::kStringId, values_.Id(strings_, value, new_entries_));
    });
  }
}

void Sequence::Triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
  std::array<char, 80> text;
  const auto end = fmt::format_to(text.begin(), "[{}, {}, {}]", x, y, z);
  Words(key, {text.data(), static_cast<std::size_t>(end - text.begin())});
}

void Sequence::Write(std::uint64_t at_ns) {
  packet_.clear();
  protozero::pbf_writer packet(packet_);
  packet.add_uint64(packet::kTimestamp, at_ns);
  AddHeader(packet);
  if (!new_entries_.empty()) {
    packet.add_message(packet::kInternedData, new_entries_);
    new_entries_.clear();
  }
  packet.add_message(packet::kTrackEvent, event_);
  file_.Add(packet_);
}

}  // namespace orrery::exporting::perfetto
