#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "orrery/ingest/kineto/assembler.h"

namespace orrery::ingest::kineto {

/// A piece of the list of events, laid out for the parser: `[`, the events, `]`, and padding.
/// Windows are cut where an event seems to end; parsing them shows whether that was right.
class Window {
 public:
  explicit Window(std::size_t capacity);

  /// Holds a copy of `events`, closed.
  explicit Window(std::string_view events);

  /// The buffer for the events, of `capacity` bytes.
  [[nodiscard]] char* text() { return buffer_.get() + 1; }

  [[nodiscard]] std::string_view view() const { return {buffer_.get() + 1, size_}; }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Makes room for more text and keeps what is there.
  void Grow(std::size_t capacity);

  /// Sets the length of the text and closes the list after it.
  void Close(std::size_t size);

  std::int64_t offset = 0;  // of the text in the uncompressed file

 private:
  friend class WindowParser;

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

/// Reads the events of windows into chunks; one parser for each thread.
class WindowParser {
 public:
  enum class Outcome {
    kWhole,     // every byte of the text belongs to complete events
    kListEnds,  // the list's own `]` was met
    kBroken,    // something is not JSON: the chunk is not to be used
  };

  struct Parsed {
    Outcome outcome = Outcome::kBroken;
    std::size_t list_end = 0;  // offset of the `]` in the text
  };

  WindowParser();
  ~WindowParser();
  WindowParser(WindowParser&&) noexcept;
  WindowParser& operator=(WindowParser&&) noexcept;

  Parsed Parse(Window& window, Chunk& chunk);

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace orrery::ingest::kineto
