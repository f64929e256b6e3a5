#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <dlfcn.h>

/// Reads the Python stack of threads. The interpreter's functions are found by name in the process,
/// so that nothing is built against one version of it. Must not be called in callbacks of the
/// driver: it waits for Python's lock, which a thread may hold that waits for the driver.
class PythonStack {
 public:
  /// Returns true if the process has an interpreter with all these functions.
  bool Find() {
    return Find("Py_IsInitialized", is_initialized_) &&
           Find("PyGILState_GetThisThreadState", state_of_thread_) &&
           Find("PyGILState_Ensure", lock_) && Find("PyGILState_Release", unlock_) &&
           Find("PyEval_GetFrame", frame_) && Find("PyFrame_GetBack", back_) &&
           Find("PyFrame_GetCode", code_) && Find("PyFrame_GetLineNumber", line_) &&
           Find("PyObject_GetAttrString", attribute_) && Find("PyUnicode_AsUTF8", text_) &&
           Find("PyErr_Clear", clear_) && Find("Py_IncRef", keep_) && Find("Py_DecRef", release_);
  }

  /// At most `most` frames of the calling thread, the innermost first, each "path/train.py:17
  /// step"; none for a thread that Python does not know.
  std::vector<std::string> OfThisThread(std::size_t most) const {
    std::vector<std::string> frames;
    if (is_initialized_() == 0 || state_of_thread_() == nullptr) {
      return frames;
    }
    const int before = lock_();
    void* frame = frame_();
    if (frame != nullptr) {
      keep_(frame);
    }
    while (frame != nullptr && frames.size() < most) {
      frames.push_back(TextOf(frame));
      void* const outer = back_(frame);
      release_(frame);
      frame = outer;
    }
    if (frame != nullptr) {
      release_(frame);
    }
    unlock_(before);
    return frames;
  }

 private:
  template <typename Function>
  static bool Find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }

  std::string TextOf(void* frame) const {
    void* const code = code_(frame);
    const std::string text = Attribute(code, "co_filename") + ":" + std::to_string(line_(frame)) +
                             " " + Attribute(code, "co_name");
    release_(code);
    return text;
  }

  std::string Attribute(void* code, const char* name) const {
    void* const value = attribute_(code, name);
    const char* const text = value == nullptr ? nullptr : text_(value);
    const std::string found = text == nullptr ? "?" : text;
    if (text == nullptr) {
      clear_();
    }
    if (value != nullptr) {
      release_(value);
    }
    return found;
  }

  int (*is_initialized_)() = nullptr;
  void* (*state_of_thread_)() = nullptr;
  int (*lock_)() = nullptr;
  void (*unlock_)(int) = nullptr;
  void* (*frame_)() = nullptr;
  void* (*back_)(void*) = nullptr;
  void* (*code_)(void*) = nullptr;
  int (*line_)(void*) = nullptr;
  void* (*attribute_)(void*, const char*) = nullptr;
  const char* (*text_)(void*) = nullptr;
  void (*clear_)() = nullptr;
  void (*keep_)(void*) = nullptr;
  void (*release_)(void*) = nullptr;
};
