#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/export/torch_snapshot/pickle_writer.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// A line of a call stack.
struct Frame {
  std::string name = {};
  std::string file = {};
  std::int64_t line = 0;

  bool operator==(const Frame&) const = default;
};

/// Reads "function file:line", "file:line", or anything else, which is taken for a name.
[[nodiscard]] Frame FrameOf(std::string_view text);

/// Writes where objects were allocated, the innermost first: the call stack, then the operators of
/// the framework, whose file is "operator". Equal lists are written once.
class SnapshotFrames {
 public:
  SnapshotFrames(const trace::Trace& trace, PickleWriter& pickle)
      : trace_(trace), pickle_(pickle) {}

  /// Writes the list of an object's frames.
  void Write(RowId object);

 private:
  void WriteFrame(const Frame& frame);

  const trace::Trace& trace_;
  PickleWriter& pickle_;
  std::map<std::pair<StringId, RowId>, PickleWriter::Reference> lists_;
};

}  // namespace orrery::exporting
