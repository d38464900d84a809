#include "compiler/compress/quantize/saturation.h"

#include <algorithm>
#include <cstddef>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr int kMaxActivation = 255;

bool Overflows(int sum) {
  return sum > 32767 || sum < -32768;
}

}  // namespace

PairSums CheckPairSums(std::span<const std::int8_t> levels,
                       std::span<const std::uint8_t> activations, std::int64_t channels,
                       std::int64_t taps) {
  const auto inputs = static_cast<std::size_t>(channels * taps);
  Check(inputs > 0 && levels.size() % inputs == 0 && activations.size() % inputs == 0,
        "weights and activations are rows of one length");
  const auto step = static_cast<std::size_t>(taps);
  std::int64_t pairs = 0;
  std::int64_t possible = 0;
  std::int64_t seen = 0;
  std::int64_t saturated = 0;
  for (std::size_t w = 0; w < levels.size(); w += inputs) {
    const auto row = levels.subspan(w, inputs);
    bool any = false;
    // Inputs lie channel by channel, so the same tap of the next channel is `step` further.
    for (std::size_t i = 0; i + step < inputs; ++i) {
      if (i / step % 2 != 0) continue;
      const int a = row[i];
      const int b = row[i + step];
      // The extreme sums have an activation of 0 at one sign of weights and 255 at the other.
      const int above = std::max(a, 0) + std::max(b, 0);
      const int below = std::min(a, 0) + std::min(b, 0);
      const bool can = Overflows(kMaxActivation * above) || Overflows(kMaxActivation * below);
      ++pairs;
      possible += can ? 1 : 0;
      any = any || can;
    }
    for (std::size_t x = 0; x < activations.size(); x += inputs) {
      ++seen;
      const auto values = activations.subspan(x, inputs);
      bool overflow = false;
      for (std::size_t i = 0; any && !overflow && i + step < inputs; ++i) {
        if (i / step % 2 != 0) continue;
        overflow = Overflows(row[i] * values[i] + row[i + step] * values[i + step]);
      }
      saturated += overflow ? 1 : 0;
    }
  }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return {.can_saturate = share(possible, pairs), .saturated = share(saturated, seen)};
}

}  // namespace msc
