#include "gym/console/progress_line.h"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace msc::gym {
namespace {

constexpr std::chrono::seconds kLogInterval{5};

std::string_view KindOf(std::string_view text) {
  return text.substr(0, text.find_first_of(" ]"));
}

void WriteToStderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressLine::ProgressLine() : ProgressLine(WriteToStderr, ::isatty(STDERR_FILENO) == 1) {}

ProgressLine::ProgressLine(Write write, bool terminal)
    : write_(std::move(write)), terminal_(terminal) {}

ProgressLine::~ProgressLine() {
  Flush();
}

void ProgressLine::Flush() {
  if (std::exchange(open_, false)) write_("\n");
  if (!held_.empty()) write_(std::exchange(held_, {}) + "\n");
}

void ProgressLine::Show(const std::string& text) {
  if (text == last_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool new_kind = KindOf(text) != KindOf(last_);
  if (terminal_) {
    if (new_kind) Flush();
    // Return to the start, write, and clear the rest of the previous text.
    write_("\r" + text + "\x1b[K");
    open_ = true;
  } else {
    if (new_kind) Flush();
    held_ = text;
    if (new_kind || now - shown_ >= kLogInterval) {
      Flush();
      shown_ = now;
    }
  }
  last_ = text;
}

void ProgressLine::PrintLine(const std::string& text) {
  End();
  write_(text + "\n");
}

void ProgressLine::End() {
  Flush();
  last_.clear();
}

}  // namespace msc::gym
