// Global wave sync: barriers and semaphores over all waves of a dispatch (ds_gws_*; manual section 11.4). The runtime of a
// real GPU sets the barrier's counter before a cooperative launch; here the first arrival sets it from its own operand, which
// holds the same number (waves that take part, minus one).
#include "core/global_sync.hpp"
#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

GlobalSync::Resource& resource(Wave& w, const Instruction& in) {
    const u32 number = ((w.sgpr[sreg::m0] >> 16U) & 63U) + static_cast<u32>(in.modifiers.offset);
    return w.sync->resources[number & 63U];
}
u32 operand(const Wave& w, const Instruction& in) {
    const u64 exec = w.exec();
    return w.vgpr[in.source[0].index][exec == 0 ? 0 : std::countr_zero(exec)];
}

Step initialise(Wave& w, const Instruction& in) {
    const std::lock_guard lock(w.sync->mutex);
    GlobalSync::Resource& r = resource(w, in);
    r.initialised = true;
    r.counter = operand(w, in);
    return Step::next;
}

Step barrier(Wave& w, const Instruction& in) {
    const std::lock_guard lock(w.sync->mutex);
    GlobalSync::Resource& r = resource(w, in);
    if (w.sync_wait != 0) {
        if (w.sync_wait == r.generation + 1) return Step::retry;
        w.sync_wait = 0;
        return Step::next;
    }
    const u32 others = operand(w, in);
    if (!r.initialised) r.counter = others;
    r.initialised = true;
    if (r.counter == 0) {
        r.counter = others;
        ++r.generation;
        return Step::next;
    }
    --r.counter;
    w.sync_wait = r.generation + 1;
    return Step::retry;
}

Step add_to_semaphore(Wave& w, const Instruction& in, u32 count) {
    const std::lock_guard lock(w.sync->mutex);
    resource(w, in).counter += count;
    return Step::next;
}
Step take_semaphore(Wave& w, const Instruction& in) {
    const std::lock_guard lock(w.sync->mutex);
    GlobalSync::Resource& r = resource(w, in);
    const bool released = w.sync_wait != 0 && w.sync_wait != r.generation + 1;
    if (!released && r.counter == 0) {
        w.sync_wait = r.generation + 1;
        return Step::retry;
    }
    w.sync_wait = 0;
    if (!released) --r.counter;
    return Step::next;
}
Step release_semaphore(Wave& w, const Instruction& in) {
    const std::lock_guard lock(w.sync->mutex);
    GlobalSync::Resource& r = resource(w, in);
    ++r.generation;
    r.counter = 0;
    return Step::next;
}

}  // namespace

Table global_wave_sync() {
    static constexpr Entry rows[] = {
        special("ds_gws_init", Unit::message, 0, {Type::b32}, [](Wave& w, const Instruction& in) { return initialise(w, in); }).of_all_waves(),
        special("ds_gws_barrier", Unit::message, 0, {Type::b32}, [](Wave& w, const Instruction& in) { return barrier(w, in); }).of_all_waves(),
        special("ds_gws_sema_v", Unit::message, 0, {}, [](Wave& w, const Instruction& in) { return add_to_semaphore(w, in, 1); }).of_all_waves(),
        special("ds_gws_sema_br", Unit::message, 0, {Type::b32}, [](Wave& w, const Instruction& in) { return add_to_semaphore(w, in, operand(w, in)); }).of_all_waves(),
        special("ds_gws_sema_p", Unit::message, 0, {}, [](Wave& w, const Instruction& in) { return take_semaphore(w, in); }).of_all_waves(),
        special("ds_gws_sema_release_all", Unit::message, 0, {}, [](Wave& w, const Instruction& in) { return release_semaphore(w, in); }).of_all_waves(),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
