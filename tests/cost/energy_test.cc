#include "cost/measure/energy.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc::cost {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class FakePowercap : public testing::Test {
 protected:
  FakePowercap() { std::filesystem::remove_all(root_); }
  ~FakePowercap() override { std::filesystem::remove_all(root_); }

  void Zone(const std::string& zone, const std::string& name, const std::string& uj,
            const std::string& range = "1000000") {
    const std::string folder = root_ + "/sys/class/powercap/" + zone;
    MakeFolders(folder);
    WriteFileAtomic(folder + "/name", name + "\n");
    if (!uj.empty()) WriteFileAtomic(folder + "/energy_uj", uj + "\n");
    if (!range.empty()) WriteFileAtomic(folder + "/max_energy_range_uj", range + "\n");
  }

  std::string root_ = testing::TempDir() + "/msc_powercap_" + std::to_string(::getpid());
};

TEST_F(FakePowercap, CountsEveryPackageOnceAndNothingElse) {
  Zone("intel-rapl:0", "package-0", "100");
  Zone("intel-rapl:1", "package-1", "200");
  Zone("intel-rapl:0:0", "core", "50");  // a part of the first
  Zone("intel-rapl:2", "psys", "1000");  // holds both
  Zone("intel-rapl-mmio:0", "package-0", "100");
  auto meter = EnergyMeter::Open(root_);
  ASSERT_TRUE(meter.ok()) << meter.failure().detail;
  EXPECT_EQ(meter.value().Joules(), 0);
  Zone("intel-rapl:0", "package-0", "500100");
  Zone("intel-rapl:1", "package-1", "250200");
  Zone("intel-rapl:0:0", "core", "90000");
  Zone("intel-rapl:2", "psys", "900000");
  EXPECT_DOUBLE_EQ(meter.value().Joules(), 0.75);
}

TEST_F(FakePowercap, GoesOnWhereACounterStartsAgain) {
  Zone("intel-rapl:0", "package-0", "999000");
  auto meter = EnergyMeter::Open(root_);
  Zone("intel-rapl:0", "package-0", "1000");
  EXPECT_DOUBLE_EQ(meter.value().Joules(), 0.002);
  Zone("intel-rapl:0", "package-0", "2000");
  EXPECT_DOUBLE_EQ(meter.value().Joules(), 0.003);
}

TEST_F(FakePowercap, SaysWhyThereIsNothingToRead) {
  EXPECT_EQ(EnergyMeter::Open(root_).failure().detail,
            "energy cannot be read: the kernel shows no package under /sys/class/powercap, as on "
            "most virtual machines");
  Zone("intel-rapl:2", "psys", "1000");
  EXPECT_FALSE(EnergyMeter::Open(root_).ok());
  Zone("intel-rapl:0", "package-0", "");
  EXPECT_EQ(EnergyMeter::Open(root_).failure().detail,
            "energy cannot be read: '" + root_ +
                "/sys/class/powercap/intel-rapl:0/energy_uj' is not readable; on most systems root "
                "must allow it");
}

TEST_F(FakePowercap, IsUnsupportedWhereNobodySaysWhenACounterStartsAgain) {
  Zone("intel-rapl:0", "package-0", "100", "");
  EXPECT_EQ(EnergyMeter::Open(root_).failure().detail,
            "energy cannot be read: '" + root_ +
                "/sys/class/powercap/intel-rapl:0/max_energy_range_uj' is missing or not readable");
}

TEST_F(FakePowercap, ThrowsWhereACounterGoesAway) {
  Zone("intel-rapl:0", "package-0", "1");
  auto meter = EnergyMeter::Open(root_);
  std::filesystem::remove_all(root_);
  EXPECT_THROW((void)meter.value().Joules(), SystemError);
}

/// A machine whose sides take time and energy as they are told.
struct FakeMachine {
  nanoseconds time{0};
  double joules = 0;
  std::vector<int> windows;  ///< which side was called, each stretch once

  Call Side(int number, nanoseconds takes, double uses) {
    return [this, number, takes, uses] {
      if (windows.empty() || windows.back() != number) windows.push_back(number);
      time += takes;
      joules += uses;
    };
  }
  EnergyProbe Probe() {
    return {[this] { return time; }, [this] { return joules; }};
  }
};

TEST(MeasureEnergy, GivesJoulesACallAndTheirRatio) {
  FakeMachine machine;
  const Call reference = machine.Side(0, milliseconds(10), 0.5);
  const std::vector<Call> candidates = {machine.Side(1, milliseconds(3), 0.125),
                                        machine.Side(2, milliseconds(900), 2)};
  const std::vector<Energy> energies = MeasureEnergy(reference, candidates, machine.Probe());
  ASSERT_EQ(energies.size(), 2U);
  EXPECT_DOUBLE_EQ(energies[0].joules, 0.125);
  EXPECT_DOUBLE_EQ(energies[0].reference_joules, 0.5);
  EXPECT_DOUBLE_EQ(energies[0].ratio, 0.25);
  EXPECT_DOUBLE_EQ(energies[1].ratio, 4);
  EXPECT_EQ(machine.windows, (std::vector<int>{0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
}

TEST(MeasureEnergy, HasAnIntervalOverItsRounds) {
  FakeMachine machine;
  int calls = 0;
  const Call reference = machine.Side(0, milliseconds(300), 1);
  const std::vector<Call> candidates = {[&] {
    machine.time += milliseconds(300);
    machine.joules += ++calls;  // 1, 2, 3, 4, 5
  }};
  const Energy energy = MeasureEnergy(reference, candidates, machine.Probe()).at(0);
  EXPECT_DOUBLE_EQ(energy.ratio, 3);
  EXPECT_DOUBLE_EQ(energy.ratio_low, 1);
  EXPECT_DOUBLE_EQ(energy.ratio_high, 5);
}

TEST(MeasureRepeats, MeasuresEnergyInEachRepeatAsTime) {
  FakeMachine machine;
  const Call reference = machine.Side(0, milliseconds(10), 1);
  int measured = 0;
  const std::vector<Call> candidates = {[&] {
    machine.time += milliseconds(10);
    machine.joules += measured;
  }};
  const Probe probe = {.now = [&] { return machine.time; },
                       .waited = [] { return nanoseconds(0); },
                       .stolen = [] { return nanoseconds(0); },
                       .yardstick = [&] { machine.time += nanoseconds(10'000); }};
  const auto repeat = [&](std::int64_t repeats, const std::optional<EnergyProbe>& meter) {
    return MeasureRepeats(reference, candidates, {.min_rounds = 3, .max_rounds = 3}, repeats, probe,
                          meter)
        .at(0);
  };
  EXPECT_FALSE(repeat(3, std::nullopt).energy);
  // The candidate uses another amount in each repeat.
  std::int64_t last_window = 0;
  const EnergyProbe counting = {.now = probe.now, .joules = [&] {
                                  // 2 sides, 5 rounds, read before and after.
                                  measured = static_cast<int>(last_window++ / 20) * 2 + 2;
                                  return machine.joules;
                                }};
  const Latency latency = repeat(3, counting);
  ASSERT_TRUE(latency.energy);
  EXPECT_EQ(last_window, 60) << "three measurements of energy";
  EXPECT_DOUBLE_EQ(latency.energy->ratio, 4);
  EXPECT_DOUBLE_EQ(latency.energy->joules, 4);
  EXPECT_DOUBLE_EQ(latency.energy->ratio_low, 2);
  EXPECT_DOUBLE_EQ(latency.energy->ratio_high, 6);
  EXPECT_EQ(latency.rounds, 9);
}

TEST(MeasureEnergy, RefusesACounterThatStandsStill) {
  FakeMachine machine;
  const Call idle = machine.Side(0, milliseconds(10), 0);
  EXPECT_THROW((void)MeasureEnergy(idle, {&idle, 1}, machine.Probe()), InternalError);
}

}  // namespace
}  // namespace msc::cost
