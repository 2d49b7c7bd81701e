// What other processes use as well: blocks of device memory (hipIpcGetMemHandle, hipIpcOpenMemHandle) and events
// (hipIpcGetEventHandle, hipIpcOpenEventHandle).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace hipscope {

/// Before a block ends: what other processes have of it is theirs alone from now on.
void end_sharing(std::uint64_t address);
/// True for a block that belongs to another process; hipIpcCloseMemHandle ends it here.
bool is_of_another_process(std::uint64_t address);

/// The state of an event of several processes, in a page that all of them have mapped. Records are numbered over all
/// processes; the last one is what the event stands for.
class SharedEvent {
public:
    /// nullptr when there is no memory for it.
    static std::unique_ptr<SharedEvent> create();
    /// That of another process, from a file that is open; takes the file. nullptr when it cannot be mapped.
    static std::unique_ptr<SharedEvent> open(int file, int owner, int owners_file);
    ~SharedEvent();
    SharedEvent(const SharedEvent&) = delete;
    SharedEvent& operator=(const SharedEvent&) = delete;

    std::uint64_t begin_record() { return page_->recorded.fetch_add(1) + 1; }
    [[nodiscard]] std::uint64_t last_record() const { return page_->recorded; }
    void reach(std::uint64_t ticket);
    [[nodiscard]] bool reached(std::uint64_t ticket) const { return page_->reached >= ticket; }

    [[nodiscard]] int file() const { return file_; }
    /// By which process, and as which file, others find it.
    [[nodiscard]] int owner() const { return owner_; }
    [[nodiscard]] int owners_file() const { return owners_file_; }

private:
    struct Page {
        std::atomic<std::uint64_t> recorded, reached;
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
    SharedEvent(int file, int owner, int owners_file, Page* page) : file_(file), owner_(owner), owners_file_(owners_file), page_(page) {}

    int file_, owner_, owners_file_;
    Page* page_;
};

}  // namespace hipscope
