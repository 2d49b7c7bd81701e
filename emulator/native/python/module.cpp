// hipscope_native: what the emulator's Python side calls in this process. emulator/extension.py loads it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "capture/frames.hpp"
#include "python/replay.hpp"

namespace nb = nanobind;

namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes unpack(const nb::bytes& packed) {
    const std::string_view frames = view(packed);
    const std::uint64_t bytes = hipscope::unpacked_bytes(frames);
    PyObject* content = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes));
    if (content == nullptr) throw nb::python_error();
    auto owner = nb::steal<nb::bytes>(content);
    {
        const nb::gil_scoped_release others_run;
        hipscope::unpack(frames, PyBytes_AS_STRING(content));
    }
    return owner;
}

}  // namespace

NB_MODULE(hipscope_native, m) {
    m.def("unpack", &unpack, nb::arg("packed"), "The content of the zstd frames of a capture. Raises RuntimeError.");
    m.def("unpacked_bytes", [](const nb::bytes& packed) { return hipscope::unpacked_bytes(view(packed)); }, nb::arg("packed"),
          "How long that is. Raises RuntimeError.");
    m.def("replay", &hipscope::replay_in_child, nb::arg("words"), "Make one replay with the options of hipscope-replay. Raises RuntimeError.");
}
