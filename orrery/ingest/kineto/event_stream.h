#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/kineto/window_parser.h"

namespace orrery::ingest::kineto {

/// Returns where the first event may begin in `text`: after the `[` of the member "traceEvents",
/// or after a leading `[`. Nothing if `text` ends before.
[[nodiscard]] std::optional<std::size_t> FindEventList(std::string_view text);

/// Returns the last place in `text` where one event seems to end and the next to begin, as the
/// position of the next one's `{`; 0 if there is none. "Seems", because a string may contain the
/// same characters: whoever parses the window finds out.
[[nodiscard]] std::size_t FindLastBoundary(std::string_view text);

/// The same for the first such place at or after `from`; npos if there is none.
[[nodiscard]] std::size_t FindBoundary(std::string_view text, std::size_t from);

/// Cuts the list of events of a file into windows, with what stands before it kept apart.
class EventStream {
 public:
  EventStream(std::unique_ptr<ByteSource> source, std::size_t window_bytes);

  /// Reads up to the list of events. Afterwards `head()` is the text before it. False if the file
  /// ends before a list begins.
  [[nodiscard]] Result<bool> FindList();

  /// Fills `window` with the next events; false at the end of the file. `separator` gets what
  /// stands between this window and the next.
  [[nodiscard]] Result<bool> Next(Window& window, std::string& separator);

  [[nodiscard]] const std::string& head() const { return head_; }

  /// Unpacked bytes of the file up to the end of the last window.
  [[nodiscard]] std::int64_t offset() const { return offset_; }

  /// Why the file ended early, if its compression says so.
  [[nodiscard]] std::string damage() const { return source_->damage(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::size_t window_bytes_;
  std::string head_;
  std::string carried_;  // read already, belongs to the next window
  std::int64_t offset_ = 0;
  bool ended_ = false;
};

/// The texts around the list of events.
struct Frame {
  std::string head;  // up to and with the list's `[`
  std::string tail;  // after its `]`
};

struct PipelineOptions {
  int threads = 0;                      // 0: one for each core
  std::size_t window_bytes = 2U << 20;  // text that one thread parses at a time
};

/// Reads all events of a file into `assembler`: one thread cuts windows at places that look like
/// the end of an event, others parse them, and the rows come together in the order of the file.
/// A window that does not parse goes through the Salvager. What is missing at the end of the file
/// is a problem of the trace, not an error.
[[nodiscard]] Result<Frame> ReadEvents(std::unique_ptr<ByteSource> source,
                                       const PipelineOptions& options, Assembler& assembler);

}  // namespace orrery::ingest::kineto
