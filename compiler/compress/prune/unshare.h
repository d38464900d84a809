#pragma once

#include "compiler/ir/graph.h"

namespace msc {

/// Gives every node its own copy of a constant list of floats that several nodes read: a bias or
/// the factors of a channel, with one axis of more than one entry. Exporters store equal lists
/// once, and as one constant they would tie the channels of layers that have nothing else in
/// common. Constants with more axes stay shared: a layer that is applied twice is one layer.
///
/// Values keep their ids; copies of equal graphs get equal ids and names. Idempotent.
void UnshareLists(Graph& graph);

}  // namespace msc
