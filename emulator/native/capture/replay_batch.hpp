// Many replays from one process: each in a child of its own, several at a time.
#pragma once

namespace hipscope {

/// `hipscope-replay --batch [--stop] --jobs N OPTION...`: the options are those of all replays; standard input holds a JSON
/// list of groups, each a list of replays, each a list of more options. The replays of a group run one after the other, and
/// none after one that did not end well. At most N groups run at a time, begun in their order; with --stop no group is
/// begun after a replay that did not end well, but for those under the sanitizers. Every replay that ran leaves its result.json. A replay is a child of this
/// process, so it starts at once, and a crash ends it alone. Returns the exit status: 2 when a replay
/// could not be made at all. Throws std::runtime_error.
int replay_batch(int argc, char** argv);

}  // namespace hipscope
