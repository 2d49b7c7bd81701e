// hipRTC: compiles HIP text while the program runs, with the compiler that HIPSCOPE_HIPRTC names (one argument a line).
// Part of libamdhip64 and, alone, libhiprtc.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "engine/elf.hpp"
#include "engine/json.hpp"
#include "hip/rtc_tools.hpp"

#define HIPSCOPE_API extern "C" __attribute__((visibility("default")))

namespace hipscope {

/// hiprtcProgram.
struct RtcProgram {
    std::string source, name;
    std::map<std::string, std::string> headers;      // by the name that #include has
    std::vector<std::string> expressions;            // of which the symbol's name is wanted
    std::map<std::string, std::string> lowered;
    std::string code, bitcode, log;
    bool compiled = false;
};

namespace {

namespace fs = std::filesystem;

constexpr const char* kNamePrefix = "__hipscope_name_";

/// One pointer for each name expression: its relocation names the symbol of the expression.
std::string with_names(const RtcProgram& program) {
    std::string text = program.source + "\n";
    for (std::size_t i = 0; i < program.expressions.size(); ++i)
        text += "extern \"C\" { __device__ __attribute__((used)) const void* " + std::string(kNamePrefix) + std::to_string(i) +
                " = (const void*)(" + program.expressions[i] + "); }\n";
    return text;
}

std::map<std::string, std::string> lowered_names(const RtcProgram& program) {
    const Elf elf(program.code);
    const auto sections = elf.sections();
    std::map<std::string, std::uint64_t> values;   // by symbol
    std::map<std::uint64_t, std::string> symbols;  // by value
    std::vector<std::string> by_index;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_DYNSYM) continue;
        const std::uint64_t names = sections.at(section.sh_link).sh_offset;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            const auto s = elf.read<Elf64_Sym>(section.sh_offset + at);
            const std::string name(elf.text_at(names + s.st_name));
            by_index.push_back(name);
            if (s.st_shndx == SHN_UNDEF) continue;
            values[name] = s.st_value;
            symbols.emplace(s.st_value, name);
        }
    }
    std::map<std::uint64_t, std::string> targets;  // by the place that is relocated
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_RELA) continue;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
            const auto r = elf.read<Elf64_Rela>(section.sh_offset + at);
            const auto symbol = ELF64_R_SYM(r.r_info);
            const auto found = symbols.find(static_cast<std::uint64_t>(r.r_addend));
            if (symbol != 0 && symbol < by_index.size()) targets[r.r_offset] = by_index[symbol];
            else if (found != symbols.end()) targets[r.r_offset] = found->second;
        }
    }
    std::map<std::string, std::string> result;
    for (std::size_t i = 0; i < program.expressions.size(); ++i) {
        const auto place = values.find(kNamePrefix + std::to_string(i));
        if (place == values.end()) continue;
        const auto target = targets.find(place->second);
        if (target != targets.end()) result[program.expressions[i]] = target->second;
    }
    return result;
}

/// The folder that the compiler finds the program's headers in. It exists in its overlay only.
const std::string kFolder = "/hipscope-rtc";

/// The text of an overlay with the program's headers, which become `files`. Empty when a name leads out of the folder.
std::string overlay_of(const RtcProgram& program, std::list<MemoryFile>& files) {
    Json overlay;
    overlay.open('{').field("version", 0).field("use-external-names", false).key("roots").open('[');
    for (const auto& [name, text] : program.headers) {
        const std::string path = (fs::path(kFolder) / fs::path(name).relative_path()).lexically_normal().string();
        if (!path.starts_with(kFolder + "/")) return {};
        files.emplace_back(text, "a header");
        overlay.open('{').field("type", "file").field("name", path).field("external-contents", files.back().path()).close('}');
    }
    return overlay.close(']').close('}').text();
}

/// The compiler's first line: under which name it speaks of the text that follows.
std::string line_marker(const std::string& name) {
    Json quoted;
    return "# 1 " + quoted.value(name).text() + "\n";
}

/// The GPU that the options name, or else the command line of the compiler.
std::string architecture(const std::vector<std::string>& arguments) {
    std::string result;
    for (const std::string_view a : arguments)
        for (const std::string_view option : {"--offload-arch=", "--gpu-architecture="})
            if (a.starts_with(option)) result = a.substr(option.size());
    return result;
}

/// Tells programs that are linked together apart. The compiler would take the name of the file, which says nothing here.
std::string identity(const RtcProgram& program) {
    std::string all = with_names(program);
    for (const auto& [name, text] : program.headers) (all += name) += text;
    return std::to_string(std::hash<std::string>()(all));
}

/// A code object of the assembler's text. Each step is one job of the compiler: between two jobs it keeps files.
Ran assembled(const std::string& text, const std::string& gpu) {
    const std::vector<std::string> base{compiler()[0], "--target=amdgcn-amd-amdhsa", "-mcpu=" + gpu};
    std::list<MemoryFile> files;
    std::vector<std::string> arguments = base;
    files.emplace_back(text, "the program");
    arguments.insert(arguments.end(), {"-w", "-x", "assembler", "-c", files.back().path(), "-o", "-"});
    const Ran object = run(arguments, files);
    if (!object.done) return object;
    arguments = base;
    files.emplace_back(object.output, "the program");
    arguments.insert(arguments.end(), {files.back().path(), "-o", "-"});
    return run(arguments, files);
}

Result compile(RtcProgram& program, const std::vector<std::string>& options) {
    std::list<MemoryFile> files;
    const std::string overlay = overlay_of(program, files);
    if (overlay.empty()) return invalid_input;
    files.emplace_back(overlay, "the headers");
    const std::string headers = files.back().path();
    const std::string name = (program.name.empty() ? "program" : fs::path(program.name).filename().string()) + ".hip";
    files.emplace_back(line_marker(name) + with_names(program), "the program");
    std::vector<std::string> arguments = compiler();
    const std::string gpu = architecture(options);
    if (!gpu.empty()) std::erase_if(arguments, [](const std::string& a) { return a.starts_with("--offload-arch="); });
    const std::string device = gpu.empty() ? architecture(arguments) : gpu;
    for (const char* a : {"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-O3", "-include", "hip/hip_runtime.h"}) arguments.emplace_back(a);
    arguments.insert(arguments.end(), {"-ivfsoverlay", headers, "-I" + kFolder, "-cuid=" + identity(program)});
    for (const std::string& o : options)
        arguments.push_back(o.rfind("--gpu-architecture=", 0) == 0 ? "--offload-arch=" + o.substr(19) : o);
    // Code that is to be linked with other code later stays bitcode, as it does with ROCm.
    const bool separate = std::find(options.begin(), options.end(), "-fgpu-rdc") != options.end();
    if (separate) arguments.insert(arguments.end(), {"-c", "-emit-llvm"});
    else arguments.emplace_back("-S");
    arguments.insert(arguments.end(), {files.back().path(), "-o", "-"});
    Ran ran = run(arguments, files);
    program.log = std::move(ran.log);
    for (std::size_t at; (at = program.log.find(kFolder + "/")) != std::string::npos;) program.log.erase(at, kFolder.size() + 1);
    if (ran.done && !separate) {
        ran = assembled(ran.output, device);
        program.log += ran.log;
    }
    if (!ran.done) return compilation;
    (separate ? program.bitcode : program.code) = std::move(ran.output);
    if (!separate) program.lowered = lowered_names(program);
    program.compiled = true;
    return ok;
}

}  // namespace
}  // namespace hipscope

using hipscope::RtcProgram;

HIPSCOPE_API const char* hiprtcGetErrorString(int result) {
    switch (result) {
        case 0: return "HIPRTC_SUCCESS";
        case 1: return "HIPRTC_ERROR_OUT_OF_MEMORY";
        case 2: return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
        case 3: return "HIPRTC_ERROR_INVALID_INPUT";
        case 4: return "HIPRTC_ERROR_INVALID_PROGRAM";
        case 5: return "HIPRTC_ERROR_INVALID_OPTION";
        case 6: return "HIPRTC_ERROR_COMPILATION";
        case 7: return "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE";
        case 8: return "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
        case 9: return "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
        case 10: return "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
        case 11: return "HIPRTC_ERROR_INTERNAL_ERROR";
        case 100: return "HIPRTC_ERROR_LINKING";
        default: return "HIPRTC_ERROR_UNKNOWN";
    }
}
HIPSCOPE_API int hiprtcVersion(int* major, int* minor) {
    if (major == nullptr || minor == nullptr) return hipscope::invalid_input;
    *major = 9;
    *minor = 0;
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcCreateProgram(RtcProgram** out, const char* source, const char* name, int count, const char* const* headers, const char* const* names) {
    if (out == nullptr || source == nullptr || count < 0 || (count > 0 && (headers == nullptr || names == nullptr))) return hipscope::invalid_input;
    auto* program = new RtcProgram;
    program->source = source;
    program->name = name == nullptr ? "" : name;
    for (int i = 0; i < count; ++i) program->headers[names[i]] = headers[i];
    *out = program;
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcDestroyProgram(RtcProgram** program) {
    if (program == nullptr || *program == nullptr) return hipscope::invalid_input;
    delete *program;
    *program = nullptr;
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcAddNameExpression(RtcProgram* program, const char* expression) {
    if (program == nullptr || expression == nullptr) return hipscope::invalid_input;
    if (program->compiled) return hipscope::no_expressions_after_compilation;
    program->expressions.emplace_back(expression);
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcCompileProgram(RtcProgram* program, int count, const char* const* options) {
    if (program == nullptr || count < 0 || (count > 0 && options == nullptr)) return hipscope::invalid_input;
    try {
        return hipscope::compile(*program, std::vector<std::string>(options, options + count));
    } catch (const std::exception& error) {
        program->log = std::string(error.what()) + "\n";
        std::fprintf(stderr, "hipscope emulator: %s\n", error.what());
        return hipscope::internal_error;
    }
}
HIPSCOPE_API int hiprtcGetLoweredName(RtcProgram* program, const char* expression, const char** name) {
    if (program == nullptr || expression == nullptr || name == nullptr) return hipscope::invalid_input;
    if (!program->compiled) return hipscope::no_names_before_compilation;
    const auto found = program->lowered.find(expression);
    if (found == program->lowered.end()) return hipscope::expression_not_valid;
    *name = found->second.c_str();
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcGetCodeSize(RtcProgram* program, std::size_t* bytes) {
    if (program == nullptr || bytes == nullptr) return hipscope::invalid_input;
    *bytes = program->code.size();
    return program->compiled ? hipscope::ok : hipscope::invalid_program;
}
HIPSCOPE_API int hiprtcGetCode(RtcProgram* program, char* code) {
    if (program == nullptr || code == nullptr) return hipscope::invalid_input;
    if (!program->compiled) return hipscope::invalid_program;
    std::memcpy(code, program->code.data(), program->code.size());
    return hipscope::ok;
}
/// Of a program that was compiled with -fgpu-rdc; hiprtcLinkAddData takes it.
HIPSCOPE_API int hiprtcGetBitcodeSize(RtcProgram* program, std::size_t* bytes) {
    if (program == nullptr || bytes == nullptr) return hipscope::invalid_input;
    *bytes = program->bitcode.size();
    return program->bitcode.empty() ? hipscope::invalid_program : hipscope::ok;
}
HIPSCOPE_API int hiprtcGetBitcode(RtcProgram* program, char* bitcode) {
    if (program == nullptr || bitcode == nullptr) return hipscope::invalid_input;
    if (program->bitcode.empty()) return hipscope::invalid_program;
    std::memcpy(bitcode, program->bitcode.data(), program->bitcode.size());
    return hipscope::ok;
}
/// Sizes of text include its end, as in CUDA's interface.
HIPSCOPE_API int hiprtcGetProgramLogSize(RtcProgram* program, std::size_t* bytes) {
    if (program == nullptr || bytes == nullptr) return hipscope::invalid_input;
    *bytes = program->log.size() + 1;
    return hipscope::ok;
}
HIPSCOPE_API int hiprtcGetProgramLog(RtcProgram* program, char* log) {
    if (program == nullptr || log == nullptr) return hipscope::invalid_input;
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return hipscope::ok;
}
