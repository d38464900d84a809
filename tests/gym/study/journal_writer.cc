// journal_writer PATH: appends {"n":0}, {"n":1}, ... to a journal, going on where it ends, and
// writes each number to standard output once its record is on disk. Runs until it is killed.
#include <cstdio>
#include <exception>
#include <string>

#include <unistd.h>

#include "gym/study/journal.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    msc::gym::Journal journal{std::string(argv[1])};
    for (std::size_t n = journal.records().size();; ++n) {
      journal.Append("{\"n\":" + std::to_string(n) + "}");
      const std::string line = std::to_string(n) + "\n";
      if (::write(1, line.data(), line.size()) < 0) return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
