#pragma once

#include "gym/app/track_verdict.h"

namespace msc::gym {

/// Prints the verdict, a row for each output of each stage, and one for each inner value.
void PrintTrackTable(const TrackReport& report);
void PrintTrackJson(const TrackReport& report);

}  // namespace msc::gym
