#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/ingest/json_repair.h"
#include "orrery/ingest/kineto/chunk.h"
#include "orrery/ingest/kineto/window_parser.h"

namespace orrery::ingest::kineto {

/// Reads events one by one from text that could not be parsed as a whole: keeps the sound ones,
/// fixes what can be fixed (control characters, invalid UTF-8, NaN …), drops what cannot and goes
/// on at the next place where an event seems to begin.
class Salvager {
 public:
  struct Outcome {
    std::size_t used = 0;     // bytes dealt with; the rest needs more text
    bool list_ended = false;  // `used` is behind the list's `]`
  };

  /// `offset` is where `text` stands in the file. Unless `is_last`, an event that does not end in
  /// `text` is left for the next call.
  Outcome Read(std::string_view text, std::int64_t offset, bool is_last);

  /// The rows so far.
  [[nodiscard]] Chunk& chunk() { return chunk_; }

  /// Says in the chunk what was fixed.
  void LogRepairs();

 private:
  bool ReadEvent(std::string_view text);
  void Drop(std::int64_t offset, std::size_t bytes);

  Chunk chunk_;
  WindowParser parser_;
  JsonRepairs repairs_;
  std::string first_repair_;
};

}  // namespace orrery::ingest::kineto
