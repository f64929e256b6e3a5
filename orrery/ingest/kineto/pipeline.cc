#include "orrery/ingest/kineto/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/ingest/json_repair.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_stream.h"
#include "orrery/ingest/kineto/window_parser.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::kineto {
namespace {

/// Reads events one by one from text that could not be parsed as a whole: keeps the valid ones,
/// fixes what can be fixed (control characters, invalid UTF-8, NaN …), drops what cannot and goes
/// on at the next place where an event seems to begin.
class Salvager {
 public:
  struct Outcome {
    std::size_t used = 0;     // bytes consumed; the rest needs more text
    bool list_ended = false;  // `used` is after the list's `]`
  };

  /// `offset` is where `text` stands in the file. Unless `is_last`, an event that does not end in
  /// `text` is left for the next call.
  Outcome Read(std::string_view text, std::int64_t offset, bool is_last);

  /// The rows so far.
  [[nodiscard]] Chunk& chunk() { return chunk_; }

  /// Logs the repairs in the chunk.
  void LogRepairs();

 private:
  bool ReadEvent(std::string_view text);
  void Drop(std::int64_t offset, std::size_t bytes);

  Chunk chunk_;
  WindowParser parser_;
  JsonRepairs repairs_;
};

constexpr std::size_t kNone = std::string_view::npos;

// A longer event is treated as damage.
constexpr std::size_t kPatienceBytes = 16 << 20;
constexpr int kMaxDepth = 64;

// The position after the object that begins at `at`, or kNone if the text ends before or the
// nesting is implausible.
std::size_t EndOfObject(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) {
        return kNone;
      }
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        return at + 1;
      }
    }
  }
  return kNone;
}

bool IsBetweenEvents(char c) {
  return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool Salvager::ReadEvent(std::string_view text) {
  Window window(text.size());
  std::memcpy(window.text(), text.data(), text.size());
  window.Close(text.size());
  if (parser_.Parse(window, chunk_).outcome == WindowParser::Outcome::kWhole) {
    return true;
  }
  JsonRepairs repairs;
  const std::string fixed = RepairJson(text, repairs);
  if (!repairs.any()) {
    return false;
  }
  Window second(fixed.size());
  std::memcpy(second.text(), fixed.data(), fixed.size());
  second.Close(fixed.size());
  if (parser_.Parse(second, chunk_).outcome != WindowParser::Outcome::kWhole) {
    return false;
  }
  repairs_ += repairs;
  return true;
}

void Salvager::Drop(std::int64_t offset, std::size_t bytes) {
  chunk_.rows.problems.Loss("event that is not valid JSON, skipped", 1,
                            fmt::format("byte {}, {} bytes", offset, bytes));
}

Salvager::Outcome Salvager::Read(std::string_view text, std::int64_t offset, bool is_last) {
  std::size_t at = 0;
  while (true) {
    std::size_t num_commas = 0;
    for (; at < text.size() && IsBetweenEvents(text[at]); ++at) {
      num_commas += text[at] == ',' ? 1 : 0;
    }
    if (at == text.size()) {
      return {.used = at, .list_ended = false};
    }
    if (text[at] == ']') {
      if (num_commas > 0) {
        chunk_.rows.problems.Note("comma without a following event");
      }
      return {.used = at + 1, .list_ended = true};
    }
    const std::size_t end = text[at] == '{' ? EndOfObject(text, at) : kNone;
    if (end != kNone && ReadEvent(text.substr(at, end - at))) {
      at = end;
      continue;
    }
    if (end == kNone && !is_last && text.size() - at < kPatienceBytes) {
      return {.used = at, .list_ended = false};
    }
    const std::size_t next = FindBoundary(text, at + 1);
    if (next == kNone && end == kNone) {
      // Nothing more to find: what is left is the cut-off end of the file.
      return {.used = is_last ? at : text.size(), .list_ended = false};
    }
    const std::size_t resume = std::min(next, end);
    Drop(offset + static_cast<std::int64_t>(at), resume - at);
    at = resume;
  }
}

void Salvager::LogRepairs() {
  ingest::LogRepairs(repairs_, "", chunk_.rows.problems);
}

// A window on its way through the pipeline.
struct Work {
  std::unique_ptr<Window> window;
  std::string separator;
  WindowParser::Parsed parsed;
  Chunk chunk;
};

// Windows are reused: fresh memory would cost a page fault for every page of the file.
class WindowPool {
 public:
  explicit WindowPool(std::size_t window_bytes) : window_bytes_(window_bytes) {}

  std::unique_ptr<Window> Take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      return std::make_unique<Window>(window_bytes_);
    }
    auto window = std::move(free_.back());
    free_.pop_back();
    return window;
  }

  void Return(std::unique_ptr<Window> window) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(window));
  }

 private:
  std::size_t window_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Window>> free_;
};

// The last stage: takes windows in the order of the file.
class Collector {
 public:
  explicit Collector(Assembler& assembler) : assembler_(assembler) {}

  void Take(const Work& work) {
    const std::string_view text = work.window->view();
    if (list_ended_) {
      tail_ += text;
      tail_ += work.separator;
      return;
    }
    if (pending_.empty() && work.parsed.outcome == WindowParser::Outcome::kWhole) {
      assembler_.Add(work.chunk);
      return;
    }
    if (pending_.empty() && work.parsed.outcome == WindowParser::Outcome::kListEnds) {
      assembler_.Add(work.chunk);
      EndList(std::string(text.substr(work.parsed.list_end + 1)) + work.separator);
      return;
    }
    if (pending_.empty()) {
      pending_offset_ = work.window->offset;
    }
    pending_ += text;
    pending_ += work.separator;
    Salvage(false);
  }

  // At the end of the file; `end` is its length and `damage` what its compression says.
  void Finish(std::int64_t end, const std::string& damage) {
    if (!pending_.empty()) {
      Salvage(true);
    }
    trace::ProblemLog& problems = assembler_.trace().problems;
    const std::string kept = fmt::format("byte {}, {} events kept", end, assembler_.num_events());
    if (!damage.empty()) {
      problems.Loss("compressed file that ends early or is damaged", 1,
                    fmt::format("{}; {}", damage, kept));
    }
    if (!list_ended_ && !pending_.empty()) {
      problems.Loss("truncated JSON", 1, kept);
    } else if (!list_ended_) {
      problems.Loss("closed early: the list of events has no end", 1, kept);
    }
  }

  std::string TakeTail() { return std::move(tail_); }

 private:
  void EndList(std::string tail) {
    list_ended_ = true;
    tail_ = std::move(tail);
  }

  void Salvage(bool is_last) {
    Salvager salvager;
    const Salvager::Outcome outcome = salvager.Read(pending_, pending_offset_, is_last);
    salvager.LogRepairs();
    assembler_.Add(salvager.chunk());
    pending_offset_ += static_cast<std::int64_t>(outcome.used);
    std::string rest = pending_.substr(outcome.used);
    pending_.clear();
    if (outcome.list_ended) {
      EndList(std::move(rest));
    } else {
      pending_ = std::move(rest);
    }
  }

  Assembler& assembler_;
  std::string pending_;  // text that waits for its continuation
  std::int64_t pending_offset_ = 0;
  std::string tail_;
  bool list_ended_ = false;
};

class Pipeline {
 public:
  Pipeline(EventStream& stream, std::size_t window_bytes, Collector& collector)
      : stream_(stream), pool_(window_bytes), collector_(collector) {}

  Status Run(int threads) {
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    arena.execute([&] {
      const auto tokens = static_cast<std::size_t>(arena.max_concurrency()) + 1;
      tbb::parallel_pipeline(
          tokens, tbb::make_filter<void, std::shared_ptr<Work>>(
                      tbb::filter_mode::serial_in_order,
                      [&](tbb::flow_control& control) { return Cut(control); }) &
                      tbb::make_filter<std::shared_ptr<Work>, std::shared_ptr<Work>>(
                          tbb::filter_mode::parallel,
                          [&](std::shared_ptr<Work> work) { return Parse(std::move(work)); }) &
                      tbb::make_filter<std::shared_ptr<Work>, void>(
                          tbb::filter_mode::serial_in_order,
                          [&](const std::shared_ptr<Work>& work) { Collect(*work); }));
    });
    return error_ ? Status(tl::unexpected(*error_)) : Status();
  }

 private:
  std::shared_ptr<Work> Cut(tbb::flow_control& control) {
    auto work = std::make_shared<Work>();
    work->window = pool_.Take();
    const auto more = stream_.Next(*work->window, work->separator);
    if (!more) {
      error_ = more.error();
    }
    if (!more || !*more) {
      control.stop();
      return nullptr;
    }
    return work;
  }

  std::shared_ptr<Work> Parse(std::shared_ptr<Work> work) {
    work->parsed = parsers_.local().Parse(*work->window, work->chunk);
    return work;
  }

  void Collect(Work& work) {
    collector_.Take(work);
    pool_.Return(std::move(work.window));
  }

  EventStream& stream_;
  WindowPool pool_;
  Collector& collector_;
  tbb::enumerable_thread_specific<WindowParser> parsers_;
  std::optional<Error> error_;
};

}  // namespace

Result<Frame> ReadEvents(std::unique_ptr<ByteSource> source, const PipelineOptions& options,
                         Assembler& assembler) {
  EventStream stream(std::move(source), options.window_bytes);
  ORRERY_TRY(const bool has_list, stream.FindList());
  if (!has_list) {
    assembler.trace().problems.Loss(
        "truncated JSON", 1,
        fmt::format("byte {}, before the list of events{}{}", stream.offset(),
                    stream.damage().empty() ? "" : "; ", stream.damage()));
    return Frame{.head = stream.head(), .tail = {}};
  }
  Collector collector(assembler);
  Pipeline pipeline(stream, options.window_bytes, collector);
  ORRERY_TRY_STATUS(pipeline.Run(options.threads));
  collector.Finish(stream.offset(), stream.damage());
  return Frame{.head = stream.head(), .tail = collector.TakeTail()};
}

}  // namespace orrery::ingest::kineto
