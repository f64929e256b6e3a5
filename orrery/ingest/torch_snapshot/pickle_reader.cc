#include "orrery/ingest/torch_snapshot/pickle_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/lookup.h"
#include "orrery/ingest/torch_snapshot/pickle_value.h"

namespace orrery::ingest::torch_snapshot {
namespace {

using Kind = PickleValue::Kind;

// Bytes of a source one after the other, with a window of them in memory.
class ByteWindow {
 public:
  explicit ByteWindow(ByteSource& source) : source_(source) {}

  // Takes the next `count` bytes; valid until the next call. Fails where the source ends. A length
  // that the file claims becomes memory only as far as the file has the bytes.
  [[nodiscard]] Result<std::string_view> Take(std::size_t count) {
    if (window_.size() - begin_ < count) {
      window_.erase(0, std::exchange(begin_, 0));
    }
    while (window_.size() - begin_ < count) {
      const std::size_t before = window_.size();
      window_.resize(before + kReadBytes);
      ORRERY_TRY(const std::size_t got, ReadFully(source_, std::span(window_).subspan(before)));
      window_.resize(before + got);
      if (got == 0) {
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("byte {}: the file ends early", offset));
      }
    }
    const std::string_view taken = std::string_view(window_).substr(begin_, count);
    begin_ += count;
    offset += static_cast<std::int64_t>(count);
    return taken;
  }

  std::int64_t offset = 0;  // bytes taken so far

 private:
  static constexpr std::size_t kReadBytes = 1 << 20;

  ByteSource& source_;
  std::string window_;
  std::size_t begin_ = 0;
};

constexpr std::uint8_t kFirstProtocol = 2;
constexpr std::uint8_t kLastProtocol = 5;

// Opcodes that name or call something.
constexpr auto kCallingOpcodes = std::to_array<std::pair<std::uint8_t, std::string_view>>({
    {'c', "GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x81, "NEWOBJ"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
});

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

// Two's complement of at most eight bytes.
std::int64_t SignedLittleEndian(std::string_view bytes) {
  const std::uint64_t value = LittleEndian(bytes);
  const std::size_t unused_bits = 64 - 8 * bytes.size();
  return unused_bits == 64 ? 0 : static_cast<std::int64_t>(value << unused_bits) >> unused_bits;
}

// The stack machine of a pickle, without any opcode that reaches out of it.
class Machine {
 public:
  Machine(ByteSource& source, const PickleLimits& limits) : window_(source), limits_(limits) {}

  Result<Pickle> Run() {
    while (!is_stopped_) {
      opcode_offset_ = window_.offset;
      ORRERY_TRY(const std::string_view byte, window_.Take(1));
      ORRERY_TRY_STATUS(Step(static_cast<std::uint8_t>(byte[0])));
    }
    if (stack_.empty()) {
      return Wrong("the pickle holds nothing");
    }
    return Pickle{.data = std::move(data_), .root = stack_.back()};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(std::string_view what) const {
    return Fail(Error::Kind::kInvalidInput, fmt::format("byte {}: {}", opcode_offset_, what));
  }

  // The opcodes that only make data, by the names of Python's pickletools.
  // NOLINTNEXTLINE(readability-function-size): one line for each opcode
  Status Step(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        return CheckProtocol();
      case 0x95:  // FRAME: advice on how much to read at once
        return window_.Take(8).map([](std::string_view) {});
      case '.':  // STOP
        is_stopped_ = true;
        return {};
      case '(':  // MARK
        return Mark();
      case '0':  // POP
        return Pop();
      case '1':  // POP_MARK
        return Collect(nullptr);
      case '2':  // DUP
        return stack_.empty() ? Status(Underflow()) : Push(stack_.back());
      case 'N':  // NONE
        return Push({});
      case 0x88:  // NEWTRUE
        return Push({Kind::kBool, 1});
      case 0x89:  // NEWFALSE
        return Push({Kind::kBool, 0});
      case 'J':  // BININT
        return PushInteger(4, true);
      case 'K':  // BININT1
        return PushInteger(1, false);
      case 'M':  // BININT2
        return PushInteger(2, false);
      case 0x8a:  // LONG1
        return PushLong(1);
      case 0x8b:  // LONG4
        return PushLong(4);
      case 'G':  // BINFLOAT; no number of a snapshot is one
        ORRERY_TRY_STATUS(window_.Take(8).map([](std::string_view) {}));
        return Push({Kind::kFloat, 0});
      case 0x8c:  // SHORT_BINUNICODE
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
        return PushText(1);
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        return PushText(4);
      case 0x8d:  // BINUNICODE8
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return PushText(8);
      case ']':  // EMPTY_LIST
      case ')':  // EMPTY_TUPLE
        return Push(data_.NewContainer(Kind::kList));
      case '}':  // EMPTY_DICT
        return Push(data_.NewContainer(Kind::kDict));
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        return PushTuple(opcode - 0x84U);
      case 'l':  // LIST
      case 't':  // TUPLE
        return PushMarked(Kind::kList);
      case 'd':  // DICT
        return PushMarked(Kind::kDict);
      case 'a':  // APPEND
        return MoveInto(Kind::kList, 1);
      case 's':  // SETITEM
        return MoveInto(Kind::kDict, 2);
      case 'e':  // APPENDS
        return MoveMarkedInto(Kind::kList);
      case 'u':  // SETITEMS
        return MoveMarkedInto(Kind::kDict);
      case 0x94:  // MEMOIZE
        return Memoize(0);
      case 'q':  // BINPUT
        return Memoize(1);
      case 'r':  // LONG_BINPUT
        return Memoize(4);
      case 'h':  // BINGET
        return PushMemo(1);
      case 'j':  // LONG_BINGET
        return PushMemo(4);
      default:
        return Reject(opcode);
    }
  }

  Status Reject(std::uint8_t opcode) const {
    if (const auto name = LookUp(kCallingOpcodes, opcode)) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("byte {}: the pickle tells Python to import or call something "
                              "(opcode {}), which Orrery never does; a memory snapshot holds "
                              "plain data",
                              opcode_offset_, *name));
    }
    return Fail(Error::Kind::kUnsupported,
                fmt::format("byte {}: opcode {:#04x} does not belong in a memory snapshot",
                            opcode_offset_, opcode));
  }

  Status CheckProtocol() {
    ORRERY_TRY(const std::string_view byte, window_.Take(1));
    const auto protocol = static_cast<std::uint8_t>(byte[0]);
    if (protocol < kFirstProtocol || protocol > kLastProtocol) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("a pickle of protocol {}; Orrery reads {} to {}", protocol,
                              kFirstProtocol, kLastProtocol));
    }
    return {};
  }

  Status Push(PickleValue value) {
    if (++num_values_ > limits_.max_values) {
      return Fail(Error::Kind::kLimit, fmt::format("byte {}: the pickle holds more than {} values",
                                                   opcode_offset_, limits_.max_values));
    }
    stack_.push_back(value);
    return {};
  }

  Status Mark() {
    if (marks_.size() >= limits_.max_depth) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("byte {}: the pickle is nested deeper than {} levels", opcode_offset_,
                              limits_.max_depth));
    }
    marks_.push_back(stack_.size());
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> Underflow() const {
    return Wrong("the pickle uses a value that it never made");
  }

  // Returns the number of values that may be popped: those above the last mark.
  [[nodiscard]] std::size_t NumFree() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }

  Status Pop() {
    if (NumFree() > 0) {
      stack_.pop_back();
      return {};
    }
    if (marks_.empty()) {
      return Underflow();
    }
    marks_.pop_back();
    return {};
  }

  // Moves everything above the last mark to the end of `items`, or away.
  Status Collect(std::vector<PickleValue>* items) {
    if (marks_.empty()) {
      return Wrong("the pickle ends a container that it never began");
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    marks_.pop_back();
    if (items != nullptr) {
      items->insert(items->end(), begin, stack_.end());
    }
    stack_.erase(begin, stack_.end());
    return {};
  }

  Status PushInteger(std::size_t num_bytes, bool is_signed) {
    ORRERY_TRY(const std::string_view bytes, window_.Take(num_bytes));
    return Push(data_.NewInteger(is_signed ? SignedLittleEndian(bytes)
                                           : static_cast<std::int64_t>(LittleEndian(bytes))));
  }

  Status PushLong(std::size_t length_bytes) {
    ORRERY_TRY(const std::string_view bytes, TakeText(length_bytes));
    // Bytes above the eighth may only repeat the sign, or be the zero above an unsigned number of
    // 64 bits: PyTorch writes a line that is not known, -1, as 2^64 - 1.
    const std::string_view above = bytes.substr(std::min<std::size_t>(bytes.size(), 8));
    const bool is_negative = !above.empty() && (static_cast<unsigned char>(bytes[7]) & 0x80) != 0;
    const bool repeats_sign =
        is_negative && above.find_first_not_of('\xff') == std::string_view::npos;
    if (!repeats_sign && above.find_first_not_of('\0') != std::string_view::npos) {
      return Wrong("an integer of more than 64 bits");
    }
    return Push(data_.NewInteger(SignedLittleEndian(bytes.substr(0, 8))));
  }

  Status PushText(std::size_t length_bytes) {
    ORRERY_TRY(const std::string_view text, TakeText(length_bytes));
    return Push(data_.NewText(text));
  }

  Result<std::string_view> TakeText(std::size_t length_bytes) {
    ORRERY_TRY(const std::string_view bytes, window_.Take(length_bytes));
    const std::uint64_t length = LittleEndian(bytes);
    if (length > limits_.max_text_bytes) {
      return Fail(Error::Kind::kLimit, fmt::format("byte {}: a text of {} bytes, more than {}",
                                                   opcode_offset_, length, limits_.max_text_bytes));
    }
    return window_.Take(static_cast<std::size_t>(length));
  }

  Status PushTuple(std::size_t count) {
    if (NumFree() < count) {
      return Underflow();
    }
    marks_.push_back(stack_.size() - count);
    return PushMarked(Kind::kList);
  }

  Status PushMarked(Kind kind) {
    const PickleValue container = data_.NewContainer(kind);
    ORRERY_TRY_STATUS(Collect(&data_.Items(container)));
    ORRERY_TRY_STATUS(CheckPairs(container));
    return Push(container);
  }

  [[nodiscard]] Status CheckPairs(PickleValue container) {
    if (container.kind() == Kind::kDict && data_.Items(container).size() % 2 != 0) {
      return Wrong("a key without a value");
    }
    return {};
  }

  Status MoveInto(Kind kind, std::size_t count) {
    if (NumFree() < count + 1) {
      return Underflow();
    }
    marks_.push_back(stack_.size() - count);
    return MoveMarkedInto(kind);
  }

  Status MoveMarkedInto(Kind kind) {
    if (marks_.empty() || marks_.back() == 0) {
      return Underflow();
    }
    const PickleValue container = stack_[marks_.back() - 1];
    if (container.kind() != kind) {
      return Wrong("an element for a value that is no container");
    }
    ORRERY_TRY_STATUS(Collect(&data_.Items(container)));
    return CheckPairs(container);
  }

  // Under a number of so many bytes, or the next one.
  Status Memoize(std::size_t num_bytes) {
    ORRERY_TRY(const std::string_view bytes, window_.Take(num_bytes));
    if (NumFree() == 0) {
      return Underflow();
    }
    memo_[num_bytes == 0 ? memo_.size() : LittleEndian(bytes)] = stack_.back();
    return {};
  }

  Status PushMemo(std::size_t num_bytes) {
    ORRERY_TRY(const std::string_view bytes, window_.Take(num_bytes));
    const auto known = memo_.find(LittleEndian(bytes));
    return known == memo_.end() ? Status(Underflow()) : Push(known->second);
  }

  ByteWindow window_;
  PickleLimits limits_;
  PickleData data_;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  tsl::robin_map<std::uint64_t, PickleValue> memo_;
  std::uint64_t num_values_ = 0;
  std::int64_t opcode_offset_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

Result<Pickle> ReadPickle(ByteSource& source, const PickleLimits& limits) {
  return Machine(source, limits).Run();
}

}  // namespace orrery::ingest::torch_snapshot
