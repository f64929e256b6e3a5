#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "orrery/stream/codes.h"
#include "orrery/stream/writer.h"

namespace orrery::streams {

/// A small recording made by hand: a chunk for each record, events numbered as they are added.
class HandMadeStream {
 public:
  HandMadeStream() {
    const auto header = stream::FileHeader();
    bytes_.assign(header.data(), header.size());
  }

  template <typename Record>
  void Put(const Record& record) {
    stream::ChunkBuilder builder(Record::kChunk, 0, 64 << 10);
    complete_ &= builder.Append(record);
    bytes_ += builder.Seal();
  }

  /// Adds an event; returns its number.
  template <typename Event>
  std::uint64_t Happen(std::int64_t time_ns, Event event) {
    event.sequence = ++sequence_;
    event.time_ns = time_ns;
    event.thread = 1;
    Put(event);
    return event.sequence;
  }

  /// The number of a text.
  std::uint64_t Text(std::string_view text) {
    const auto [known, is_new] = id_of_text_.try_emplace(std::string(text), id_of_text_.size() + 1);
    if (is_new) {
      Put(stream::String{.id = known->second, .text = known->first});
    }
    return known->second;
  }

  /// Ends the recording and writes it; false: something did not fit or the file cannot be written.
  [[nodiscard]] bool Write(const std::string& path) {
    Put(stream::CoverageCount{.kind = stream::codes::kRecordingEnded});
    std::ofstream file(path, std::ios::binary);
    file << bytes_;
    return complete_ && file.good();
  }

 private:
  std::string bytes_;
  std::uint64_t sequence_ = 0;
  std::map<std::string, std::uint64_t> id_of_text_;
  bool complete_ = true;
};

}  // namespace orrery::streams
