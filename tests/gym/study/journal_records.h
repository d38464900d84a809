#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "gym/study/journal.h"
#include "gym/study/scan.h"
#include "tests/gym/study/sim_file.h"

namespace msc::gym::testing {

/// A file name in a new folder.
inline std::string NewPath() {
  std::string folder = ::testing::TempDir() + "/journal_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw SystemError("cannot make '" + folder + "'");
  return folder + "/trials.journal";
}
inline std::string Json(std::size_t n) {
  return R"({"n":)" + std::to_string(n) + R"(,"value":)" + std::to_string(1.25 + double(n)) + "}";
}
inline std::string Payload(std::size_t n) {
  return R"({"seq":)" + std::to_string(n) + "," + Json(n).substr(1);
}
inline std::string Bytes(std::size_t records) {
  std::string bytes;
  for (std::size_t n = 0; n < records; ++n) bytes += JournalLine(n, Json(n));
  return bytes;
}
/// The payloads of records 0, 1, ... count - 1.
inline std::vector<std::string> Payloads(std::size_t count) {
  std::vector<std::string> payloads;
  for (std::size_t n = 0; n < count; ++n) payloads.push_back(Payload(n));
  return payloads;
}
inline SimDisk DiskOf(const std::string& bytes) {
  SimDisk disk;
  disk.written = bytes;
  disk.durable = bytes;
  return disk;
}
inline std::vector<std::string> Records(SimDisk& disk) {
  return Journal(std::make_unique<SimFile>(disk)).records();
}

}  // namespace msc::gym::testing
