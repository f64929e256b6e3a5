#include <fstream>
#include <iostream>
#include <string>

#include "tests/streams/memory_streams.h"
#include "tests/streams/time_streams.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_memory_streams FOLDER\n";
    return 2;
  }
  for (const auto& streams :
       {orrery::streams::AllMemoryStreams(), orrery::streams::AllTimeStreams()}) {
    for (const auto& [file, bytes] : streams) {
      std::ofstream out(std::string(argv[1]) + "/" + file, std::ios::binary);
      out << bytes;
      if (!out) {
        std::cerr << "cannot write " << file << "\n";
        return 1;
      }
    }
  }
  return 0;
}
