// Device memory and events of other processes. A block that is to be shared moves into a file without a name; who has the handle finds the
// file through the owner's descriptor in /proc and maps it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "hip/api.hpp"
#include "hip/ipc.hpp"

namespace hipscope {
namespace {

using abi::Error;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMark = 0x3143504965706373;  // marks handles of this runtime
constexpr std::uint64_t kEventMark = 0x3145504965706373;
constexpr unsigned kLazyPeerAccess = 1;

/// hipIpcMemHandle_t, hipIpcEventHandle_t.
struct Handle {
    std::uint64_t mark;
    std::int32_t process, file;
    std::uint64_t inode, bytes;
    char unused[32];
};
static_assert(sizeof(Handle) == 64);

struct Shared {
    int file;
    std::uint64_t inode, size;  // in whole pages
};
struct Opened {
    std::uint64_t inode, bytes, size;
    int uses;
};
struct State {
    std::map<std::uint64_t, Shared> shared;  // blocks of ours, by start
    std::map<std::uint64_t, Opened> opened;  // blocks of others, by where they are here
};

/// Guarded by the lock of a Call.
State& state() {
    static auto* const the_state = new State;  // NOLINT: as long as the process
    return *the_state;
}

std::uint64_t whole_pages(std::uint64_t bytes) { return (std::max<std::uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage; }

/// Pages that hold only zeros take no memory in a file either.
bool copy_into(int file, const char* from, std::uint64_t size) {
    static constexpr char zeros[kPage] = {};
    for (std::uint64_t at = 0; at < size; at += kPage)
        if (std::memcmp(from + at, zeros, kPage) != 0 && pwrite(file, from + at, kPage, static_cast<off_t>(at)) != static_cast<ssize_t>(kPage)) return false;
    return true;
}

bool map_file(std::uint64_t address, std::uint64_t size, int file) {
    return mmap(pointer_to(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
}

void map_nothing(std::uint64_t address, std::uint64_t size) {
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(pointer_to(address), size, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) madvise(pointer_to(address), size, MADV_REMOVE);
}

/// The block's file; made at the first call. nullptr when there is no memory for it.
const Shared* share(const Allocation& block) {
    if (const auto known = state().shared.find(block.address); known != state().shared.end()) return &known->second;
    const std::uint64_t size = whole_pages(block.bytes);
    const int file = memfd_create("hipscope-shared", MFD_CLOEXEC);
    struct stat status {};
    const bool made = file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0 && fstat(file, &status) == 0 &&
                      copy_into(file, static_cast<const char*>(pointer_to(block.address)), size) && map_file(block.address, size, file);
    if (!made) {
        if (file >= 0) close(file);
        return nullptr;
    }
    return &(state().shared[block.address] = {file, status.st_ino, size});
}

/// The owner's file, -1 when it is gone or is not ours to open.
int open_file(const Handle& handle) {
    const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status {};
    if (file >= 0 && fstat(file, &status) == 0 && status.st_ino == handle.inode && static_cast<std::uint64_t>(status.st_size) == whole_pages(handle.bytes))
        return file;
    if (file >= 0) close(file);
    return -1;
}

}  // namespace

void end_sharing(std::uint64_t address) {
    const auto found = state().shared.find(address);
    if (found == state().shared.end()) return;
    map_nothing(address, found->second.size);
    close(found->second.file);
    state().shared.erase(found);
}

bool is_of_another_process(std::uint64_t address) { return state().opened.contains(address); }

std::unique_ptr<SharedEvent> SharedEvent::create() {
    const int file = memfd_create("hipscope-event", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, kPage) == 0) return open(file, getpid(), file);
    if (file >= 0) close(file);
    return nullptr;
}

std::unique_ptr<SharedEvent> SharedEvent::open(int file, int owner, int owners_file) {
    void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        close(file);
        return nullptr;
    }
    return std::unique_ptr<SharedEvent>(new SharedEvent(file, owner, owners_file, static_cast<Page*>(page)));
}

SharedEvent::~SharedEvent() {
    munmap(page_, kPage);
    close(file_);
}

void SharedEvent::reach(std::uint64_t ticket) {
    std::uint64_t known = page_->reached;
    while (known < ticket && !page_->reached.compare_exchange_weak(known, ticket)) {}
}

}  // namespace hipscope

using namespace hipscope;

HIPSCOPE_API Error hipIpcGetMemHandle(Handle* handle, void* pointer) {
    Call call;
    const Allocation* block = call->memory.find(address_of(pointer));
    if (handle == nullptr || block == nullptr || block->host_visible || is_of_another_process(block->address)) return fail(abi::error::invalid_value);
    const Shared* file = share(*block);
    if (file == nullptr) return fail(abi::error::out_of_memory);
    if (call->sanitizer) call->sanitizer->filled(pointer_to(block->address), block->bytes);  // another process may write it
    *handle = {kMark, getpid(), file->file, file->inode, block->bytes, {}};
    return abi::error::success;
}
/// The handle is passed by value. As with ROCm, a process cannot open its own.
HIPSCOPE_API Error hipIpcOpenMemHandle(void** pointer, Handle handle, unsigned flags) {
    Call call;
    if (pointer == nullptr || handle.mark != kMark || flags > kLazyPeerAccess) return fail(abi::error::invalid_value);
    if (handle.process == getpid()) return fail(abi::error::invalid_context);
    for (auto& [address, block] : state().opened)
        if (block.inode == handle.inode) {
            ++block.uses;
            *pointer = pointer_to(address);
            return abi::error::success;
        }
    const int file = open_file(handle);
    if (file < 0) return fail(abi::error::invalid_handle);
    const std::uint64_t size = whole_pages(handle.bytes);
    const std::uint64_t address = call->memory.reserve(size);
    const bool mapped = address != 0 && map_file(address, size, file);
    close(file);
    if (!mapped || !call->memory.put(address, handle.bytes)) {
        if (mapped) map_nothing(address, size);
        if (address != 0) call->memory.unreserve(address, size);
        return fail(abi::error::out_of_memory);
    }
    state().opened[address] = {handle.inode, handle.bytes, size, 1};
    call->appeared(address, true);
    *pointer = pointer_to(address);
    return abi::error::success;
}
HIPSCOPE_API Error hipIpcCloseMemHandle(void* pointer) {
    Call call;
    const auto found = state().opened.find(address_of(pointer));
    if (found == state().opened.end()) return fail(abi::error::invalid_value);
    wait_while(call.runtime, [&] { return !call->parked.empty(); });
    if (--found->second.uses > 0) return abi::error::success;
    const auto [address, block] = *found;
    call->disappears(address);
    call->memory.take(address);
    map_nothing(address, block.size);
    call->memory.unreserve(address, block.size);
    state().opened.erase(found);
    return abi::error::success;
}

HIPSCOPE_API Error hipIpcGetEventHandle(Handle* handle, Event* event) {
    Call call;
    if (handle == nullptr || !call->events.contains(event)) return fail(abi::error::invalid_value);
    if (!event->shared) return fail(abi::error::invalid_configuration);
    struct stat status {};
    if (fstat(event->shared->file(), &status) != 0) return fail(abi::error::invalid_value);
    *handle = {kEventMark, event->shared->owner(), event->shared->owners_file(), status.st_ino, kPage, {}};
    return abi::error::success;
}
/// The handle is passed by value. As with ROCm, a process cannot open its own.
HIPSCOPE_API Error hipIpcOpenEventHandle(Event** event, Handle handle) {
    Call call;
    if (event == nullptr || handle.mark != kEventMark || handle.bytes != kPage) return fail(abi::error::invalid_value);
    if (handle.process == getpid()) return fail(abi::error::invalid_context);
    const int file = open_file(handle);
    if (file < 0) return fail(abi::error::invalid_handle);
    auto opened = std::make_unique<Event>();
    opened->flags = kEventInterprocess | kEventDisableTiming;
    opened->shared = SharedEvent::open(file, handle.process, handle.file);
    if (!opened->shared) return fail(abi::error::out_of_memory);
    call->events.insert(*event = opened.release());
    return abi::error::success;
}
