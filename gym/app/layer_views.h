#pragma once

#include "gym/app/distill_print.h"
#include "gym/app/prune_print.h"
#include "gym/app/quantize_print.h"
#include "gym/app/track_print.h"
#include "gym/report/layer_page.h"

namespace msc::gym {

/// Build the page that shows the result of a tool (`--page`).
[[nodiscard]] LayerView ViewOf(const QuantizeReport& report);
[[nodiscard]] LayerView ViewOf(const PruneReport& report);
[[nodiscard]] LayerView ViewOf(const DistillReport& report);
[[nodiscard]] LayerView ViewOf(const TrackReport& report);

}  // namespace msc::gym
