// Runs instructions on a given wave state; the tests and benchmarks of the instruction set drive it.
//
//   hipscope-isa-probe --list                         the mnemonics of the table, one per line
//   hipscope-isa-probe --refused                      what is refused and why, one line each, tab between
//   hipscope-isa-probe --check DISASSEMBLY            what cannot be decoded, one line each
//   hipscope-isa-probe DISASSEMBLY CASES RESULTS      cases and results are arrays of `Case` (tests/emulator/isa_oracle.py)
//   hipscope-isa-probe --bench DISASSEMBLY SECONDS    runs the program over and over, prints wave-instructions per second
//
// Where HIPSCOPE_ISA_EXECUTED names a file, each instruction that a case has executed is added to it: target, tab, text.
// Where HIPSCOPE_ISA_SPOIL is set, one bit of every word that a case has changed is taken back: tests that look must notice.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/clock_step.hpp"
#include "core/decode.hpp"
#include "core/global_sync.hpp"
#include "core/memory.hpp"
#include "core/wave.hpp"
#include "isa/lookup.hpp"
#include "isa/refused.hpp"

namespace {

using namespace hipscope;

constexpr std::uint64_t block_address = Memory::base + 0x100000;
constexpr std::size_t rows = 64;

/// One wave before and after; 32-bit little-endian words, as numpy reads and writes them.
struct Case {
    std::uint32_t first = 0;      // in: instruction index; out: pc
    std::uint32_t count = 0;      // in: most instructions to run; out: how many ran
    std::uint32_t step = 0;       // out: Step of the last one
    std::uint32_t fault = 0;      // out: FaultKind
    std::uint32_t scc = 0;
    std::uint32_t mode = 0;
    std::uint32_t sgpr[sreg::count] = {};
    std::uint32_t vgpr[rows][kLanes] = {};
    std::uint32_t agpr[rows][kLanes] = {};
    std::uint32_t lds[1024] = {};
    std::uint32_t memory[1024] = {};
    std::uint32_t scratch[kLanes][16] = {};
};

struct Registers {
    std::uint32_t row[513][kLanes] = {};
};

std::string read_text(const char* path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Instructions that have been executed without a fault, by index.
using Executed = std::vector<bool>;

Step run(Wave& wave, const Program& program, std::uint32_t& budget, Executed* executed = nullptr) {
    std::uint32_t ran = 0;
    Step step = Step::next;
    while (ran < budget && wave.pc < program.instructions.size()) {
        const Instruction& in = program.instructions[wave.pc];
        if (in.run == nullptr) {
            step = Step::fault;
            wave.fault.kind = FaultKind::unsupported;
            break;
        }
        const std::uint32_t pc = wave.pc;
        step = in.run(wave, in);
        if (step == kReadClock) step = Step::next;
        ++ran;
        if (executed != nullptr && step != Step::fault) (*executed)[pc] = true;
        if (step == Step::fault || step == Step::retry) break;
        if (step != Step::jump) ++wave.pc;
        if (step == Step::end) break;
    }
    budget = ran;
    return step;
}

void run_case(Case& c, const Program& program, Memory& memory, Registers& registers, Executed& executed) {
    Wave wave;
    wave.vgpr = registers.row;
    std::memcpy(registers.row[0], c.vgpr, sizeof c.vgpr);
    std::memcpy(registers.row[256], c.agpr, sizeof c.agpr);
    std::memcpy(wave.sgpr.data(), c.sgpr, sizeof c.sgpr);
    std::memcpy(reinterpret_cast<void*>(block_address), c.memory, sizeof c.memory);
    wave.scc = c.scc != 0;
    wave.mode = c.mode;
    wave.pc = c.first;
    wave.program = &program;
    wave.memory = &memory;
    wave.lds = reinterpret_cast<std::uint8_t*>(c.lds);
    wave.lds_bytes = sizeof c.lds;
    wave.scratch = reinterpret_cast<std::uint8_t*>(c.scratch);
    wave.scratch_per_lane = sizeof c.scratch[0];
    GlobalSync sync;
    wave.sync = &sync;
    c.step = static_cast<std::uint32_t>(run(wave, program, c.count, &executed));
    c.first = wave.pc;
    c.fault = static_cast<std::uint32_t>(wave.fault.kind);
    c.scc = wave.scc ? 1 : 0;
    c.mode = wave.mode;
    std::memcpy(c.sgpr, wave.sgpr.data(), sizeof c.sgpr);
    std::memcpy(c.vgpr, registers.row[0], sizeof c.vgpr);
    std::memcpy(c.agpr, registers.row[256], sizeof c.agpr);
    std::memcpy(c.memory, reinterpret_cast<const void*>(block_address), sizeof c.memory);
}

/// Take back the lowest bit that has changed in each word of a result.
void spoil(const Case& before, Case& after) {
    constexpr std::size_t first = offsetof(Case, scc) / sizeof(std::uint32_t), words = sizeof(Case) / sizeof(std::uint32_t);
    std::vector<std::uint32_t> was(words), is(words);
    std::memcpy(was.data(), &before, sizeof before);
    std::memcpy(is.data(), &after, sizeof after);
    for (std::size_t i = first; i < words; ++i) {
        const std::uint32_t changed = was[i] ^ is[i];
        is[i] ^= changed & (~changed + 1);
    }
    std::memcpy(static_cast<void*>(&after), is.data(), sizeof after);
}

int list() {
    for (const std::string_view name : supported_mnemonics()) std::cout << name << '\n';
    return 0;
}

int refused() {
    for (const isa::Refused& row : isa::refused()) std::cout << row.name << '\t' << row.reason << '\n';
    return 0;
}

int check(const char* path) {
    const Disassembly code = decode(read_text(path));
    for (const Undecoded& u : code.unsupported) std::cout << u.text << ": " << u.reason << '\n';
    std::cerr << code.program.instructions.size() << " instructions, " << code.unsupported.size() << " unsupported, "
              << isa::level() << '\n';
    return code.unsupported.empty() ? 0 : 1;
}

/// The target whose rows are used.
const char* target() {
    const char* chosen = std::getenv("HIPSCOPE_ISA_TARGET");
    return chosen == nullptr ? "gfx942" : chosen;
}

void note_executed(const char* path, const Program& program, const Executed& executed) {
    std::string lines;
    for (std::size_t i = 0; i < executed.size(); ++i)
        if (executed[i]) ((lines += target()) += '\t') += program.instructions[i].text + '\n';
    std::ofstream(path, std::ios::app) << lines;
}

int cases(const char* disassembly, const char* input, const char* output) {
    const Disassembly code = decode(read_text(disassembly), target());
    for (const Undecoded& u : code.unsupported) std::cerr << u.text << ": " << u.reason << '\n';
    Memory memory;
    if (!memory.allocate_at(block_address, sizeof Case{}.memory)) return 3;
    const auto registers = std::make_unique<Registers>();
    const auto c = std::make_unique<Case>();
    std::ifstream in(input, std::ios::binary);
    std::ofstream out(output, std::ios::binary);
    Executed executed(code.program.instructions.size());
    const bool spoiled = std::getenv("HIPSCOPE_ISA_SPOIL") != nullptr;
    const auto before = std::make_unique<Case>();
    while (in.read(reinterpret_cast<char*>(c.get()), sizeof(Case))) {
        *before = *c;
        run_case(*c, code.program, memory, *registers, executed);
        if (spoiled) spoil(*before, *c);
        out.write(reinterpret_cast<const char*>(c.get()), sizeof(Case));
    }
    if (const char* path = std::getenv("HIPSCOPE_ISA_EXECUTED")) note_executed(path, code.program, executed);
    return out ? 0 : 3;
}

int bench(const char* path, double seconds) {
    const Disassembly code = decode(read_text(path));
    if (!code.unsupported.empty()) return check(path);
    Memory memory;
    if (!memory.allocate_at(block_address, 1U << 20U)) return 3;
    const auto registers = std::make_unique<Registers>();
    std::vector<std::uint8_t> lds(65536), scratch(std::size_t{kLanes} * 4096);
    std::uint64_t total = 0;
    const std::clock_t begin = std::clock();
    double elapsed = 0;
    while (elapsed < seconds) {
        Wave wave;
        wave.vgpr = registers->row;
        for (std::uint32_t i = 0; i < kLanes; ++i) registers->row[0][i] = i;
        wave.set_s64(sreg::exec, ~std::uint64_t{0});
        wave.set_s64(0, block_address);
        wave.program = &code.program;
        wave.memory = &memory;
        wave.lds = lds.data();
        wave.lds_bytes = static_cast<std::uint32_t>(lds.size());
        wave.scratch = scratch.data();
        wave.scratch_per_lane = 4096;
        wave.observed = false;
        std::uint32_t budget = 50'000'000;
        if (run(wave, code.program, budget) == Step::fault) {
            std::cerr << wave.fault.message << '\n';
            return 4;
        }
        total += budget;
        elapsed = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;  // processor time: other programs do not count
    }
    std::printf("%.1f M wave-instructions/s (%s)\n", static_cast<double>(total) / elapsed / 1e6, std::string(isa::level()).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "";
    if (first == "--list") return list();
    if (first == "--refused") return refused();
    if (first == "--check" && argc == 3) return check(argv[2]);
    if (first == "--bench" && argc == 4) return bench(argv[2], std::atof(argv[3]));
    if (argc == 4) return cases(argv[1], argv[2], argv[3]);
    std::cerr << "usage: hipscope-isa-probe --list | --refused | --check DISASSEMBLY | --bench DISASSEMBLY SECONDS | DISASSEMBLY CASES RESULTS\n";
    return 2;
}
