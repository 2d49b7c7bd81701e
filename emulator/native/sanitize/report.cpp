// Report list and its JSON.
#include "sanitize/report.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>

#include "core/files.hpp"
#include "engine/json.hpp"
#include "sanitize/uses.hpp"

namespace hipscope::sanitize {
namespace {

struct Named {
    std::string_view name;
    bool Checks::* flag;
};
constexpr Named kChecks[] = {
    {"bounds", &Checks::bounds},       {"races", &Checks::races}, {"barriers", &Checks::barriers},
    {"alignment", &Checks::alignment}, {"stale", &Checks::stale}, {"uninitialised", &Checks::uninitialised},
    {"exact-alignment", &Checks::exact_alignment}, {"wave-order", &Checks::wave_order},
};

std::string_view space_name(Space space) {
    switch (space) {
        case Space::none: return "none";
        case Space::global: return "global";
        case Space::lds: return "lds";
        case Space::scratch: return "scratch";
        case Space::scalar: return "global";
    }
    return "none";
}

void triple(Json& json, std::string_view name, std::uint64_t linear, const std::array<std::uint32_t, 3>& size) {
    const std::uint64_t parts[3] = {linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]};
    json.list(name, parts);
}

void place(Json& json, const Place& p, std::uint64_t address, const std::string& instruction, const std::vector<std::vector<std::uint64_t>>& uses, const std::array<std::uint32_t, 3>& groups,
           const std::array<std::uint32_t, 3>& workgroup) {
    json.open('{').field("address", address).field("instruction", instruction).key("uses").open('[');
    for (const std::vector<std::uint64_t>& level : uses) {
        json.open('[');
        for (const std::uint64_t use : level) json.value(use);
        json.close(']');
    }
    json.close(']');
    triple(json, "workgroup", p.group, groups);
    json.field("wave", p.wave).field("lane", p.lane);
    if (p.lane >= 0) triple(json, "thread", std::uint64_t{p.wave} * kLanes + static_cast<std::uint64_t>(p.lane), workgroup);
    json.close('}');
}

void frames(Json& json, std::string_view name, const std::vector<std::uint64_t>& addresses) {
    json.key(name).open('[');
    for (const std::uint64_t address : addresses) {
        Dl_info info{};
        if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr) continue;  // NOLINT
        json.open('{').field("module", std::string(info.dli_fname));
        json.field("offset", address - 1 - reinterpret_cast<std::uint64_t>(info.dli_fbase)).close('}');  // in the call, not after it
    }
    json.close(']');
}

}  // namespace

std::string_view defect_name(Defect defect) {
    switch (defect) {
        case Defect::out_of_bounds: return "out-of-bounds";
        case Defect::use_after_free: return "use-after-free";
        case Defect::race: return "data-race";
        case Defect::barrier: return "divergent-barrier";
        case Defect::misaligned: return "misaligned";
        case Defect::stale: return "stale-read";
        case Defect::uninitialised: return "uninitialised-read";
        case Defect::wave_order: return "wave-synchronous";
    }
    return "other";
}

Checks Checks::parse(std::string_view list) {
    Checks checks;
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const std::string_view word = list.substr(0, comma);
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
        bool found = word == "all";
        for (const Named& check : kChecks)
            if (word == check.name || (word == "all" && check.flag != &Checks::exact_alignment && check.flag != &Checks::wave_order)) checks.*check.flag = found = true;
        if (!found) throw std::runtime_error("'" + std::string(word) + "' is not a sanitizer (all, bounds, races, barriers, alignment, stale, uninitialised)");
    }
    return checks;
}

std::string Checks::names() const {
    std::string text;
    for (const Named& check : kChecks)
        if (this->*check.flag) (text += text.empty() ? "" : ",") += check.name;
    return text;
}

void Reports::begin(const PreparedLaunch& launch, std::uint64_t dispatch) {
    launch_ = &launch;
    dispatch_ = dispatch;
    ended_ = reports_.size();
    ++dispatches_;
}

bool Reports::again(Defect defect, std::uint32_t pc, std::uint32_t other_pc) {
    const auto found = known_.find({defect, launch_->launch.object, pc, other_pc});
    if (found == known_.end()) return false;
    ++reports_[found->second].count;
    changed_ = true;
    return true;
}

void Reports::add(Case found) {
    if (reports_.size() == limit) {
        ++left_out_;
        return;
    }
    const std::uint32_t other_pc = found.other ? found.other->pc : ~0U;
    const auto& code = launch_->launch.object->code->program.instructions;
    known_.emplace(Key{found.defect, launch_->launch.object, found.at.pc, other_pc}, reports_.size());
    Report report;
    report.kernel = launch_->launch.kernel->symbol;
    report.code_object = launch_->launch.object->hash;
    report.dispatch = dispatch_;
    report.address = code[found.at.pc].address;
    report.instruction = code[found.at.pc].text;
    if (found.other) {
        report.other_address = code[other_pc].address;
        report.other_instruction = code[other_pc].text;
    }
    report.groups = launch_->groups;
    report.workgroup = launch_->launch.workgroup;
    report.first = std::move(found);
    reports_.push_back(std::move(report));
    changed_ = true;
}

void Reports::end(const std::function<bool(std::uint32_t)>& ran) {
    const Program& program = launch_->launch.object->code->program;
    const auto addresses = [&](std::uint32_t pc) {
        Uses all;
        for (const std::vector<std::uint32_t>& level : uses_of(program, pc, ran)) {
            all.emplace_back();
            for (const std::uint32_t use : level) all.back().push_back(program.instructions[use].address);
        }
        return all;
    };
    for (; ended_ < reports_.size(); ++ended_) {
        Report& r = reports_[ended_];
        r.uses = addresses(r.first.at.pc);
        if (r.first.other) r.other_uses = addresses(r.first.other->pc);
    }
}

void Reports::write(const std::string& path) {
    Json json;
    json.open('{').field("schema", "hipscope.sanitize/1").field("checks", checks_.names());
    json.field("dispatches", dispatches_).field("left_out", left_out_).key("reports").open('[');
    for (const Report& r : reports_) {
        const Case& c = r.first;
        json.open('{').field("class", defect_name(c.defect)).field("message", c.message).field("count", r.count);
        json.field("kernel", r.kernel).field("code_object", r.code_object).field("dispatch", r.dispatch).key("at");
        place(json, c.at, r.address, r.instruction, r.uses, r.groups, r.workgroup);
        json.key("other");
        if (c.other) place(json, *c.other, r.other_address, r.other_instruction, r.other_uses, r.groups, r.workgroup);
        else json.null();
        json.key("memory");
        if (c.bytes.space == Space::none) json.null();
        else
            json.open('{').field("space", space_name(c.bytes.space)).field("address", c.bytes.address)
                .field("bytes", c.bytes.count).field("write", c.bytes.write).close('}');
        json.key("allocation");
        if (c.allocation) {
            const AllocationNote& a = *c.allocation;
            json.open('{').field("id", a.id).field("address", a.address).field("bytes", a.bytes).field("freed", a.freed);
            frames(json, "allocated_by", a.allocated_by);
            frames(json, "freed_by", a.freed_by);
            json.close('}');
        } else {
            json.null();
        }
        json.close('}');
    }
    json.close(']').close('}');
    changed_ = false;
    replace_file(path, json.text());
}

}  // namespace hipscope::sanitize
