// A replay for Python.
#pragma once

#include <string>
#include <vector>

namespace hipscope {

/// Make one replay in a child of this process and wait for it without the interpreter's lock; several threads may do so at
/// once. `words` are the options of hipscope-replay; result.json is in the folder that they name. A signal whose Python
/// handler raises ends the child. Throws std::runtime_error.
void replay_in_child(std::vector<std::string> words);

}  // namespace hipscope
