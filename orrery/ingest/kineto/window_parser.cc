#include "orrery/ingest/kineto/window_parser.h"

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/ingest/kineto/row_builder.h"

// On-demand parsing is compiled for the build target, so on x86-64 this file is built for
// x86-64-v3 (see format.cmake); elsewhere the target's vectors are used anyway.

namespace orrery::ingest::kineto {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kFrame = 2 + simdjson::SIMDJSON_PADDING;

std::string_view WithoutTrailingSpace(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \n\r\t") + 1);
}

// The name of a field, with its quotes.
std::string_view QuotedKey(const ondemand::field& field) {
  const char* const begin = field.key().raw();
  const char* end = begin;
  while (*end != '"') {
    end += *end == '\\' ? 2 : 1;
  }
  return {begin - 1, static_cast<std::size_t>(end - begin) + 2};
}

std::string_view Inside(std::string_view quoted) {
  return quoted.substr(1, quoted.size() - 2);
}

// The whole text of a value; empty if it is broken.
std::string_view ValueText(ondemand::value& value) {
  const std::string_view token = value.raw_json_token();
  std::string_view text;
  if (token.front() == '[' || token.front() == '{') {
    return simdjson::to_json_string(value).get(text) == simdjson::SUCCESS
               ? WithoutTrailingSpace(text)
               : std::string_view();
  }
  // The on-demand parser takes any token for a value; a bracket or comma means there is none.
  const bool is_value = std::string_view("]},:").find(token.front()) == std::string_view::npos;
  return is_value ? WithoutTrailingSpace(token) : std::string_view();
}

using Member = std::string_view EventTokens::*;

Member MemberOfTwoLetters(std::string_view key) {
  return key == "ph"   ? &EventTokens::phase
         : key == "ts" ? &EventTokens::time
         : key == "id" ? &EventTokens::id
                       : nullptr;
}

Member MemberOfThreeLetters(std::string_view key) {
  return key == "cat"   ? &EventTokens::category
         : key == "pid" ? &EventTokens::process
         : key == "tid" ? &EventTokens::thread
         : key == "dur" ? &EventTokens::duration
                        : nullptr;
}

// Returns the member for a field of an event; null for "args" and unknown fields.
Member FindMember(std::string_view key) {
  switch (key.size()) {
    case 2:
      return MemberOfTwoLetters(key);
    case 3:
      return MemberOfThreeLetters(key);
    case 4:
      return key == "name" ? &EventTokens::name : nullptr;
    default:
      return nullptr;
  }
}

// Returns false where the text is not JSON.
bool ReadArgs(ondemand::value& value, EventTokens& event) {
  if (value.raw_json_token().front() != '{') {
    const std::string_view text = ValueText(value);
    event.args_are_not_an_object = text != "null";
    return !text.empty();
  }
  ondemand::object args;
  if (value.get_object().get(args) != simdjson::SUCCESS) {
    return false;
  }
  for (auto entry : args) {
    ondemand::field field;
    if (std::move(entry).get(field) != simdjson::SUCCESS) {
      return false;
    }
    const std::string_view key = QuotedKey(field);
    const std::string_view text = ValueText(field.value());
    if (text.empty()) {
      return false;
    }
    const ArgKey known = FindArgKey(Inside(key));
    if (known != ArgKey::kNone) {
      event.SetArg(known, text);
    } else {
      event.AddExtra(key, text);
    }
  }
  return true;
}

bool ReadField(ondemand::field& field, EventTokens& event) {
  const std::string_view key = Inside(QuotedKey(field));
  if (key == "args") {
    return ReadArgs(field.value(), event);
  }
  const std::string_view text = ValueText(field.value());
  if (const Member member = FindMember(key)) {
    event.*member = text;
  }
  return !text.empty();
}

bool ReadEvent(ondemand::value& element, EventTokens& event) {
  event.Clear();
  if (element.raw_json_token().front() != '{') {
    return !ValueText(element).empty();
  }
  ondemand::object object;
  if (element.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (auto entry : object) {
    ondemand::field field;
    if (std::move(entry).get(field) != simdjson::SUCCESS || !ReadField(field, event)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Window::Window(std::size_t capacity)
    : buffer_(std::make_unique_for_overwrite<char[]>(capacity + kFrame)), capacity_(capacity) {
  buffer_[0] = '[';
}

Window::Window(std::string_view events) : Window(events.size()) {
  events.copy(text(), events.size());
  Close(events.size());
}

void Window::Grow(std::size_t capacity) {
  auto larger = std::make_unique_for_overwrite<char[]>(capacity + kFrame);
  std::memcpy(larger.get(), buffer_.get(), capacity_ + 1);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

void Window::Close(std::size_t size) {
  size_ = size;
  buffer_[1 + size] = ']';
  std::memset(buffer_.get() + size + 2, ' ', simdjson::SIMDJSON_PADDING);
}

struct WindowParser::State {
  ondemand::parser parser;
  EventTokens event;
};

WindowParser::WindowParser() : state_(std::make_unique<State>()) {}

WindowParser::~WindowParser() = default;
WindowParser::WindowParser(WindowParser&&) noexcept = default;
WindowParser& WindowParser::operator=(WindowParser&&) noexcept = default;

WindowParser::Parsed WindowParser::Parse(Window& window, Chunk& chunk) {
  constexpr Parsed kBroken{};
  const std::size_t length = window.size_ + 2;
  ondemand::document document;
  ondemand::array events;
  if (state_->parser
              .iterate(simdjson::padded_string_view(window.buffer_.get(), length,
                                                    length + simdjson::SIMDJSON_PADDING))
              .get(document) != simdjson::SUCCESS ||
      document.get_array().get(events) != simdjson::SUCCESS) {
    return kBroken;
  }
  RowBuilder rows(chunk);
  for (auto entry : events) {
    ondemand::value element;
    if (std::move(entry).get(element) != simdjson::SUCCESS || !ReadEvent(element, state_->event)) {
      return kBroken;
    }
    rows.Add(state_->event);
  }
  // Beyond the list's end there is nothing when its `]` is the one that we put there.
  const char* next = nullptr;
  if (document.current_location().get(next) != simdjson::SUCCESS ||
      next >= window.buffer_.get() + length) {
    return {.outcome = Outcome::kWhole, .list_end = window.size_};
  }
  while (*--next != ']') {
  }
  return {.outcome = Outcome::kListEnds,
          .list_end = static_cast<std::size_t>(next - window.text())};
}

}  // namespace orrery::ingest::kineto
