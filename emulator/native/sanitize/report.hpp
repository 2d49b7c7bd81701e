// What the sanitizers found: one report per kind of defect and pair of instructions, with its first case and a count.
// In: cases as the checks see them. Out: sanitize.json, which emulator/sanitize.py reads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/wave.hpp"
#include "engine/launch.hpp"

namespace hipscope::sanitize {

enum class Defect : std::uint8_t { out_of_bounds, use_after_free, race, barrier, misaligned, stale, uninitialised, wave_order };

std::string_view defect_name(Defect defect);

/// Which checks run. `exact_alignment`: the code was compiled so that every access is as wide as its C++ alignment allows.
/// `wave_order`: exchanges within a wave are listed, for whoever knows the source; "all" leaves both out.
struct Checks {
    bool bounds = false, races = false, barriers = false, alignment = false, stale = false, uninitialised = false;
    bool exact_alignment = false, wave_order = false;

    /// From "all" or a list of names ("bounds,races"). Throws std::runtime_error naming the word that is none.
    static Checks parse(std::string_view list);
    [[nodiscard]] std::string names() const;
};

/// One side of a defect. `lane` -1: the whole wave.
struct Place {
    std::uint32_t pc = 0;
    std::uint64_t group = 0;
    std::uint32_t wave = 0;
    int lane = -1;
};

/// The bytes it is about.
struct Bytes {
    Space space = Space::none;
    std::uint64_t address = 0;  // of device memory, or the offset in LDS or scratch
    std::uint32_t count = 0;
    bool write = false;
};

/// An allocation of device memory as the report shows it; frames are return addresses in the host program.
struct AllocationNote {
    std::uint32_t id = 0;
    std::uint64_t address = 0, bytes = 0;
    bool freed = false;
    std::vector<std::uint64_t> allocated_by, freed_by;
};

struct Case {
    Defect defect = Defect::out_of_bounds;
    Place at;
    std::optional<Place> other;
    std::string message;
    Bytes bytes;
    std::optional<AllocationNote> allocation;
};

/// All reports of a process, in the order in which they were first seen.
class Reports {
public:
    static constexpr std::size_t limit = 2000;

    explicit Reports(Checks checks) : checks_(checks) {}

    void begin(const PreparedLaunch& launch, std::uint64_t dispatch);
    /// Counts one more case of a known report. False when it is not known yet: describe it and `add` it.
    bool again(Defect defect, std::uint32_t pc, std::uint32_t other_pc = ~0U);
    void add(Case found);
    /// The dispatch has ended. `ran` counts its instructions.
    void end(const std::function<bool(std::uint32_t)>& ran);

    [[nodiscard]] bool changed() const { return changed_; }
    /// Replaces `path`. A file that was cut by a full disk is not left behind.
    void write(const std::string& path);

private:
    using Uses = std::vector<std::vector<std::uint64_t>>;  // addresses, see uses_of
    struct Report {
        Case first;
        std::string kernel, code_object;
        std::uint64_t dispatch = 0, count = 1;
        std::uint64_t address = 0, other_address = 0;  // in the code object
        std::string instruction, other_instruction;
        Uses uses, other_uses;
        std::array<std::uint32_t, 3> groups{}, workgroup{};
    };
    using Key = std::tuple<Defect, const CodeObject*, std::uint32_t, std::uint32_t>;

    Checks checks_;
    const PreparedLaunch* launch_ = nullptr;
    std::uint64_t dispatch_ = 0, dispatches_ = 0, left_out_ = 0;
    std::map<Key, std::size_t> known_;
    std::vector<Report> reports_;
    std::size_t ended_ = 0;  // reports of dispatches that have ended
    bool changed_ = true;
};

}  // namespace hipscope::sanitize
