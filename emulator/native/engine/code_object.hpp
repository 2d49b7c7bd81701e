// A code object loaded into device memory: its kernels, variables and decoded instructions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/decode.hpp"
#include "core/memory.hpp"
#include "engine/kernel_argument.hpp"
#include "engine/printf_buffers.hpp"

namespace hipscope {

/// The 64-byte kernel descriptor (LLVM AMDGPUUsage, "Kernel Descriptor") and the metadata note's row of a kernel.
struct Kernel {
    std::string symbol;  // mangled, without ".kd"
    std::vector<KernelArgument> arguments;
    std::uint64_t descriptor_address = 0;  // in device memory
    std::uint64_t entry = 0;               // virtual address in the code object, preload prologue skipped
    std::uint64_t code_end = 0;            // virtual address after the last byte of the kernel's symbol
    std::uint32_t kernarg_bytes = 0;
    std::uint32_t lds_bytes = 0;
    std::uint32_t scratch_bytes = 0;  // per work-item
    std::uint32_t max_workgroup_size = 1024;
    std::uint32_t vgprs = 0, agprs = 0, sgprs = 0;
    std::uint32_t allocated_vgprs = 0;  // rows of the unified register file that a wave holds
    std::uint32_t register_rows = 0;    // rows that the emulated register file must have, AGPRs from row 256 on
    std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    std::uint16_t enable_bits = 0;
    std::uint16_t preload_dwords = 0, preload_offset = 0;
    bool uses_dynamic_stack = false;
    /// What keeps this kernel from being run ("cannot emulate v_foo at 0x1234"); empty when nothing does.
    std::string obstacle;
    std::uint64_t obstacle_address = 0;
    std::string obstacle_text;

    [[nodiscard]] const KernelArgument* hidden(std::string_view value_kind) const;
    /// Bytes of the kernarg segment that the program itself passes.
    [[nodiscard]] std::uint32_t explicit_bytes() const;
};

struct Variable {
    std::uint64_t address = 0;  // in device memory
    std::uint64_t bytes = 0;
};

struct CodeObject {
    std::string hash;   // of the ELF's bytes, names it in all output
    std::string elf;
    std::string arch;   // "gfx942"
    std::uint64_t image = 0;  // start of its block in device memory
    std::shared_ptr<Disassembly> code;
    std::map<std::string, Kernel, std::less<>> kernels;
    std::map<std::string, Variable, std::less<>> variables;
    PrintfFormats printf_formats;
};

struct DisassemblySettings {
    std::string objdump;    // path of llvm-objdump
    std::string cache;      // folder for its output by content hash; empty: no cache
    int timeout_s = 120;
};

/// Load `elf` into `memory`, relocate it, read its metadata and decode its instructions.
///
/// Throws std::runtime_error with one line: not an AMDGPU ELF, no memory, an unknown relocation, no disassembler.
std::unique_ptr<CodeObject> load_code_object(std::string elf, Memory& memory, const DisassemblySettings& settings);

/// Gives the disassembly text (llvm-objdump -d) of a code object's bytes.
using Disassembler = std::function<std::string(const std::string& elf)>;

/// The same with the text from elsewhere.
std::unique_ptr<CodeObject> load_code_object(std::string elf, Memory& memory, const Disassembler& disassembler);

/// Disassembly text of a code object file; runs llvm-objdump unless the cache has it. Throws std::runtime_error.
std::string disassemble(const std::string& elf, const std::string& hash, const DisassemblySettings& settings);

}  // namespace hipscope
