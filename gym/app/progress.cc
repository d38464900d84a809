#include "gym/app/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include <unistd.h>

namespace msc::gym {
namespace {

constexpr std::chrono::seconds kLogInterval{5};

std::string_view KindOf(std::string_view text) {
  return text.substr(0, text.find_first_of(" ]"));
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  Flush();
}

void ProgressLine::Flush() {
  if (open_) std::fputc('\n', stderr);
  if (!held_.empty()) std::fprintf(stderr, "%s\n", held_.c_str());
  open_ = false;
  held_.clear();
}

void ProgressLine::Show(const std::string& text) {
  if (text == last_) return;
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    // Return to the start, write, and clear the rest of the previous text.
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    open_ = true;
  } else {
    const bool new_kind = KindOf(text) != KindOf(last_);
    if (new_kind) Flush();
    held_ = text;
    if (new_kind || now - shown_ >= kLogInterval) {
      Flush();
      shown_ = now;
    }
  }
  std::fflush(stderr);
  last_ = text;
}

void ProgressLine::Say(const std::string& text) {
  Flush();
  std::fprintf(stderr, "%s\n", text.c_str());
  last_.clear();
}

std::string FormatDuration(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<long long>(std::llround(std::max(0.0, duration.count())));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
                seconds % 60);
  return text.data();
}

}  // namespace msc::gym
