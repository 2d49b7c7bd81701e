// Reads of unwritten values: every register and every byte of memory has a shadow that says which of its bits are
// undefined. It follows the values and is looked at where they take effect: in memory, an address, a branch.
//
// In: instructions, before and as they are executed, and what the host does with memory. Out: uses of undefined values.
// Most values are defined, so what is asked first is one bit per lane of a register and one byte per page of memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/wave.hpp"
#include "engine/launch.hpp"
#include "engine/workgroup.hpp"
#include "sanitize/flow.hpp"
#include "sanitize/lanes.hpp"
#include "sanitize/report.hpp"
#include "sanitize/shadow_memory.hpp"
#include "sanitize/stretch.hpp"

namespace hipscope::sanitize {

using Row32 = std::array<std::uint32_t, kLanes>;

/// Where an undefined value was loaded from memory. `space` none: it was in a register from the start, or a shuffle took it
/// from a lane that is off.
struct UndefinedOrigin {
    Space space = Space::none;
    bool shuffled = false;
    std::uint32_t pc = 0;
    std::uint64_t group = 0;
    std::uint32_t wave = 0;
    std::uint32_t bytes = 0;
    std::uint64_t lanes = 0;
    std::array<std::uint64_t, kLanes> address{};
};

enum class UndefinedUse : std::uint8_t { store, address, branch, atomic_memory, atomic_operand, index };

/// An undefined value took effect.
struct UndefinedFound {
    UndefinedUse use;
    Place at;
    std::uint32_t bytes;     // of the access
    UndefinedOrigin origin;  // where it was loaded
};

/// Shadow of the private memory of a wave's lanes. Spills go to one place in all lanes, so whole dwords have a bit for each lane.
class ScratchShadow {
public:
    void start(std::uint32_t bytes_per_lane);
    /// [address, address + bytes) of the lanes; an address is the same in all of them.
    [[nodiscard]] bool defined(std::uint64_t lanes, std::uint64_t address, std::uint32_t bytes) const;
    void define(std::uint64_t lanes, std::uint64_t address, std::uint32_t bytes);
    void get(int lane, std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const;
    void set(int lane, std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in);

private:
    [[nodiscard]] std::uint8_t& cell(int lane, std::uint64_t address) { return cells_[static_cast<std::uint64_t>(lane) * per_lane_ + address]; }
    [[nodiscard]] std::uint8_t cell(int lane, std::uint64_t address) const { return cells_[static_cast<std::uint64_t>(lane) * per_lane_ + address]; }

    std::uint32_t per_lane_ = 0;
    std::uint32_t touched_ = 0;             // bytes of each lane of which `cells_` may not say undefined
    std::vector<std::uint64_t> whole_;      // of each dword, lanes in which it is defined; else `cells_` has its undefined bits
    std::vector<std::uint8_t> cells_;
};

/// Shadow of one wave's registers and private memory.
struct WaveShadow {
    // VGPR rows: lanes with undefined bits, and those of them that have defined ones as well, which are in `bits`.
    std::vector<std::uint64_t> dirty, partial;
    std::unique_ptr<Row32[]> bits;
    std::vector<std::uint32_t> origin;
    std::uint64_t present = 0;  // lanes that the workgroup has
    ScalarSet scalar_dirty, scalar_unset;  // unset: what it holds is still from the start, and not in the arrays
    std::array<std::uint32_t, 128> scalar{}, scalar_origin{};
    bool scc = false;
    std::uint32_t scc_origin = 0;
    ScratchShadow scratch;
    std::unordered_map<std::uint64_t, std::uint32_t> scratch_origins;

    [[nodiscard]] std::uint32_t scalar_bits(std::size_t i) const {
        if (!scalar_dirty.has(static_cast<unsigned>(i))) return 0;
        return scalar_unset.has(static_cast<unsigned>(i)) ? ~0U : scalar[i];
    }
    [[nodiscard]] std::uint32_t scalar_from(std::size_t i) const { return scalar_unset.has(static_cast<unsigned>(i)) ? 0 : scalar_origin[i]; }
    [[nodiscard]] std::uint32_t lane(std::size_t row, int i) const {
        const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(i);
        if ((dirty[row] & bit) == 0) return 0;
        return (partial[row] & bit) != 0 ? bits[row][static_cast<std::size_t>(i)] : ~0U;
    }
    void set_lane(std::size_t row, int i, std::uint32_t value) {
        const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(i);
        dirty[row] = value != 0 ? dirty[row] | bit : dirty[row] & ~bit;
        partial[row] = value != 0 && value != ~0U ? partial[row] | bit : partial[row] & ~bit;
        if ((partial[row] & bit) != 0) bits[row][static_cast<std::size_t>(i)] = value;
    }
    void expand(std::size_t row, Row32& out) const {
        if (dirty[row] == ~std::uint64_t{0}) out.fill(~0U);
        else
            for (std::size_t i = 0; i < kLanes; ++i) out[i] = 0U - static_cast<std::uint32_t>((dirty[row] >> i) & 1U);
        for (std::uint64_t left = dirty[row] & partial[row]; left != 0; left &= left - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(left));
            out[i] = bits[row][i];
        }
    }
    void set_row(std::size_t row, const Row32& value) {
        std::uint64_t some = 0, all = 0;
        std::uint32_t any = 0, each = ~0U;
        for (const std::uint32_t v : value) {
            any |= v;
            each &= v;
        }
        if (each == ~0U) some = all = ~std::uint64_t{0};
        for (std::size_t i = 0; i < kLanes && any != 0 && each != ~0U; ++i) {
            some |= std::uint64_t{value[i] != 0} << i;
            all |= std::uint64_t{value[i] == ~0U} << i;
        }
        dirty[row] = some;
        partial[row] = some & ~all;
        if (partial[row] != 0) bits[row] = value;
    }
    void set_scalar(std::size_t i, std::uint32_t value, std::uint32_t from) {
        scalar[i] = value;
        scalar_origin[i] = from;
        scalar_unset.remove(static_cast<unsigned>(i));
        const std::uint64_t bit = std::uint64_t{1} << (i & 63U);
        scalar_dirty.word[i >> 6U] = value != 0 ? scalar_dirty.word[i >> 6U] | bit : scalar_dirty.word[i >> 6U] & ~bit;
    }
};

struct GroupShadow {
    std::vector<WaveShadow> waves;
    std::vector<std::uint8_t> lds;
    std::uint64_t defined_from = 0, defined_to = 0;  // of LDS, where that has been seen and no undefined value was stored since
    std::unordered_map<std::uint64_t, std::uint32_t> lds_origins;
};

class Uninitialised {
public:
    using Found = std::function<void(const UndefinedFound&)>;
    explicit Uninitialised(Found found);
    ~Uninitialised();
    Uninitialised(const Uninitialised&) = delete;
    Uninitialised& operator=(const Uninitialised&) = delete;

    ShadowMemory& memory() { return memory_; }

    void begin(const PreparedLaunch& launch);
    void started(const Workgroup& group);

    /// Executes the instructions from the wave's on, at most `limit`, as far as one check shows that they compute with
    /// defined values only. `looked`: how many there are to look at one by one when it did not.
    struct Ahead {
        std::uint32_t executed = 0, looked = 0;
    };
    Ahead execute_ahead(Wave& wave, std::uint32_t limit);
    /// Executes an instruction. After one that accesses memory, `accessed` must be called.
    Step execute(Wave& wave, const Instruction& in);
    /// Wave::access is what the instruction has done. `shape`: of the lanes' first addresses.
    void accessed(const Wave& wave, const Instruction& in, const Shape& shape);
    /// Whether a wave has come to this instruction of the program, in this dispatch or an earlier one.
    [[nodiscard]] bool looked_at(std::uint32_t pc) const { return known_->flows[pc].kind != FlowKind::unknown; }

private:
    struct Trial;
    using Origins = std::unordered_map<std::uint64_t, std::uint32_t>;  // numbers of origins, by address of a word

    GroupShadow& group_shadow(const Workgroup& group);
    WaveShadow& shadow(const Wave& wave) { return group_shadow(*wave.group).waves[wave.id_in_group]; }
    [[nodiscard]] const Flow& flow(const Program& program, std::size_t pc) {
        Flow& f = known_->flows[pc];
        if (f.kind == FlowKind::unknown) [[unlikely]] f = flow_of(program.instructions[pc]);
        return f;
    }
    [[nodiscard]] const Flow& flow(const Wave& wave) { return flow(*wave.program, wave.pc); }

    // Registers (uninitialised.cpp).
    Step run_registers(Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    [[nodiscard]] static bool only_upper_half(const Instruction& in, const WaveShadow& s, std::uint64_t lanes);
    static Step wide_sum(Wave& wave, const Instruction& in, WaveShadow& s, std::uint64_t lanes);
    Step shuffle(Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    Step propagate(Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    void settle_exec(const Wave& wave, std::uint32_t pc, WaveShadow& s);
    Step branch(Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    void use_registers(const Wave& wave, const Flow& flow, WaveShadow& s, UndefinedUse use);
    void found(UndefinedUse use, const Place& at, std::uint32_t bytes, std::uint32_t origin) { found_({use, at, bytes, origins_[origin]}); }

    // Memory (uninitialised_memory.cpp).
    [[nodiscard]] bool defined(const Wave& wave, const Instruction& in, const WaveShadow& s);
    [[nodiscard]] bool known_defined(std::uint32_t bytes) const;
    [[nodiscard]] bool lds_span_defined(std::uint32_t bytes);
    void define(const Wave& wave, const Instruction& in, WaveShadow& s);
    void load(const Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    void scalar_load(const Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    void load_to_lds(const Wave& wave, const Instruction& in);
    void store(const Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    void atomic(const Wave& wave, const Instruction& in, const Flow& flow, WaveShadow& s);
    [[nodiscard]] std::uint64_t undefined_data(const Instruction& in, const Flow& flow, const WaveShadow& s, std::uint64_t lanes) const;
    void read_cell(const Wave& wave, WaveShadow& s, int lane, std::uint64_t address, std::uint32_t bytes, std::uint8_t* out);
    void write_cell(const Wave& wave, WaveShadow& s, int lane, std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in);
    Origins& origins_in(const Wave& wave, WaveShadow& s);
    std::uint32_t origin_of_access(const Wave& wave, WaveShadow& s);
    std::uint32_t number_of(const Wave& wave, UndefinedOrigin origin);
    bool judge_store(const Wave& wave, int lane, std::uint32_t bytes, const std::uint8_t* bits, std::uint32_t origin);
    void seen_defined(std::uint32_t pc, unsigned dwords);

    Found found_;
    ShadowMemory memory_;
    const PreparedLaunch* launch_ = nullptr;
    /// What is kept of a program over its dispatches.
    struct Known {
        std::vector<Flow> flows;           // worked out when an instruction is first executed
        std::vector<std::unique_ptr<Stretch>> stretches;  // from each instruction on, once a wave has come there
        std::vector<std::uint8_t> stores;  // of each store: which dwords of its data were seen with a defined value
    };
    std::map<std::shared_ptr<Disassembly>, Known> programs_;
    Known* known_ = nullptr;
    std::unordered_map<const Workgroup*, GroupShadow> groups_;
    const Workgroup* recent_group_ = nullptr;
    GroupShadow* recent_ = nullptr;
    std::vector<UndefinedOrigin> origins_;                           // of this dispatch; number 0: a register
    std::unordered_map<std::uint64_t, std::uint32_t> origin_numbers_;  // by instruction and wave of a workgroup
    Origins memory_origins_;
    std::map<std::pair<std::uint32_t, unsigned>, UndefinedFound> padding_;  // by store and dword: what may be padding
    std::unique_ptr<Trial> trial_;
    const Shape* shape_ = nullptr;  // of the access that is looked at
};

}  // namespace hipscope::sanitize
