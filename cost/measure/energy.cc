#include "cost/measure/energy.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>

#include "compiler/base/error.h"
#include "cost/measure/statistics.h"

namespace msc::cost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kZones = "/sys/class/powercap";

std::optional<std::uint64_t> ReadNumber(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// Returns whether a zone is a whole package: "intel-rapl:0", also on AMD CPUs. Parts of a package
/// have a second colon.
bool IsWhole(const std::string& name) {
  return name.starts_with("intel-rapl:") && std::count(name.begin(), name.end(), ':') == 1;
}

}  // namespace

Result<EnergyMeter> EnergyMeter::Open(const std::string& root) {
  std::vector<std::string> zones;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root + kZones, none)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "name"), name);
    // Other zones are the whole system, which includes the packages.
    if (IsWhole(entry.path().filename()) && name.starts_with("package")) {
      zones.push_back(entry.path().string());
    }
  }
  if (zones.empty()) {
    return Failure{FailureKind::kUnsupported,
                   "energy cannot be read: the kernel shows no package under " +
                       std::string(kZones) + ", as on most virtual machines"};
  }
  std::sort(zones.begin(), zones.end());
  EnergyMeter meter;
  for (const std::string& zone : zones) {
    const std::string file = zone + "/energy_uj";
    const auto now = ReadNumber(file);
    if (!now) {
      return Failure{FailureKind::kUnsupported,
                     "energy cannot be read: '" + file +
                         "' is not readable; on most systems root must allow it"};
    }
    // Without the range, nobody can say how much a counter counted before it started again.
    const auto range = ReadNumber(zone + "/max_energy_range_uj");
    if (!range) {
      return Failure{
          FailureKind::kUnsupported,
          "energy cannot be read: '" + zone + "/max_energy_range_uj' is missing or not readable"};
    }
    meter.packages_.push_back({.file = file, .range = *range, .last = *now});
  }
  return meter;
}

double EnergyMeter::Joules() {
  for (Package& package : packages_) {
    const auto now = ReadNumber(package.file);
    if (!now) throw SystemError("cannot read '" + package.file + "'", EIO);
    const bool wrapped = *now < package.last;
    microjoules_ +=
        static_cast<double>(wrapped ? package.range - package.last + *now : *now - package.last);
    package.last = *now;
  }
  return microjoules_ * 1e-6;
}

std::vector<Energy> MeasureEnergy(const Call& reference, std::span<const Call> candidates,
                                  const EnergyProbe& probe) {
  constexpr int kRounds = 5;
  constexpr std::chrono::milliseconds kWindow{200};
  std::vector<const Call*> sides = {&reference};
  for (const Call& candidate : candidates) sides.push_back(&candidate);
  std::vector<std::vector<double>> joules(sides.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      // Every other round runs backwards, so that a drift of the machine affects all sides alike.
      const std::size_t side = round % 2 == 0 ? i : sides.size() - 1 - i;
      const auto end = probe.now() + kWindow;
      const double before = probe.joules();
      std::int64_t calls = 0;
      do {
        (*sides[side])();
        ++calls;
      } while (probe.now() < end);
      joules[side].push_back((probe.joules() - before) / static_cast<double>(calls));
      Check(joules[side].back() > 0, "counters of energy move on within 200 ms");
    }
  }
  std::vector<Energy> results;
  for (std::size_t side = 1; side < sides.size(); ++side) {
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
      const auto at = static_cast<std::size_t>(round);
      // Both sides of a ratio are from one round, so slow drift cancels out.
      ratios.push_back(joules[side][at] / joules[0][at]);
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    results.push_back({.joules = Median(joules[side]),
                       .reference_joules = Median(joules[0]),
                       .ratio = Median(ratios),
                       .ratio_low = *low,
                       .ratio_high = *high});
  }
  return results;
}

std::vector<Latency> MeasureRepeats(const Call& reference, std::span<const Call> candidates,
                                    const LatencyOptions& options, std::int64_t repeats,
                                    const Probe& probe, const std::optional<EnergyProbe>& energy) {
  std::vector<std::vector<Latency>> measured(candidates.size());
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    std::vector<Latency> latencies = MeasureTogether(reference, candidates, options, probe);
    if (energy) {
      const std::vector<Energy> energies = MeasureEnergy(reference, candidates, *energy);
      for (std::size_t i = 0; i < latencies.size(); ++i) latencies[i].energy = energies[i];
    }
    for (std::size_t i = 0; i < latencies.size(); ++i) measured[i].push_back(latencies[i]);
  }
  std::vector<Latency> combined;
  combined.reserve(measured.size());
  for (const std::vector<Latency>& one : measured) combined.push_back(CombineLatencies(one));
  return combined;
}

}  // namespace msc::cost
