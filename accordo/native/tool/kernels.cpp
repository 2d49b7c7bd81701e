// Metadata note to kernels.
#include "tool/kernels.hpp"

#include <algorithm>

#include "engine/elf.hpp"

namespace hipscope::gpu {

std::uint32_t KernelMetadata::explicit_bytes() const {
    std::uint32_t end = 0;
    for (const KernelArgument& a : arguments)
        if (!a.value_kind.starts_with("hidden_")) end = std::max(end, a.offset + a.size);
    return end;
}

std::map<std::string, KernelMetadata> read_kernels(const std::string& elf) {
    const auto number = [](const msgpack::Value& row, std::string_view name) {
        return static_cast<std::uint32_t>(row[name].integer);
    };
    std::map<std::string, KernelMetadata> kernels;
    const Elf file(elf);
    const msgpack::Value note = metadata(file, file.sections());
    for (const msgpack::Value& row : note["amdhsa.kernels"].items) {
        KernelMetadata kernel;
        const std::string& descriptor = row[".symbol"].text;
        kernel.symbol = descriptor.substr(0, descriptor.rfind(".kd"));
        kernel.kernarg_bytes = number(row, ".kernarg_segment_size");
        kernel.lds_bytes = number(row, ".group_segment_fixed_size");
        for (const msgpack::Value& a : row[".args"].items)
            kernel.arguments.push_back({number(a, ".offset"), number(a, ".size"), a[".value_kind"].text});
        kernels.emplace(descriptor, std::move(kernel));
    }
    return kernels;
}

void Kernels::add(std::uint64_t kernel_object, LoadedKernel kernel) {
    const std::lock_guard lock(mutex_);
    kernels_[kernel_object] = std::make_shared<const LoadedKernel>(std::move(kernel));
}

std::shared_ptr<const LoadedKernel> Kernels::find(std::uint64_t kernel_object) const {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(kernel_object);
    return found == kernels_.end() ? nullptr : found->second;
}

}  // namespace hipscope::gpu
