// What the files with graph functions share.
#pragma once

#include "hip/api.hpp"

namespace hipscope {

/// `graph` when it is one, or one that is still being recorded; nullptr otherwise.
Graph* known_graph(Runtime& runtime, Graph* graph);
/// True when `node` belongs to a known graph (or part of one).
bool alive(Runtime& runtime, const GraphNode* node);

}  // namespace hipscope
