// A replay in a child of the calling process, for callers that look after it themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace hipscope {

/// One replay that has been started; several threads may have one each at once. Destroying it ends its child.
class PendingReplay {
public:
    /// `words` are the options of hipscope-replay; result.json is in the folder that they name. Throws std::runtime_error.
    explicit PendingReplay(std::vector<std::string> words);
    ~PendingReplay();
    PendingReplay(const PendingReplay&) = delete;
    PendingReplay& operator=(const PendingReplay&) = delete;

    /// True when it has ended, after `milliseconds` at most; false while it runs. Throws std::runtime_error when it ended
    /// without a result.
    bool wait(int milliseconds);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hipscope
