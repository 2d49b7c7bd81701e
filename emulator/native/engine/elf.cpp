// Checked reads of an ELF file and of its metadata note.
#include "engine/elf.hpp"

namespace hipscope {
namespace {

constexpr std::uint32_t kMetadataNote = 32;
constexpr std::uint16_t kMachineAmdgpu = 224;

}  // namespace

Elf::Elf(std::string_view bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(Elf64_Ehdr) || !bytes.starts_with("\x7f" "ELF"))
        throw std::runtime_error("the device code is not an ELF file");
    header_ = read<Elf64_Ehdr>(0);
    if (header_.e_machine != kMachineAmdgpu) throw std::runtime_error("the device code is not for an AMD GPU");
}

std::string_view Elf::bytes(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
        throw std::runtime_error("the code object is truncated");
    return bytes_.substr(offset, size);
}

std::vector<Elf64_Phdr> Elf::segments() const {
    std::vector<Elf64_Phdr> result;
    for (unsigned i = 0; i < header_.e_phnum; ++i)
        result.push_back(read<Elf64_Phdr>(header_.e_phoff + std::uint64_t{i} * header_.e_phentsize));
    return result;
}

std::vector<Elf64_Shdr> Elf::sections() const {
    std::vector<Elf64_Shdr> result;
    for (unsigned i = 0; i < header_.e_shnum; ++i)
        result.push_back(read<Elf64_Shdr>(header_.e_shoff + std::uint64_t{i} * header_.e_shentsize));
    return result;
}

std::string_view Elf::text_at(std::uint64_t offset) const {
    const std::string_view rest = bytes(offset, bytes_.size() - offset);
    return rest.substr(0, rest.find('\0'));
}

msgpack::Value metadata(const Elf& elf, const std::vector<Elf64_Shdr>& sections) {
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_NOTE) continue;
        const std::uint64_t end = section.sh_offset + elf.bytes(section.sh_offset, section.sh_size).size();
        for (std::uint64_t at = section.sh_offset; at + sizeof(Elf64_Nhdr) <= end;) {
            const auto note = elf.read<Elf64_Nhdr>(at);
            const std::uint64_t name = at + sizeof note;
            const std::uint64_t content = name + ((std::uint64_t{note.n_namesz} + 3) & ~std::uint64_t{3});
            if (note.n_type == kMetadataNote && elf.text_at(name) == "AMDGPU")
                return msgpack::parse(elf.bytes(content, note.n_descsz));
            at = content + ((std::uint64_t{note.n_descsz} + 3) & ~std::uint64_t{3});
        }
    }
    throw std::runtime_error("the code object has no AMDGPU metadata (code object version 3 or later is needed)");
}

}  // namespace hipscope
