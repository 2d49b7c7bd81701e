// Shadows of registers: their life, and how they pass through an instruction.
//
// There is no rule per instruction for what it does to undefined bits. Where an input has some, the instruction is executed
// again with other values in their place; the bits of the results that differ depend on them. The bits that a register
// held before count as an input of an instruction that writes it, so that lanes and parts which are left alone come out
// as they were. The values tried are those at which comparisons, shifts and sums change their result.
#include "sanitize/uninitialised.hpp"

#include <algorithm>
#include <bit>

#include "isa/indexed.hpp"

namespace hipscope::sanitize {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kTrials = 9;
constexpr u32 kEqual = 6;  // the trial that makes the first two operands as equal as their defined bits let them be

bool is_vector(const Operand& o) { return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr; }

u32 scrambled(u32 x) {
    x = (x ^ (x >> 16U)) * 0x7feb352dU;
    x = (x ^ (x >> 15U)) * 0x846ca68bU;
    return x ^ (x >> 16U);
}

/// What takes the place of undefined bits. `odd`: of the second operand; `top`: its highest dword.
u32 filling(u32 trial, bool odd, bool top, u32 salt) {
    switch (trial) {
        case 0: return 0;
        case 1: return ~0U;
        case 2: return odd ? ~0U : 0;
        case 3: return odd ? 0 : ~0U;
        case 4: return odd ? (top ? 0x80000000U : 0) : (top ? 0x7fffffffU : ~0U);  // the largest and smallest signed numbers
        case 5: return odd ? (top ? 0x7fffffffU : ~0U) : (top ? 0x80000000U : 0);
        default: return scrambled(salt * 64U + trial);
    }
}

}  // namespace

/// An instruction's inputs and outputs while it is tried with other values. Kept for its storage.
struct Uninitialised::Trial {
    struct Register {
        std::uint16_t index = 0;
        std::uint8_t operand = 0, dword = 0;
        bool top = false, source = false, written = false, undefined = false;
    };
    /// What a wave holds beside its vector registers.
    struct Scalars {
        decltype(Wave::sgpr) sgpr{};
        bool scc = false;
        u32 pc = 0, mode = 0;

        static Scalars of(const Wave& wave) { return {wave.sgpr, wave.scc, wave.pc, wave.mode}; }
        void put_into(Wave& wave) const {
            wave.sgpr = sgpr;
            wave.scc = scc;
            wave.pc = pc;
            wave.mode = mode;
        }
    };
    std::vector<Register> rows, scalars;
    std::vector<Row32> original, shadow, result, varies;
    Scalars before, after;
    std::array<u32, 128> scalar_varies{};
    bool scc_varies = false;

    enum class As : std::uint8_t { source, kept, written };

    static void track(std::vector<Register>& all, u32 first, u32 count, u32 operand, As as) {
        for (u32 d = 0; d < count; ++d) {
            const auto index = static_cast<std::uint16_t>(first + d);
            auto known = std::find_if(all.begin(), all.end(), [index](const Register& r) { return r.index == index; });
            if (known == all.end()) known = all.insert(known, {index, static_cast<std::uint8_t>(operand), static_cast<std::uint8_t>(d), d + 1 == count, false, false, false});
            known->source |= as == As::source;
            known->written |= as == As::written;
        }
    }
    void collect(const Instruction& in, const Flow& flow) {
        rows.clear();
        scalars.clear();
        for (u32 k = 0; k < in.sources; ++k) {
            const Operand& o = in.source[k];
            if (is_vector(o)) track(rows, o.index, o.dwords, k, As::source);
            else if (o.kind == OperandKind::sgpr && o.index < sreg::count) track(scalars, o.index, o.dwords, k, As::source);
        }
        for (u32 n = 0; n < flow.reads; ++n) track(rows, flow.read[n].first, flow.read[n].count, 0, As::kept);
        for (u32 n = 0; n < flow.writes; ++n) track(rows, flow.write[n].first, flow.write[n].count, 0, As::written);
        for (u32 i = 0; i < sreg::count; ++i) {
            if (flow.scalar_write.has(i)) track(scalars, i, 1, 0, As::written);
            else if (flow.scalar_read.has(i)) track(scalars, i, 1, 0, As::kept);
        }
        for (std::vector<Row32>* all : {&original, &shadow, &result, &varies})
            if (all->size() < rows.size()) all->resize(rows.size());
    }
    /// Where the undefined bits come from: a source that has some, else what the destination held.
    [[nodiscard]] u32 origin(const WaveShadow& s, u64 lanes) const {
        for (const bool source : {true, false}) {
            for (const Register& r : rows)
                if (r.source == source && (s.dirty[r.index] & lanes) != 0) return s.origin[r.index];
            for (const Register& r : scalars)
                if (r.source == source && r.undefined) return s.scalar_from(r.index);
            if (s.scc) return s.scc_origin;
        }
        return 0;
    }
    /// What the registers hold before the instruction, and which of their bits are undefined.
    void remember(const Wave& wave, const WaveShadow& s) {
        before = Scalars::of(wave);
        for (std::size_t n = 0; n < rows.size(); ++n) {
            Register& r = rows[n];
            r.undefined = s.dirty[r.index] != 0;
            std::copy_n(wave.vgpr[r.index], kLanes, original[n].data());
            if (r.written) varies[n].fill(0);
            if (r.undefined) s.expand(r.index, shadow[n]);
            else shadow[n].fill(0);
        }
        for (Register& r : scalars) r.undefined = s.scalar_bits(r.index) != 0;
        scalar_varies = {};
        scc_varies = false;
    }
    /// What the instruction made of the values that were there.
    void note_result(const Wave& wave) {
        after = Scalars::of(wave);
        for (std::size_t n = 0; n < rows.size(); ++n)
            if (rows[n].written) std::copy_n(wave.vgpr[rows[n].index], kLanes, result[n].data());
    }
    /// The inputs once more, with other values for their undefined bits.
    void put_other_values(u32 trial, const Instruction& in, Wave& wave, const WaveShadow& s) {
        for (const Register& r : scalars) wave.sgpr[r.index] = before.sgpr[r.index];
        wave.scc = s.scc ? trial % 2 != 0 : before.scc;
        wave.pc = before.pc;
        wave.mode = before.mode;
        Row32 values;
        for (std::size_t n = 0; n < rows.size(); ++n) {
            const Register& r = rows[n];
            u32* to = wave.vgpr[r.index];
            if (!r.undefined) {
                if (r.written) std::copy_n(original[n].data(), kLanes, to);
                continue;
            }
            const u32 fill = filling(trial, r.operand % 2 != 0, r.top, r.index);
            if (trial == kEqual) neighbour(in, r, s, values);
            else values.fill(fill);
            if (trial > kEqual)
                for (u32 lane = 0; lane < kLanes; ++lane) values[lane] = scrambled(fill + lane);
            const Row32 &held = original[n], &bits = shadow[n];
            for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = (held[lane] & ~bits[lane]) | (values[lane] & bits[lane]);
        }
        for (const Register& r : scalars) {
            if (!r.undefined) continue;
            const u32 bits = s.scalar_bits(r.index);
            if (trial == kEqual) neighbour(in, r, s, values);
            const u32 value = trial == kEqual ? values[0] : filling(trial, r.operand % 2 != 0, r.top, r.index + 1000U);
            wave.sgpr[r.index] = (before.sgpr[r.index] & ~bits) | (value & bits);
        }
    }
    /// Where the results are not those of the values that were there.
    void note_differences(const Wave& wave) {
        for (std::size_t n = 0; n < rows.size(); ++n) {
            if (!rows[n].written) continue;
            const u32* now = wave.vgpr[rows[n].index];
            u32* differs = varies[n].data();
            const u32* first = result[n].data();
            for (std::size_t lane = 0; lane < kLanes; ++lane) differs[lane] |= now[lane] ^ first[lane];
        }
        for (const Register& r : scalars)
            if (r.written) scalar_varies[r.index] |= wave.sgpr[r.index] ^ after.sgpr[r.index];
        scc_varies |= wave.scc != after.scc;
    }
    /// The wave as the instruction left it, and the shadows of what it wrote.
    void settle(const Instruction& in, u32 origin, Wave& wave, WaveShadow& s) const {
        after.put_into(wave);
        for (std::size_t n = 0; n < rows.size(); ++n) {
            const Register& r = rows[n];
            std::copy_n(r.written ? result[n].data() : original[n].data(), kLanes, wave.vgpr[r.index]);
            if (!r.written) continue;
            s.set_row(r.index, varies[n]);
            s.origin[r.index] = origin;
        }
        for (const Register& r : scalars)
            if (r.written) s.set_scalar(r.index, scalar_varies[r.index], origin);
        if (in.unit != Unit::salu) return;
        if (scc_varies && !s.scc) s.scc_origin = origin;
        s.scc = scc_varies;
    }

private:
    /// What the operand next to this one (the first and the second are neighbours) holds in the same dword, where it is defined.
    void neighbour(const Instruction& in, const Register& r, const WaveShadow& s, Row32& values) const {
        values.fill(0);
        if (r.operand > 1 || in.sources < 2) return;
        const Operand& o = in.source[1 - r.operand];
        if (o.kind == OperandKind::literal) values.fill(static_cast<u32>(o.literal >> (r.dword == 0 ? 0U : 32U)));
        if (o.kind == OperandKind::sgpr && o.index < sreg::count && r.dword < o.dwords) values.fill(before.sgpr[o.index + r.dword] & ~s.scalar_bits(o.index + r.dword));
        for (std::size_t n = 0; n < rows.size(); ++n)
            if (is_vector(o) && rows[n].index == o.index + r.dword)
                for (std::size_t lane = 0; lane < kLanes; ++lane) values[lane] = original[n][lane] & ~shadow[n][lane];
    }
};

Uninitialised::Uninitialised(Found found) : found_(std::move(found)), trial_(std::make_unique<Trial>()) {}
Uninitialised::~Uninitialised() = default;

void Uninitialised::begin(const PreparedLaunch& launch) {
    launch_ = &launch;
    const std::shared_ptr<Disassembly>& code = launch.launch.object->code;
    known_ = &programs_[code];
    known_->flows.resize(code->program.instructions.size());
    known_->stretches.resize(code->program.instructions.size());
    known_->stores.resize(code->program.instructions.size());
    groups_.clear();
    recent_group_ = nullptr;
    origins_.assign(1, {});
    origin_numbers_.clear();
    memory_origins_.clear();
    padding_.clear();
}

GroupShadow& Uninitialised::group_shadow(const Workgroup& group) {
    if (recent_group_ != &group) {
        recent_group_ = &group;
        recent_ = &groups_[&group];
    }
    return *recent_;
}

void Uninitialised::started(const Workgroup& group) {
    GroupShadow& g = group_shadow(group);
    g.waves.resize(group.waves.size());
    g.lds.assign(launch_->lds_bytes, 0xff);
    g.defined_from = g.defined_to = 0;
    g.lds_origins.clear();
    const std::size_t rows = launch_->vgpr_rows;
    for (std::size_t i = 0; i < group.waves.size(); ++i) {
        WaveShadow& s = g.waves[i];
        if (!s.bits) s.bits.reset(new Row32[rows]);  // NOLINT: read only where `partial` says that it was written
        s.dirty.assign(rows, ~u64{0});
        s.partial.assign(rows, 0);
        s.origin.assign(rows, 0);
        s.dirty[0] = 0;  // work-item ids
        s.present = group.waves[i].exec();
        s.scalar_dirty = {};
        s.scalar_unset.add(0, sreg::count);
        const u32 set = group.scalars_set;
        s.scalar_dirty.add(set, 102 - set);
        s.scalar_dirty.add(sreg::vcc, 2);
        s.scalar_dirty.add(sreg::m0, 1);
        s.scc = false;
        s.scc_origin = 0;
        s.scratch.start(launch_->scratch_per_lane);
        s.scratch_origins.clear();
    }
}

Uninitialised::Ahead Uninitialised::execute_ahead(Wave& wave, u32 limit) {
    std::unique_ptr<Stretch>& known = known_->stretches[wave.pc];
    if (!known) [[unlikely]]
        known = std::make_unique<Stretch>(stretch_from(*wave.program, wave.pc, [&](std::size_t pc) -> const Flow& { return flow(*wave.program, pc); }));
    const Stretch& stretch = *known;
    if (stretch.length == 0) return {0, 1};
    if (stretch.length > limit) return {0, limit};
    WaveShadow& s = shadow(wave);
    const u64 lanes = wave.exec();
    u64 any = 0;
    for (const std::uint16_t row : stretch.reads) any |= s.dirty[row];
    if ((any & lanes) != 0 || s.scc || stretch.scalar_reads.meets(s.scalar_dirty)) return {0, stretch.length};
    const Instruction* const first = wave.program->instructions.data() + wave.pc;
    for (u32 n = 0; n < stretch.length; ++n) first[n].run(wave, first[n]);
    for (const std::uint16_t row : stretch.writes) s.dirty[row] &= ~lanes;
    s.scalar_dirty.remove(stretch.scalar_writes);
    return {stretch.length, 0};
}

Step Uninitialised::execute(Wave& wave, const Instruction& in) {
    const Flow& f = flow(wave);
    WaveShadow& s = shadow(wave);
    switch (f.kind) {
        case FlowKind::none: return in.run(wave, in);
        case FlowKind::memory: use_registers(wave, f, s, UndefinedUse::address); return in.run(wave, in);
        case FlowKind::index: use_registers(wave, f, s, UndefinedUse::index); return in.run(wave, in);
        case FlowKind::branch_scc:
        case FlowKind::branch_vcc:
        case FlowKind::branch_to: return branch(wave, in, f, s);
        default: break;
    }
    if (f.shuffles && wave.exec() != ~u64{0}) return shuffle(wave, in, f, s);
    if (in.unindexed == nullptr) return run_registers(wave, in, f, s);
    // Under a register index: the instruction that is really executed, with its own registers.
    const Instruction moved = isa::moved_by_index(wave, in);
    return run_registers(wave, moved, flow_of(moved), s);
}

Step Uninitialised::run_registers(Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    u64 lanes = wave.exec();
    if (f.reach != Reach::active) [[unlikely]] {
        const Operand& which = in.source[1];
        if (f.reach == Reach::all) lanes = ~u64{0};
        else if (f.reach == Reach::first_active) lanes = lanes == 0 ? 1 : lanes & (~lanes + 1);
        else lanes = u64{1} << ((which.kind == OperandKind::sgpr ? wave.sgpr[which.index] : static_cast<u32>(which.literal)) & 63U);
    }
    u64 any = 0;
    for (u32 n = 0; n < f.reads; ++n)
        for (u32 r = f.read[n].first; r < u32{f.read[n].first} + f.read[n].count; ++r) any |= s.dirty[r];
    const bool scc = s.scc && (f.reads_scc || in.unit == Unit::salu);
    if ((any & lanes) == 0 && !scc && !f.scalar_read.meets(s.scalar_dirty)) {
        const Step result = in.run(wave, in);
        for (u32 n = 0; n < f.writes; ++n)
            for (u32 r = f.write[n].first; r < u32{f.write[n].first} + f.write[n].count; ++r) s.dirty[r] &= ~lanes;
        s.scalar_dirty.remove(f.scalar_write);
        return result;
    }
    if (f.wide_sum && !f.scalar_read.meets(s.scalar_dirty) && only_upper_half(in, s, lanes)) return wide_sum(wave, in, s, lanes);
    if (f.kind != FlowKind::copy || scc) return propagate(wave, in, f, s);
    const Operand &from = in.source[0], &to = in.destination[0];
    const u32 pc = wave.pc;
    const Step result = in.run(wave, in);
    if (is_vector(to)) {
        s.dirty[to.index] = (s.dirty[to.index] & ~lanes) | (s.dirty[from.index] & lanes);
        const u64 parts = s.partial[from.index] & lanes;
        s.partial[to.index] = (s.partial[to.index] & ~lanes) | parts;
        for (u64 left = parts & s.dirty[from.index]; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(left));
            s.bits[to.index][lane] = s.bits[from.index][lane];
        }
        s.origin[to.index] = s.origin[from.index];
    } else {
        for (u32 d = 0; d < to.dwords; ++d) s.set_scalar(to.index + d, s.scalar_bits(from.index + d), s.scalar_from(from.index + d));
        settle_exec(wave, pc, s);
    }
    return result;
}

/// The hardware gives 0 for a lane that is off; HIP leaves open what comes. Sums over a whole wave count on the 0 of lanes that a
/// smaller workgroup does not have, which is let pass.
Step Uninitialised::shuffle(Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    const u64 exec = wave.exec();
    const u32* address = wave.vgpr[in.source[0].index];
    u64 lost = 0;
    for (u64 left = exec; left != 0; left &= left - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(left)), from = (address[lane] + static_cast<u32>(in.modifiers.offset)) >> 2U & 63U;
        lost |= u64{(((exec | ~s.present) >> from) & 1U) == 0} << lane;
    }
    UndefinedOrigin origin;
    origin.shuffled = true;
    origin.pc = wave.pc;
    origin.lanes = lost;
    const Step result = run_registers(wave, in, f, s);
    const u32 to = in.destination[0].index;
    if (lost == 0) return result;
    s.dirty[to] |= lost;
    s.partial[to] &= ~lost;
    s.origin[to] = number_of(wave, origin);
    return result;
}

/// Whether all that the lanes read is defined but for the upper half of the addend, which has no defined bit where it is not.
bool Uninitialised::only_upper_half(const Instruction& in, const WaveShadow& s, u64 lanes) {
    const u32 lower = in.source[2].index, upper = lower + 1;
    u64 others = s.dirty[lower] | (s.dirty[upper] & s.partial[upper]);
    for (const Operand& o : {in.source[0], in.source[1]})
        if (is_vector(o)) others |= s.dirty[o.index];
    return (others & lanes) == 0;
}

/// Index arithmetic of which only the lower half is used is compiled to this, so it is not left to trials: the lower half is
/// defined, the upper one and the carry are what an undefined number and what comes from below add up to.
Step Uninitialised::wide_sum(Wave& wave, const Instruction& in, WaveShadow& s, u64 lanes) {
    const u32 from = in.source[2].index + 1U, to = in.destination[0].index;
    const u64 undefined = s.dirty[from] & lanes;
    const u32 origin = s.origin[from];
    Row32 addend;
    std::copy_n(wave.vgpr[from], kLanes, addend.data());
    const Step result = in.run(wave, in);
    u64 carries = 0;  // a carry is certain not to come only where nothing comes from below
    for (u32 lane = 0; lane < kLanes; ++lane) carries |= u64{wave.vgpr[to + 1][lane] != addend[lane]} << lane;
    carries &= undefined;
    s.dirty[to] &= ~lanes;
    s.dirty[to + 1] = (s.dirty[to + 1] & ~lanes) | undefined;
    s.partial[to + 1] &= ~lanes;
    s.origin[to + 1] = origin;
    s.set_scalar(in.destination[1].index, static_cast<u32>(carries), origin);
    s.set_scalar(in.destination[1].index + 1U, static_cast<u32>(carries >> 32U), origin);
    return result;
}

Step Uninitialised::propagate(Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    Trial& t = *trial_;
    t.collect(in, f);
    t.remember(wave, s);
    const u32 origin = t.origin(s, f.reach == Reach::active ? wave.exec() : ~u64{0});
    const Step step = in.run(wave, in);
    if (step == Step::fault) return step;
    t.note_result(wave);
    for (u32 trial = 0; trial < kTrials; ++trial) {
        t.put_other_values(trial, in, wave, s);
        in.run(wave, in);
        t.note_differences(wave);
    }
    t.settle(in, origin, wave, s);
    settle_exec(wave, t.before.pc, s);
    return step;
}

/// Lanes that go on or not because of an undefined value.
void Uninitialised::settle_exec(const Wave& wave, u32 pc, WaveShadow& s) {
    for (unsigned half = 0; half < 2; ++half) {
        const u32 bits = s.scalar_bits(sreg::exec + half);
        if (bits == 0) continue;
        found(UndefinedUse::branch, {pc, wave.group->number, wave.id_in_group, static_cast<int>(half) * 32 + std::countr_zero(bits)}, 0, s.scalar_from(sreg::exec + half));
        s.set_scalar(sreg::exec, 0, 0);
        s.set_scalar(sreg::exec + 1, 0, 0);
        return;
    }
}

Step Uninitialised::branch(Wave& wave, const Instruction& in, const Flow& f, WaveShadow& s) {
    const Place at{wave.pc, wave.group->number, wave.id_in_group, -1};
    if (f.kind == FlowKind::branch_scc && s.scc) {
        found(UndefinedUse::branch, at, 0, s.scc_origin);
        s.scc = false;
    } else if (f.kind == FlowKind::branch_vcc) {
        const u64 bits = s.scalar_bits(sreg::vcc) | u64{s.scalar_bits(sreg::vcc + 1)} << 32U;
        if (bits != 0 && (wave.vcc() & ~bits) == 0) {  // no defined bit decides it
            Place lane = at;
            lane.lane = std::countr_zero(bits);
            found(UndefinedUse::branch, lane, 0, s.scalar_from(sreg::vcc + (lane.lane >= 32 ? 1 : 0)));
            s.set_scalar(sreg::vcc, 0, 0);
            s.set_scalar(sreg::vcc + 1, 0, 0);
        }
    } else if (f.kind == FlowKind::branch_to) {
        use_registers(wave, f, s, UndefinedUse::address);
    }
    const Step result = in.run(wave, in);
    s.scalar_dirty.remove(f.scalar_write);
    return result;
}

/// The registers that an instruction reads decide where it goes or what it touches. Each case is reported once.
void Uninitialised::use_registers(const Wave& wave, const Flow& f, WaveShadow& s, UndefinedUse use) {
    const u64 exec = wave.exec();
    const Place at{wave.pc, wave.group->number, wave.id_in_group, -1};
    for (u32 n = 0; n < f.reads; ++n)
        for (u32 r = f.read[n].first; r < u32{f.read[n].first} + f.read[n].count; ++r) {
            const u64 lanes = s.dirty[r] & exec;
            if (lanes == 0) continue;
            Place lane = at;
            lane.lane = std::countr_zero(lanes);
            found(use, lane, 0, s.origin[r]);
            s.dirty[r] &= ~exec;
        }
    if (!f.scalar_read.meets(s.scalar_dirty)) return;
    for (unsigned i = 0; i < sreg::count; ++i)
        if (f.scalar_read.has(i) && s.scalar_dirty.has(i)) {
            found(use, at, 0, s.scalar_from(i));
            s.set_scalar(i, 0, 0);
        }
}

}  // namespace hipscope::sanitize
