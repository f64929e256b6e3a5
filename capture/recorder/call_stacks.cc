#include "capture/recorder/call_stacks.h"

#include <algorithm>
#include <array>

#include <dlfcn.h>
#include <execinfo.h>

#include "capture/recorder/demangled.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

constexpr std::size_t kMaxOwnFrames = 16;

std::string HexOf(std::uintptr_t number) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[number % 16]);
    number /= 16;
  } while (number != 0);
  return "0x" + text;
}

std::string_view FileName(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

Dl_info PlaceOf(const void* address) {
  Dl_info place{};
  return dladdr(address, &place) == 0 ? Dl_info{} : place;
}

// A return address may already be in the next function.
Dl_info PlaceOfCall(void* return_address) {
  return PlaceOf(static_cast<char*>(return_address) - 1);
}

/// Returns true for the library that runs Python code: its frames say less than Python's own.
bool IsInterpreter(const Dl_info& place) {
  const std::string_view file = FileName(place.dli_fname);
  return file.starts_with("libpython") || file.starts_with("python");
}

}  // namespace

thread_local std::shared_ptr<const CallStacks::Frames> CallStacks::python_of_thread;

std::string FrameText(void* address) {
  const Dl_info place = PlaceOfCall(address);
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (place.dli_fbase == nullptr) {
    return HexOf(number);
  }
  const std::string module = std::string(FileName(place.dli_fname)) + "+" +
                             HexOf(number - reinterpret_cast<std::uintptr_t>(place.dli_fbase));
  return place.dli_sname == nullptr ? module : Demangled(place.dli_sname) + " (" + module + ")";
}

const void* CallStacks::OwnModule() {
  static const void* const base = PlaceOf(reinterpret_cast<void*>(&FrameText)).dli_fbase;
  return base;
}

CallStacks::CallStacks(Recorder& recorder, const void* own_module)
    : recorder_(recorder), own_module_(own_module) {
  // The first call loads a library, which must not happen inside a callback.
  std::array<void*, 1> none{};
  static_cast<void>(backtrace(none.data(), 1));
}

void CallStacks::SetPython(std::span<const std::string_view> frames) {
  if (frames.empty()) {
    python_of_thread.reset();
    return;
  }
  Frames key(frames.begin(),
             frames.begin() + static_cast<std::ptrdiff_t>(std::min(frames.size(), kMaxFrames)));
  const std::lock_guard lock(mutex_);
  auto& known = python_[key];
  if (known == nullptr) {
    known = std::make_shared<const Frames>(std::move(key));
  }
  python_of_thread = known;
}

std::uint64_t CallStacks::OfThisThread() {
  std::array<void*, kMaxFrames + kMaxOwnFrames> found{};
  const int count = backtrace(found.data(), static_cast<int>(found.size()));
  Addresses addresses(found.begin(), found.begin() + std::max(count, 0));
  const Frames* const python = python_of_thread.get();
  const std::pair key(std::move(addresses), python);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) {
      return known->second;
    }
  }
  const std::uint64_t number = Write(FramesOf(key.first, python));
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(key, number).first->second;
}

// Our own frames come first and are left out; those of the interpreter are replaced by Python's
// frames.
CallStacks::Frames CallStacks::FramesOf(const Addresses& addresses, const Frames* python) const {
  Frames frames;
  const auto is_ours = [&](void* address) { return PlaceOfCall(address).dli_fbase == own_module_; };
  // A sanitizer's own `backtrace` puts a frame of the sanitizer before ours.
  const bool is_intercepted =
      addresses.size() > 1 && !is_ours(addresses[0]) && is_ours(addresses[1]);
  bool is_own = true;
  for (void* const address : std::span(addresses).subspan(is_intercepted ? 1 : 0)) {
    const Dl_info place = PlaceOfCall(address);
    is_own = is_own && place.dli_fbase == own_module_;
    if (python != nullptr && IsInterpreter(place)) {
      break;
    }
    if (!is_own && frames.size() < kMaxFrames) {
      frames.push_back(FrameText(address));
    }
  }
  if (python != nullptr) {
    const std::size_t room = std::min(python->size(), kMaxFrames - frames.size());
    frames.insert(frames.end(), python->begin(),
                  python->begin() + static_cast<std::ptrdiff_t>(room));
  }
  return frames;
}

std::uint64_t CallStacks::Write(const Frames& frames) {
  const std::vector<std::string_view> texts(frames.begin(), frames.end());
  return texts.empty() ? 0 : recorder_.Stack(stream::codes::kCpp, texts);
}

}  // namespace orrery::capture
