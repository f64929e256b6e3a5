#include "orrery/export/torch_snapshot/pickle_writer.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"

namespace orrery::exporting {
namespace {

// Names as in Python's pickletools.
constexpr char kProtocol = '\x80';
constexpr char kStop = '.';
constexpr char kMark = '(';
constexpr char kEmptyList = ']';
constexpr char kAppends = 'e';
constexpr char kEmptyDict = '}';
constexpr char kSetItems = 'u';
constexpr char kTuple2 = '\x86';
constexpr char kNewTrue = '\x88';
constexpr char kNewFalse = '\x89';
constexpr char kBinInt = 'J';
constexpr char kBinInt1 = 'K';
constexpr char kBinInt2 = 'M';
constexpr char kLong1 = '\x8a';
constexpr char kShortBinUnicode = '\x8c';
constexpr char kBinUnicode = 'X';
constexpr char kMemoize = '\x94';
constexpr char kBinGet = 'h';
constexpr char kLongBinGet = 'j';

// As Python does it: a reader's stack stays small however long a list is.
constexpr std::size_t kValuesAtATime = 1000;
constexpr std::size_t kFlushBytes = 1 << 16;

// Python refuses a text that is not UTF-8.
std::string Utf8Of(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const CodePoint character = FirstCodePoint(text);
    valid += character.is_valid ? text.substr(0, character.num_bytes) : kReplacementCharacter;
    text.remove_prefix(character.num_bytes);
  }
  return valid;
}

// As few bytes of two's complement as hold the value.
std::size_t NumBytes(std::int64_t value) {
  std::size_t num_bytes = 1;
  while (num_bytes < 8) {
    const std::int64_t half = std::int64_t{1} << (8 * num_bytes - 1);
    if (value >= -half && value < half) {
      break;
    }
    ++num_bytes;
  }
  return num_bytes;
}

}  // namespace

PickleWriter::PickleWriter(ByteSink& sink) : sink_(sink) {
  Put(kProtocol);
  Put('\x04');
}

void PickleWriter::BeginDict() {
  BeginValue();
  Put(kEmptyDict);
  open_.push_back({.is_list = false});
}

void PickleWriter::EndDict() {
  if (open_.back().num_values > 0) {
    Put(kSetItems);
  }
  open_.pop_back();
}

void PickleWriter::BeginList() {
  BeginValue();
  Put(kEmptyList);
  open_.push_back({.is_list = true});
}

PickleWriter::Reference PickleWriter::BeginSharedList() {
  BeginList();
  Put(kMemoize);
  return num_references_++;
}

void PickleWriter::EndList() {
  if (open_.back().num_values > 0) {
    Put(kAppends);
  }
  open_.pop_back();
}

void PickleWriter::Again(Reference list) {
  BeginValue();
  PutReference(list);
}

void PickleWriter::Text(std::string_view text) {
  BeginValue();
  const auto [known, is_new] = texts_.try_emplace(std::string(text), num_references_);
  if (!is_new) {
    PutReference(known->second);
    return;
  }
  const std::string valid = Utf8Of(text);
  const bool is_short = valid.size() <= std::numeric_limits<std::uint8_t>::max();
  Put(is_short ? kShortBinUnicode : kBinUnicode);
  PutLittleEndian(valid.size(), is_short ? 1 : 4);
  buffer_ += valid;
  Put(kMemoize);
  ++num_references_;
}

void PickleWriter::Integer(std::int64_t value) {
  BeginValue();
  PutInteger(value);
}

void PickleWriter::Bool(bool value) {
  BeginValue();
  Put(value ? kNewTrue : kNewFalse);
}

void PickleWriter::Pair(std::int64_t first, std::int64_t second) {
  BeginValue();
  PutInteger(first);
  PutInteger(second);
  Put(kTuple2);
}

void PickleWriter::Text(std::string_view key, std::string_view value) {
  Text(key);
  Text(value);
}

void PickleWriter::Integer(std::string_view key, std::int64_t value) {
  Text(key);
  Integer(value);
}

void PickleWriter::Bool(std::string_view key, bool value) {
  Text(key);
  Bool(value);
}

Status PickleWriter::Finish() {
  Put(kStop);
  Flush();
  return status_;
}

void PickleWriter::BeginValue() {
  if (buffer_.size() >= kFlushBytes) {
    Flush();
  }
  if (open_.empty()) {
    return;
  }
  Open& inside = open_.back();
  if (inside.num_values == 0) {
    Put(kMark);
  } else if (inside.is_list && inside.num_values % kValuesAtATime == 0) {
    Put(kAppends);
    Put(kMark);
  }
  ++inside.num_values;
}

void PickleWriter::PutInteger(std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint8_t>::max()) {
    Put(kBinInt1);
    PutLittleEndian(static_cast<std::uint64_t>(value), 1);
  } else if (value >= 0 && value <= std::numeric_limits<std::uint16_t>::max()) {
    Put(kBinInt2);
    PutLittleEndian(static_cast<std::uint64_t>(value), 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    Put(kBinInt);
    PutLittleEndian(static_cast<std::uint64_t>(value), 4);
  } else {
    const std::size_t num_bytes = NumBytes(value);
    Put(kLong1);
    PutLittleEndian(num_bytes, 1);
    PutLittleEndian(static_cast<std::uint64_t>(value), num_bytes);
  }
}

void PickleWriter::PutReference(Reference reference) {
  const bool is_short = reference <= std::numeric_limits<std::uint8_t>::max();
  Put(is_short ? kBinGet : kLongBinGet);
  PutLittleEndian(reference, is_short ? 1 : 4);
}

void PickleWriter::PutLittleEndian(std::uint64_t value, std::size_t num_bytes) {
  for (std::size_t i = 0; i < num_bytes; ++i) {
    Put(static_cast<char>(value >> (8 * i) & 0xFF));
  }
}

void PickleWriter::Flush() {
  if (status_) {
    status_ = sink_.Write(buffer_);
  }
  buffer_.clear();
}

}  // namespace orrery::exporting
