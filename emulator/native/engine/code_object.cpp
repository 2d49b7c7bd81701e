// Loader: ELF segments into the arena, dynamic relocations, metadata note, kernel descriptors, reachability check.
#include "engine/code_object.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/bundle.hpp"
#include "engine/elf.hpp"
#include "engine/kept_code.hpp"
#include "engine/msgpack.hpp"
#include "isa/raise.hpp"

namespace hipscope {
namespace {

constexpr std::uint64_t kLargestImage = 1ULL << 32U;  // code reaches its data by 32-bit distances
constexpr std::uint32_t kLargestKernarg = 60'000;     // bytes; the launch area holds them
constexpr std::uint32_t kMaxUserRegisters = 16;       // LLVM AMDGPUUsage, "Kernel Descriptor": USER_SGPR_COUNT
constexpr std::uint32_t kRelativeType = 13, kAbs64Type = 3, kAbs32LoType = 1, kAbs32HiType = 2, kAbs32Type = 6;

struct Symbol {
    std::string name;
    std::uint64_t value = 0, size = 0;
    unsigned type = 0;
    bool defined = false;
};

std::vector<Symbol> dynamic_symbols(const Elf& elf, const std::vector<Elf64_Shdr>& sections) {
    std::vector<Symbol> result;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_DYNSYM) continue;
        if (section.sh_link >= sections.size())
            throw std::runtime_error("the code object is damaged: its symbols have no names");
        const std::uint64_t names = sections[section.sh_link].sh_offset;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            const auto s = elf.read<Elf64_Sym>(section.sh_offset + at);
            result.push_back({std::string(elf.text_at(names + s.st_name)), s.st_value, s.st_size,
                              static_cast<unsigned>(ELF64_ST_TYPE(s.st_info)), s.st_shndx != SHN_UNDEF});
        }
    }
    return result;
}

/// The loaded segments; every access is checked against their size.
class Image {
public:
    Image(std::uint64_t address, std::uint64_t bytes) : address_(address), bytes_(bytes) {}
    [[nodiscard]] std::uint64_t address() const { return address_; }
    template <class T>
    [[nodiscard]] T read(std::uint64_t offset) const {
        T value;
        std::memcpy(&value, place(offset, sizeof value), sizeof value);
        return value;
    }
    void write(std::uint64_t offset, std::string_view content) const {
        std::memcpy(place(offset, content.size()), content.data(), content.size());
    }
    [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const {
        return offset <= bytes_ && bytes <= bytes_ - offset;
    }

private:
    [[nodiscard]] void* place(std::uint64_t offset, std::uint64_t bytes) const {
        if (!holds(offset, bytes)) throw std::runtime_error("the code object is damaged: it refers to bytes outside of its segments");
        return reinterpret_cast<void*>(address_ + offset);  // NOLINT(performance-no-int-to-ptr)
    }

    std::uint64_t address_, bytes_;
};

Image copy_segments(const Elf& elf, Memory& memory) {
    std::uint64_t size = 0;
    for (const Elf64_Phdr& p : elf.segments()) {
        if (p.p_type != PT_LOAD) continue;
        if (p.p_vaddr > kLargestImage || p.p_memsz > kLargestImage - p.p_vaddr || p.p_filesz > p.p_memsz)
            throw std::runtime_error("the code object is damaged: a segment has an impossible size");
        size = std::max(size, p.p_vaddr + p.p_memsz);
    }
    if (size == 0) throw std::runtime_error("the code object has nothing to load");
    // Compilers load up to 16 aligned bytes where the last of them lie behind a variable; loaders allocate whole pages.
    size = (size + 15) / 16 * 16;
    const std::uint64_t address = memory.allocate(size);
    if (address == 0) throw std::runtime_error("no device memory left for the code object");
    const Image image(address, size);
    for (const Elf64_Phdr& p : elf.segments())
        if (p.p_type == PT_LOAD) image.write(p.p_vaddr, elf.bytes(p.p_offset, p.p_filesz));
    return image;
}

void relocate(const Elf& elf, const std::vector<Elf64_Shdr>& sections, const std::vector<Symbol>& symbols,
              const Image& image) {
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0) continue;
        for (std::uint64_t i = 0; i + sizeof(Elf64_Rela) <= section.sh_size; i += sizeof(Elf64_Rela)) {
            const auto r = elf.read<Elf64_Rela>(section.sh_offset + i);
            const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info));
            std::uint64_t value = image.address() + static_cast<std::uint64_t>(r.r_addend);
            if (type != kRelativeType) {
                if (ELF64_R_SYM(r.r_info) >= symbols.size())
                    throw std::runtime_error("the code object is damaged: a relocation names a symbol that it does not have");
                const Symbol& symbol = symbols[ELF64_R_SYM(r.r_info)];
                if (!symbol.defined)
                    throw std::runtime_error("the code object needs the symbol '" + symbol.name +
                                             "', which it does not define");
                value += symbol.value;
            }
            std::size_t bytes = 4;
            switch (type) {
                case kRelativeType: case kAbs64Type: bytes = 8; break;
                case kAbs32LoType: case kAbs32Type: break;
                case kAbs32HiType: value >>= 32U; break;
                default: throw std::runtime_error("the code object has a relocation of unknown type " +
                                                  std::to_string(type));
            }
            image.write(r.r_offset, {reinterpret_cast<const char*>(&value), bytes});
        }
    }
}

std::uint32_t number(const msgpack::Value& row, std::string_view name) {
    return static_cast<std::uint32_t>(row[name].integer);
}

void read_descriptor(Kernel& kernel, std::uint64_t d, const Image& image) {
    kernel.descriptor_address = image.address() + d;
    kernel.lds_bytes = image.read<std::uint32_t>(d);
    kernel.scratch_bytes = image.read<std::uint32_t>(d + 4);
    kernel.kernarg_bytes = std::max(image.read<std::uint32_t>(d + 8), kernel.kernarg_bytes);
    kernel.rsrc3 = image.read<std::uint32_t>(d + 44);
    kernel.rsrc1 = image.read<std::uint32_t>(d + 48);
    kernel.rsrc2 = image.read<std::uint32_t>(d + 52);
    kernel.enable_bits = image.read<std::uint16_t>(d + 56);
    const auto preload = image.read<std::uint16_t>(d + 58);
    kernel.preload_dwords = preload & 0x7fU;
    kernel.preload_offset = preload >> 7U;
    kernel.allocated_vgprs = ((kernel.rsrc1 & 0x3fU) + 1) * 8;
    kernel.entry = d + image.read<std::uint64_t>(d + 16) + (kernel.preload_dwords != 0 ? 256U : 0U);
    if (kernel.preload_dwords > kMaxUserRegisters || kernel.kernarg_bytes > kLargestKernarg)
        throw std::runtime_error("the code object is damaged: the descriptor of kernel '" + kernel.symbol + "' is impossible");
}

Kernel read_kernel(const msgpack::Value& row, const std::vector<Symbol>& symbols, const Image& image) {
    Kernel kernel;
    const std::string& descriptor_name = row[".symbol"].text;
    if (!descriptor_name.ends_with(".kd"))
        throw std::runtime_error("the code object is damaged: a kernel has no name in the metadata");
    kernel.symbol = descriptor_name.substr(0, descriptor_name.size() - 3);
    for (const msgpack::Value& argument : row[".args"].items) {
        kernel.arguments.push_back(
            {number(argument, ".offset"), number(argument, ".size"), argument[".value_kind"].text});
        const KernelArgument& last = kernel.arguments.back();
        if (last.offset > kLargestKernarg || last.size > kLargestKernarg - last.offset)
            throw std::runtime_error("the code object is damaged: kernel '" + kernel.symbol + "' has an impossible argument");
    }
    kernel.kernarg_bytes = number(row, ".kernarg_segment_size");
    kernel.max_workgroup_size = number(row, ".max_flat_workgroup_size");
    kernel.vgprs = number(row, ".vgpr_count");
    kernel.agprs = number(row, ".agpr_count");
    kernel.sgprs = number(row, ".sgpr_count");
    kernel.uses_dynamic_stack = row[".uses_dynamic_stack"].integer != 0;
    bool described = false;
    for (const Symbol& symbol : symbols) {
        if (symbol.name == descriptor_name && symbol.defined) {
            read_descriptor(kernel, symbol.value, image);
            described = true;
        }
        if (symbol.name == kernel.symbol && symbol.type == STT_FUNC) kernel.code_end = symbol.value + symbol.size;
    }
    if (!described) throw std::runtime_error("kernel '" + kernel.symbol + "' has no descriptor in the code object");
    return kernel;
}

/// Find the first instruction that `kernel` may reach and that cannot be executed.
void note_obstacle(Kernel& kernel, const Disassembly& code) {
    const std::int64_t first = code.program.index_of(kernel.entry);
    if (first < 0) {
        kernel.obstacle = "cannot find the first instruction of the kernel in the disassembly";
        return;
    }
    const auto inside = [&](std::uint64_t address) { return address >= kernel.entry && address < kernel.code_end; };
    bool calls = false;
    const auto& instructions = code.program.instructions;
    for (auto i = static_cast<std::size_t>(first); i < instructions.size() && inside(instructions[i].address); ++i)
        calls = calls || instructions[i].text.starts_with("s_swappc") || instructions[i].text.starts_with("s_setpc");
    // What a call may reach is not known: a kernel that calls must find all of the code object executable.
    for (const Undecoded& bad : code.unsupported)
        if (inside(bad.address) || calls) {
            const std::string mnemonic = bad.text.substr(0, bad.text.find(' '));
            char where[32];
            std::snprintf(where, sizeof where, "0x%llx", static_cast<unsigned long long>(bad.address));
            kernel.obstacle = "cannot emulate " + mnemonic + " at " + where +
                              (bad.reason.empty() ? "" : " (" + bad.reason + ")");
            kernel.obstacle_address = bad.address;
            kernel.obstacle_text = bad.text;
            return;
        }
}

/// Makes every place that a wave can get to executable: what was not decoded and what lies behind the last instruction
/// ends the dispatch with a fault. (A kernel that reaches such a place on a path that is known is refused before.)
void seal(Program& program) {
    const auto fault = [](Wave& wave, const Instruction&) {
        return isa::raise(wave, FaultKind::unsupported, 0, 0, -1, false);
    };
    const auto past_end = [](Wave& wave, const Instruction&) {
        isa::raise(wave, FaultKind::trap, 0, 0, -1, false);
        wave.fault.message = "the wave ran past the end of the code";
        return Step::fault;
    };
    for (Instruction& in : program.instructions)
        if (in.run == nullptr) in.run = fault;
    Instruction end;
    if (!program.instructions.empty()) end.address = program.instructions.back().address + program.instructions.back().bytes;
    end.text = "end of the code";
    end.run = past_end;
    program.instructions.push_back(std::move(end));
}

/// The registers that some instruction of a code object names: any of them may be reached by a call.
struct NamedRegisters {
    std::uint32_t rows = 0;
    bool accumulators = false;
};

NamedRegisters named_registers(const Program& program) {
    NamedRegisters named;
    const auto note = [&](const Operand& o) {
        if (o.kind == OperandKind::vgpr) named.rows = std::max<std::uint32_t>(named.rows, std::uint32_t{o.index} + o.dwords);
        if (o.kind == OperandKind::agpr) named.accumulators = true;
    };
    for (const Instruction& i : program.instructions) {
        for (const Operand& o : i.destination) note(o);
        for (const Operand& o : i.source) note(o);
        if (i.unindexed != nullptr) named.rows = std::max(named.rows, 256U);  // M0 chooses the register
    }
    return named;
}

std::uint32_t register_rows(const Kernel& kernel, const NamedRegisters& named) {
    if (named.accumulators || kernel.agprs > 0) return 512;
    return std::min<std::uint32_t>(std::max({kernel.allocated_vgprs, kernel.vgprs, named.rows}), 512);
}

std::string architecture_of(const msgpack::Value& note) {
    const std::string& target = note["amdhsa.target"].text;
    const std::size_t begin = target.find("gfx");
    if (begin == std::string::npos) return {};
    return target.substr(begin, target.find(':', begin) - begin);
}

/// What every load of the same code object has in common.
struct Decoded {
    std::shared_ptr<Disassembly> code;
    NamedRegisters registers;
};

Decoded decoded(const std::string& text, const std::string& arch) {
    auto code = std::make_shared<Disassembly>(decode(text, arch));
    const NamedRegisters registers = named_registers(code->program);
    seal(code->program);
    return {std::move(code), registers};
}

/// What `keep_decoded` has kept, by the hash of the code object's bytes.
std::map<std::string, Decoded>& kept() {
    static std::map<std::string, Decoded> codes;
    return codes;
}

/// Gives the instructions of a code object, from its bytes and its architecture.
using Decoder = std::function<Decoded(const std::string& elf, const std::string& arch)>;

std::unique_ptr<CodeObject> load(std::string elf_bytes, std::string hash, Memory& memory, const Decoder& decoder) {
    auto object = std::make_unique<CodeObject>();
    object->elf = std::move(elf_bytes);
    object->hash = std::move(hash);
    const Elf elf(object->elf);
    const std::vector<Elf64_Shdr> sections = elf.sections();
    const std::vector<Symbol> symbols = dynamic_symbols(elf, sections);
    const msgpack::Value note = metadata(elf, sections);
    if (note.kind != msgpack::Value::Kind::map && note.kind != msgpack::Value::Kind::nil)
        throw std::runtime_error("the code object is damaged: its metadata is not a map");
    object->arch = architecture_of(note);
    const Decoded decoded = decoder(object->elf, object->arch);
    object->code = decoded.code;
    for (const msgpack::Value& line : note["amdhsa.printf"].items) add_printf_format(object->printf_formats, line.text);
    const Image image = copy_segments(elf, memory);
    object->image = image.address();
    try {
        relocate(elf, sections, symbols, image);
        for (const msgpack::Value& row : note["amdhsa.kernels"].items) {
            Kernel kernel = read_kernel(row, symbols, image);
            object->kernels.emplace(kernel.symbol, std::move(kernel));
        }
    } catch (...) {
        memory.release(object->image);
        throw;
    }
    for (auto& [name, kernel] : object->kernels) {
        note_obstacle(kernel, *object->code);
        kernel.register_rows = register_rows(kernel, decoded.registers);
    }
    for (const Symbol& symbol : symbols)
        if (symbol.type == STT_OBJECT && symbol.defined && !symbol.name.ends_with(".kd") && image.holds(symbol.value, symbol.size))
            object->variables.emplace(symbol.name, Variable{object->image + symbol.value, symbol.size});
    return object;
}

}  // namespace

const KernelArgument* Kernel::hidden(std::string_view value_kind) const {
    for (const KernelArgument& argument : arguments)
        if (argument.value_kind == value_kind) return &argument;
    return nullptr;
}

std::uint32_t Kernel::explicit_bytes() const {
    std::uint32_t end = 0;
    for (const KernelArgument& argument : arguments)
        if (!argument.value_kind.starts_with("hidden_")) end = std::max(end, argument.offset + argument.size);
    return end;
}

std::unique_ptr<CodeObject> load_code_object(std::string elf_bytes, Memory& memory,
                                             const DisassemblySettings& settings) {
    const std::string hash = content_hash(elf_bytes);
    return load(std::move(elf_bytes), hash, memory, [&](const std::string& elf, const std::string& arch) {
        const auto known = kept().find(hash);
        return known != kept().end() ? known->second : decoded(disassemble(elf, hash, settings), arch);
    });
}

std::unique_ptr<CodeObject> load_code_object(std::string elf_bytes, Memory& memory, const Disassembler& disassembler) {
    std::string hash = content_hash(elf_bytes);
    return load(std::move(elf_bytes), std::move(hash), memory,
                [&](const std::string& elf, const std::string& arch) { return decoded(disassembler(elf), arch); });
}

void keep_decoded(const std::string& elf, const DisassemblySettings& settings) {
    const std::string hash = content_hash(elf);
    if (kept().contains(hash)) return;
    const Elf file(elf);
    const std::string arch = architecture_of(metadata(file, file.sections()));
    kept().emplace(hash, decoded(disassemble(elf, hash, settings), arch));
}

}  // namespace hipscope
