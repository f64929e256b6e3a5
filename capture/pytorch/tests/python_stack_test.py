#!/usr/bin/env python3
"""Tests of hooks/python_stack.h: a library that asks where its caller is, called as PyTorch is, without Python's lock."""

import ctypes
import inspect
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

_HOOKS = pathlib.Path(__file__).resolve().parents[1] / "hooks"

_LIBRARY = r"""
#include "python_stack.h"
#include <cstring>
#include <thread>

static PythonStack stack;

extern "C" int find() { return stack.Find() ? 1 : 0; }

extern "C" int ask(char* out, unsigned long bytes, unsigned long most) {
  std::string text;
  const auto frames = stack.OfThisThread(most);
  for (const std::string& frame : frames) text += frame + "\n";
  std::strncpy(out, text.c_str(), bytes - 1);
  return static_cast<int>(frames.size());
}

extern "C" int ask_on_a_thread_of_its_own() {
  int count = -1;
  std::thread([&] { count = static_cast<int>(stack.OfThisThread(8).size()); }).join();
  return count;
}
"""


@unittest.skipUnless(shutil.which("g++"), "needs g++")
class PythonStackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = pathlib.Path(cls.folder.name) / "asks.cc"
        source.write_text(_LIBRARY)
        built = source.with_suffix(".so")
        subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-pthread", f"-I{_HOOKS}", "-o", built, source], check=True)
        cls.library = ctypes.CDLL(str(built))  # releases the lock around calls
        assert cls.library.find() == 1

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ask(self, most=64):
        text = ctypes.create_string_buffer(1 << 16)
        count = self.library.ask(text, len(text), most)
        frames = text.value.decode().splitlines()
        self.assertEqual(len(frames), count)
        return frames

    def test_frames_come_from_the_innermost_out_with_file_line_and_name(self):
        def inner():
            return self.ask(), inspect.currentframe().f_lineno

        def outer():
            return inner()
        frames, line = outer()
        self.assertIn(f"{__file__}:", frames[0])
        self.assertTrue(frames[0].endswith(" ask"))
        self.assertEqual(frames[1], f"{__file__}:{line} inner")
        self.assertTrue(frames[2].endswith(" outer"))

    def test_only_so_many_are_told(self):
        def deep(depth):
            return self.ask(5) if depth == 0 else deep(depth - 1)
        frames = deep(30)
        self.assertEqual(len(frames), 5)
        self.assertTrue(frames[0].endswith(" ask"))

    def test_a_thread_that_python_does_not_know_has_none(self):
        self.assertEqual(self.library.ask_on_a_thread_of_its_own(), 0)

    def test_threads_of_python_that_ask_at_once_see_their_own(self):
        found = {}

        def work(name):
            for _ in range(200):
                found.setdefault(name, set()).add(tuple(frame.split()[-1] for frame in self.ask())[:2])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {number: {("ask", "work")} for number in range(4)})


if __name__ == "__main__":
    unittest.main()
