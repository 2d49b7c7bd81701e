// Which kind of number each register and each cell of memory holds, by the instruction that computed it: a float is what
// an instruction on floats left there. Copies, selections, shuffles and ways through memory keep the kind.
//
// In: instructions, as they are executed. Out: the kinds of what the last access stored. What was loaded from memory that
// the launch has not written, and what is computed as an integer, has none: it may be anything.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/wave.hpp"
#include "engine/counts.hpp"
#include "engine/workgroup.hpp"
#include "sanitize/flow.hpp"

namespace hipscope::sanitize {

/// Of a register: its 32 bits. `half`: only the lower 16 of them are known to be a float, `halves`: both. The same with `brain`
/// for bfloat16, which this hardware makes of a float by integer instructions; `rounded` has one in its upper 16 bits,
/// `upper` as well, and zeros in the others.
/// Of a cell, 16 bits of memory, `half` and `brain` are one of 16 bits, the others are a part of the wider number.
enum class Number : std::uint8_t { none, f32, f64_low, f64_high, half, halves, rounded, upper, brain, brains };

/// The kind of each lane's value in one register: a bit of the kind in each plane.
struct KindRow {
    std::array<std::uint64_t, 4> plane{};

    [[nodiscard]] Number at(int lane) const {
        const auto bit = [&](std::size_t p) { return static_cast<unsigned>(plane[p] >> static_cast<unsigned>(lane)) & 1U; };
        return static_cast<Number>(bit(0) | bit(1) << 1U | bit(2) << 2U | bit(3) << 3U);
    }
    /// The lanes whose value is of this kind.
    [[nodiscard]] std::uint64_t lanes_of(Number kind) const {
        std::uint64_t lanes = ~std::uint64_t{0};
        for (std::size_t p = 0; p < plane.size(); ++p) lanes &= ((static_cast<unsigned>(kind) >> p) & 1U) != 0 ? plane[p] : ~plane[p];
        return lanes;
    }
    void set(std::uint64_t lanes, Number kind) {
        for (std::size_t p = 0; p < plane.size(); ++p) plane[p] = ((static_cast<unsigned>(kind) >> p) & 1U) != 0 ? plane[p] | lanes : plane[p] & ~lanes;
    }
    void take(std::uint64_t lanes, const KindRow& from) {
        for (std::size_t p = 0; p < plane.size(); ++p) plane[p] = (plane[p] & ~lanes) | (from.plane[p] & lanes);
    }
};

/// What an instruction does to the kinds of registers.
enum class KindRule : std::uint8_t {
    forgets,    // its results may be anything
    makes,      // its results are of one kind
    copies,
    selects,    // one of two sources in each lane
    masks,      // by a constant: the sign of a number, if it is one, or one of its halves
    packs,      // two halves side by side
    rounds,     // to bfloat16
    shifts,     // the upper half of a register to the lower one
    shuffles,   // lanes take values from others
    swaps,
    to_scalar,  // the value of one lane
    into_lane,  // a scalar into one lane
};

struct KindOf {
    KindRule rule = KindRule::forgets;
    Number kind = Number::none;
    bool upper = false;  // a half goes to the upper 16 bits, or comes from there
};

/// The rule of an instruction that does not access memory, by its mnemonic.
KindOf kind_rule(const Instruction& in);

/// What the last access stored to global memory.
struct StoredKinds {
    bool same = true;            // all lanes and dwords: `kind`
    Number kind = Number::none;
    unsigned site = 0;           // which of the instructions that store floats it is, in the order in which they came first
    /// Else by lane, one for each 16 bits.
    std::array<std::array<Number, 8>, kLanes> cells{};
};

class NumberKinds {
public:
    /// The kinds of the 16-bit cells from an address of global memory on.
    using Loaded = std::function<Number(std::uint64_t address)>;
    explicit NumberKinds(Loaded loaded) : loaded_(std::move(loaded)) {}

    void started(const Workgroup& group);
    /// After an instruction that accessed no memory; `exec` are the lanes that were on before it.
    void executed(const Wave& wave, const Instruction& in, std::uint32_t pc, std::uint64_t exec);
    /// After one that may have accessed memory: Wave::access is what it did, spelled out.
    void accessed(const Wave& wave, const Instruction& in, std::uint32_t pc);
    [[nodiscard]] const StoredKinds& stored() const { return stored_; }

private:
    struct WaveKinds {
        std::array<KindRow, 512> rows;
        std::array<Number, sreg::count> scalars;
        std::vector<Number> scratch;  // a cell for each 16 bits of each lane
    };
    struct GroupKinds {
        std::vector<WaveKinds> waves;
        std::vector<Number> lds;
    };
    struct Known {
        Flow flow;
        KindOf rule;
        bool known = false;
        int site = -1;
    };

    GroupKinds& group_of(const Wave& wave);
    WaveKinds& of(const Wave& wave) { return group_of(wave).waves[wave.id_in_group]; }
    Known& known(const Wave& wave, const Instruction& in, std::uint32_t pc);
    static void forget_results(WaveKinds& k, const Instruction& in, std::uint64_t exec);
    static void make(WaveKinds& k, const Instruction& in, const KindOf& rule, std::uint64_t exec);
    static void copy(WaveKinds& k, const Instruction& in, std::uint64_t exec);
    static void half_by_half(const Wave& wave, const Instruction& in, const KindRow& one, const KindRow& other, KindRow& result);
    static void shuffle(WaveKinds& k, const Instruction& in, std::uint64_t exec);
    void store(const Wave& wave, WaveKinds& k, const Instruction& in, const Flow& flow);
    void load(const Wave& wave, WaveKinds& k, const Instruction& in, const Flow& flow);
    Number* cell(const Wave& wave, WaveKinds& k, std::uint64_t address, int lane);

    Loaded loaded_;
    StoredKinds stored_;
    std::unordered_map<const Workgroup*, GroupKinds> groups_;
    const Workgroup* recent_group_ = nullptr;
    GroupKinds* recent_ = nullptr;
    const Program* program_ = nullptr;
    std::vector<Known> known_;
    int sites_ = 0;
};

/// Passes every access of a traced launch on, with the kinds of what it stored.
class KindObserver {
public:
    static constexpr bool active = true;
    KindObserver(NumberKinds& kinds, const std::function<void(const MemoryAccess&)>& observe) : kinds_(kinds), observe_(observe) {}
    void started(const Workgroup& group) { kinds_.started(group); }
    Step step(Wave& wave, const Instruction& in) {
        const std::uint32_t pc = wave.pc;
        const std::uint64_t exec = wave.exec();
        wave.access.space = Space::none;
        const Step result = in.run(wave, in);
        if (!accesses_memory(in.unit)) {
            if (result == Step::next || result == Step::jump) kinds_.executed(wave, in, pc, exec);
            return result;
        }
        if (result != Step::next) return result;
        wave.access.spell_out();
        kinds_.accessed(wave, in, pc);
        observe_(wave.access);
        return result;
    }

private:
    NumberKinds& kinds_;
    const std::function<void(const MemoryAccess&)>& observe_;
};

}  // namespace hipscope::sanitize
