#pragma once

#include <string>
#include <vector>

#include "gym/app/bench_rows.h"

namespace msc::gym {

/// What stands above the table.
struct BenchTitle {
  std::string model;
  std::int64_t batch = 1;
  int threads = 1;
  double flops = 0;  ///< of the uncompressed model
};

void PrintTable(const BenchTitle& title, const BenchSetup& setup,
                const std::vector<BenchRow>& rows);
/// One JSON object; `profiles`, where given, has the medians of a row's steps at its place, and
/// what PrintParts shows is there by variant.
void PrintJson(const BenchTitle& title, const BenchSetup& setup, const std::vector<BenchRow>& rows,
               const TargetRegistry& targets, const std::vector<std::vector<StepTime>>& profiles);
/// Time, GFLOP/s and share of the roof of every step.
void PrintProfile(const BenchRow& row, const std::vector<StepTime>& times, const cost::Roof& roof);

/// Rows of one variant side by side: each part that their steps have in common, and who is fastest.
/// A row of one step, which is all or nothing, is left out.
void PrintParts(const std::vector<BenchRow>& rows,
                const std::vector<std::vector<StepTime>>& profiles);

}  // namespace msc::gym
