// Data races within a dispatch: who touched each word of LDS and global memory last, and what orders two accesses.
//
// Order within a workgroup is exact: a vector clock for each wave, joined at barriers and through atomic operations on
// the same word. Between workgroups an access is taken to be ordered when its workgroup wrote back its caches
// (buffer_wbl2 sc1, a release) after it, and the other workgroup invalidated its own (buffer_inv sc1, an acquire) after
// that (LLVM AMDGPUUsage, "Memory Model GFX942"). That never calls an ordered pair a race; it overlooks races between
// workgroups that both fence for another reason. Global wave sync orders what comes before it in one workgroup and after
// it in another (races_grid.cpp).
//
// A barrier orders what is done. What a wave asks of LDS is done when it has waited for it (s_waitcnt lgkmcnt); a barrier
// that it reaches before that says nothing of it (CDNA3 ISA, 4.4). Any wait that counts LDS is taken for one for all of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/decode.hpp"
#include "core/wave.hpp"
#include "engine/launch.hpp"
#include "sanitize/held_accesses.hpp"
#include "sanitize/lanes.hpp"
#include "sanitize/word_shadow.hpp"

namespace hipscope::sanitize {

inline constexpr std::size_t kMaxWaves = 16;
/// One entry for each wave of the workgroup, then the grid barriers of the dispatch that are known to have opened.
using Clocks = std::array<std::uint32_t, kMaxWaves + 1>;
inline constexpr std::size_t kGrid = kMaxWaves;

void join(Clocks& into, const Clocks& from);

/// What an instruction means for order, beside being an access.
enum class Role : std::uint8_t { none, release, acquire, poll, grid_barrier, grid_give, grid_take };

/// `poll`: a load in a short loop that stores nothing and never changes the address, so that it waits for another wave.
/// So is the load before such a loop that makes up its first turn.
/// `grid_...`: global wave sync; a semaphore gives and takes.
std::vector<Role> roles_of(const Program& program);

/// One access as a word remembers it. 0: none.
struct Trace {
    std::uint64_t bits = 0;

    static constexpr std::uint32_t max_pc = (1U << 20U) - 1;
    static Trace make(std::uint32_t segment, std::uint32_t pc, std::uint32_t scope) {
        return {std::uint64_t{segment} << 32U | std::uint64_t{pc} << 12U | std::uint64_t{scope} << 10U};
    }
    [[nodiscard]] Trace with(std::uint32_t lane, std::uint32_t mask) const { return {bits | lane << 4U | mask}; }
    [[nodiscard]] std::uint32_t segment() const { return static_cast<std::uint32_t>(bits >> 32U); }
    [[nodiscard]] std::uint32_t pc() const { return static_cast<std::uint32_t>(bits >> 12U) & max_pc; }
    [[nodiscard]] std::uint32_t scope() const { return static_cast<std::uint32_t>(bits >> 10U) & 3U; }
    [[nodiscard]] int lane() const { return static_cast<int>(bits >> 4U) & 63; }
    [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(bits) & 15U; }
    /// An atomic operation that is kept in the place of a load.
    [[nodiscard]] bool is_kept() const { return scope() == 3; }
    [[nodiscard]] Trace kept() const { return {bits | std::uint64_t{3} << 10U}; }
    [[nodiscard]] Trace given_back() const { return {bits ^ std::uint64_t{1} << 10U}; }
};

/// Atomic scope of an access: none, workgroup (sc0 alone), or one that other workgroups see.
namespace scope {
inline constexpr std::uint32_t plain = 0, workgroup = 1, device = 2;  // 3: see Trace::is_kept
}

/// The notes of one word.
struct Word {
    std::uint64_t& write;
    std::uint64_t& read;
    std::uint32_t& value;
};

/// What a wave did between two events that order it: `clock` is its own at that time.
struct Segment {
    std::uint64_t group;
    std::uint64_t begun;        // event number
    std::uint32_t clock;
    std::uint32_t releases;     // of the workgroup until then
    std::uint8_t wave;
};

struct WaveOrder {
    Clocks clocks{};            // what it knows of each wave of its workgroup; its own: the present
    std::uint32_t segment = 0;
    bool used = false;          // the segment holds an access
    // LDS accesses that it has not waited for, where that may matter.
    std::uint32_t waits = 0;            // Wave::lgkm_waits at the last one
    std::uint32_t in_flight = 0;        // its own clock at the first of them, 0 when it has waited for all
    std::uint32_t stuck_from = 0, stuck_to = 0;  // of those, what lay before the last barrier: own clocks; 0: nothing
};

/// The words on which one workgroup has made atomic operations.
class AtomicWords {
public:
    struct Known {
        std::uint64_t word;
        std::uint64_t met;     // when a wave last made an atomic operation on it
        std::uint32_t change;  // where GroupFences::changes has it, or `none`
        Clocks clocks;         // what waves knew that changed it
    };
    static constexpr std::uint32_t none = ~0U;

    void clear();
    Known& at(std::uint64_t word);

private:
    void grow();
    [[nodiscard]] std::size_t slot_of(std::uint64_t word) const { return (word >> 2U) * 0x9e3779b97f4a7c15ULL >> shift_; }

    std::vector<Known> known_;
    std::vector<std::uint32_t> slots_;  // place in `known_` + 1, or 0
    unsigned shift_ = 64;
};

/// A workgroup at a grid barrier, or at a semaphore that it gives to.
struct Arrival {
    std::uint32_t number;                // of the barrier; they count from 1 in the order in which they open
    std::uint32_t releases;              // of the workgroup until then
    std::uint64_t since;                 // when the workgroup left the one before
    Clocks known;                        // what lies before it
};

/// What a workgroup has done with one slab of the device heap, in times.
struct HeapUse {
    std::vector<std::uint64_t> given;    // when it gave blocks back
    std::uint64_t taken = 0;             // when it was last given one
};

/// How a workgroup has met others in this dispatch.
struct GroupFences {
    std::vector<std::uint64_t> releases;
    std::uint64_t acquired = 0;
    std::vector<Arrival> arrivals;       // `number` and `known` only grow
    std::uint32_t left_number = 0;       // the last grid barrier that the workgroup has left, and when
    std::uint64_t left = 0;
    std::vector<std::uint64_t> watched;  // words that it has read atomically, the newest few
    std::size_t next_watched = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> changes;  // words that it has changed atomically, each with the last time
    std::unordered_map<std::uint64_t, std::uint32_t> change_of;    // the same by word, as far as it was asked for
    std::map<std::uint64_t, HeapUse> heap;                         // by slab
};

struct GroupOrder {
    std::vector<WaveOrder> waves;
    GroupFences* fences = nullptr;  // once it has some
    std::uint32_t epoch = 0;    // first segment after the last barrier
    WordBlocks lds;
    std::vector<std::uint64_t> lds_usage;  // see Usages
    HeldAccesses lds_held;
    StoredWords lds_stored;  // by stores that are held, or were, since the last barrier
    AtomicWords atomics;
};

/// A pair of accesses that nothing orders.
struct Conflict {
    Trace first;
    Segment by;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    int lane = -1;
    bool wrote_first = false, writes = false;
    bool synchronised = false;   // the workgroups met through an atomic, but caches were not written back or invalidated
    bool released = false;       // ... and the first one did write back
    bool in_flight = false;      // a barrier lies between them, which the first one's wave reached before it had waited for it
    std::uint32_t seed = ~0U;    // a plain load that met an atomic operation: its pc
};

class Races {
public:
    Races();
    ~Races();
    Races(const Races&) = delete;
    Races& operator=(const Races&) = delete;

    void begin(const Launch& launch);
    void started(GroupOrder& order, std::uint64_t group, std::size_t waves, std::uint32_t lds_bytes);
    void barrier(GroupOrder& order, const Workgroup& group);
    void fence(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role);
    /// A wave executed a global wave sync instruction: `first` unless it tries again, `passed` unless it has to wait.
    void grid_sync(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role, bool first, bool passed);
    using Found = std::function<void(const Conflict&)>;
    /// Notes the access that an instruction just made. `shape`: of the lanes' first addresses. `found` is called
    /// for each word in conflict.
    void access(GroupOrder& order, const Wave& wave, const Instruction& in, const Shape& shape, const Found& found);
    /// The notes that an access will meet are on their way while other checks look at it.
    void prefetch(const MemoryAccess& made, const Shape& shape) const;
    /// Kernels will use this block of memory.
    void expect(std::uint64_t address, std::uint64_t bytes) { words_.expect(address, bytes); }
    /// All of these bytes will be accessed.
    void populate(std::uint64_t address, std::uint64_t bytes) { words_.populate(address, bytes); }
    /// The device heap cuts blocks out of this slab from now on.
    void heap_slab(std::uint64_t address) { slabs_.insert(address); }

    /// True for a load of a word on which the same wave then made a compare-and-swap: a stale value costs it a retry, no more.
    [[nodiscard]] bool starts_swap(std::uint32_t pc) const { return seeds_.contains(pc); }
    [[nodiscard]] Role role(std::uint32_t pc) const { return (*roles_)[pc]; }
    [[nodiscard]] const Segment& segment(std::uint32_t id) const { return segments_[id - base_]; }

private:
    struct Access;

    GroupFences& fences_of(GroupOrder& order, std::uint64_t group) {
        if (order.fences == nullptr) order.fences = &fences_[group];
        return *order.fences;
    }
    void next_segment(GroupOrder& order, std::uint64_t group, std::uint32_t wave);
    void arrive(GroupOrder& order, std::uint64_t group, std::uint32_t wave);
    [[nodiscard]] const Arrival* arrival_between(const Segment& earlier, const Clocks& now) const;
    [[nodiscard]] bool grid_fenced(const Arrival& arrival, const Segment& writer, std::uint64_t reader) const;
    [[nodiscard]] bool ordered(const Access& access, Trace earlier, bool wrote, std::uint64_t address) const;
    [[nodiscard]] bool met(std::uint64_t reader, const Segment& writer);
    void heap_operation(const Access& access);
    [[nodiscard]] bool handed_on(const GroupFences& from, const Segment& earlier, const GroupFences& to, std::uint64_t address) const;
    void note_in_flight(GroupOrder& order, const Wave& wave);
    [[nodiscard]] bool leave_in_flight(GroupOrder& order, const Workgroup& group) const;
    [[nodiscard]] static bool is_in_flight(const Access& access, const Segment& earlier);
    [[nodiscard]] bool hold(const Access& access);
    void follow_stores(const Access& access);
    void note_held(HeldAccesses& all, std::uint32_t base, WordBlocks* lds);
    void piece_of_words(const Access& access, const Piece& piece);
    void part_of_word(const Access& access, std::uint64_t first, std::uint64_t end, int lane);
    std::uint64_t quiet_words(const Access& access, int which, std::uint64_t lanes);
    void compare_lanes(const Access& access, int which);
    void scattered_words(const Access& access);
    void touch(const Access& access, const WordRow& row, std::uint64_t address, std::uint32_t before);
    [[nodiscard]] bool is_own(Trace mine, Trace other) const;
    [[nodiscard]] bool stored_in_epoch(const Access& access, Trace wrote) const;
    void touch_one(const Access& access, Word word, std::uint64_t address, int lane, std::uint32_t mask, std::uint32_t content);
    void conflict(const Access& access, Trace earlier, bool wrote, std::uint64_t address, int lane);
    void synchronise(const Access& access, bool reads, bool changes);
    void synchronise_on(const Access& access, std::uint64_t word, bool reads, bool changes);
    [[nodiscard]] WordBlock block_at(const Access& access, std::uint64_t address);
    [[nodiscard]] Word word_at(const Access& access, std::uint64_t address);

    const std::vector<Role>* roles_ = nullptr;
    bool bare_ = false;              // some barrier of the kernel may be reached with LDS accesses in flight
    bool learns_ = false;            // the kernel looks at what atomic operations leave, so that they order its waves
    std::unordered_map<std::shared_ptr<Disassembly>, std::vector<Role>> known_roles_;
    std::vector<Segment> segments_;
    std::uint32_t base_ = 1;
    std::uint64_t time_ = 1;
    std::uint32_t grid_opened_ = 0;  // grid barriers of this dispatch
    std::unordered_map<std::uint64_t, GroupFences> fences_;
    std::size_t changes_ = 0;        // all that GroupFences::changes hold
    std::unordered_set<std::uint64_t> slabs_;
    WordShadow words_;
    UsageTable usage_;  // of device memory
    HeldAccesses held_;
    std::unordered_set<std::uint32_t> seeds_;
};

}  // namespace hipscope::sanitize
