#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"
#include "gym/study/journal_file.h"

namespace msc::gym::testing {

/// A disk that tests look into after the journal is gone: what was synced for certain, and what was
/// only written.
struct SimDisk {
  std::string durable;  ///< survives a power cut
  std::string written;  ///< what a process sees
  std::vector<std::string> torn;
  int operations = 0;  ///< writes, syncs and cuts so far
  /// The operation (from 1) that fails, and every later one while `stays` holds.
  int fail_at = 0;
  bool stays = false;
  int error = 28;           ///< ENOSPC
  std::size_t partial = 0;  ///< bytes of a failing write that still reach the file
  bool fail_cuts = false;   ///< whether cutting the file may fail too
};

class SimFile final : public JournalFile {
 public:
  explicit SimFile(SimDisk& disk) : disk_(disk) {}

  [[nodiscard]] std::string Path() const override { return "sim.journal"; }
  [[nodiscard]] std::string Read() override { return disk_.written; }
  void Write(std::uint64_t offset, std::string_view bytes) override {
    const bool fails = Fails();
    if (fails) bytes = bytes.substr(0, disk_.partial);
    Check(offset <= disk_.written.size(), "the journal leaves no hole");
    disk_.written.replace(offset, bytes.size(), bytes);
    if (fails) throw SystemError("cannot write 'sim.journal'", disk_.error);
  }
  void Truncate(std::uint64_t size) override {
    if (disk_.fail_cuts && Fails()) throw SystemError("cannot cut 'sim.journal'", disk_.error);
    disk_.written.resize(size);
  }
  void Sync() override {
    if (Fails()) throw SystemError("cannot sync 'sim.journal'", disk_.error);
    disk_.durable = disk_.written;
  }
  std::string KeepTorn(std::string_view bytes) override {
    disk_.torn.emplace_back(bytes);
    return "sim.journal.torn." + std::to_string(disk_.torn.size());
  }

 private:
  bool Fails() {
    ++disk_.operations;
    return disk_.fail_at > 0 &&
           (disk_.operations == disk_.fail_at || (disk_.stays && disk_.operations > disk_.fail_at));
  }
  SimDisk& disk_;
};

}  // namespace msc::gym::testing
