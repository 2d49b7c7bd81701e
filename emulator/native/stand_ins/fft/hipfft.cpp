// The exported functions of libhipfft.so: plans, and transforms of up to three dimensions. They are not scaled.
#include <algorithm>
#include <array>
#include <cstdint>

#include "fft/transform.hpp"
#include "runtime.hpp"

namespace {

using fft::Number;
using fft::Transform;
using stand_in::Operands;
using stand_in::Outcome;

enum Type { r2c = 0x2a, c2r = 0x2c, c2c = 0x29, d2z = 0x6a, z2d = 0x6c, z2z = 0x69 };
constexpr int kInvalidPlan = 1, kInvalidType = 3, kInvalidValue = 4, kFailed = 6, kSetupFailed = 7, kInvalidSize = 8;
constexpr int kForward = -1, kBackward = 1;

/// Where the numbers of one side lie: element (i, j, k) of transform b is at b * distance + ((i * rows + j) * columns + k) * stride.
struct Layout {
    std::array<std::ptrdiff_t, 3> embed{1, 1, 1};
    std::ptrdiff_t stride = 1, distance = 0;

    [[nodiscard]] std::ptrdiff_t place(std::ptrdiff_t b, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) const {
        return b * distance + ((i * embed[1] + j) * embed[2] + k) * stride;
    }
};

struct Plan {
    std::array<std::ptrdiff_t, 3> n{1, 1, 1};  // the last dimension is the one whose numbers lie together
    int type = 0;
    std::ptrdiff_t batch = 0;
    bool given_layout = false;
    Layout in, out;
    void* stream = nullptr;
};

bool is_real_in(int type) { return type == r2c || type == d2z; }
bool is_real_out(int type) { return type == c2r || type == z2d; }

/// Numbers without gaps; of a real side of a transform in place, rows have room for the complex ones.
Layout tight(const Plan& plan, bool halved, bool padded) {
    Layout layout;
    const std::ptrdiff_t half = plan.n[2] / 2 + 1;
    layout.embed = {plan.n[0], plan.n[1], halved ? half : padded ? 2 * half : plan.n[2]};
    layout.distance = layout.embed[0] * layout.embed[1] * layout.embed[2];
    return layout;
}

int make(Plan* plan, int rank, const int* n, int type, int batch) {
    if (plan == nullptr) return kInvalidPlan;
    if (type != r2c && type != c2r && type != c2c && type != d2z && type != z2d && type != z2z) return kInvalidType;
    if (rank < 1 || rank > 3 || n == nullptr) return kInvalidValue;
    if (batch < 1) return kInvalidSize;
    plan->n = {1, 1, 1};
    for (int d = 0; d < rank; ++d) {
        if (n[d] < 1) return kInvalidSize;
        plan->n[static_cast<std::size_t>(3 - rank + d)] = n[d];
    }
    plan->type = type;
    plan->batch = batch;
    plan->given_layout = false;
    return 0;
}

Layout embedded(int rank, const int* embed, int stride, int distance) {
    Layout layout;
    for (int d = 0; d < rank; ++d) layout.embed[static_cast<std::size_t>(3 - rank + d)] = embed[d];
    layout.stride = stride;
    layout.distance = distance;
    return layout;
}

int make_many(Plan* plan, int rank, const int* n, const int* in, int istride, int idist, const int* out, int ostride, int odist, int type, int batch) {
    if (const int error = make(plan, rank, n, type, batch); error != 0) return error;
    if (in == nullptr || out == nullptr) return 0;
    plan->given_layout = true;
    plan->in = embedded(rank, in, istride, idist);
    plan->out = embedded(rank, out, ostride, odist);
    return 0;
}

int make_new(Plan** plan, const auto& made) {
    if (plan == nullptr) return kInvalidPlan;
    if (!stand_in::on_emulator("hipFFT")) return kSetupFailed;
    auto fresh = std::make_unique<Plan>();
    if (const int error = made(fresh.get()); error != 0) return error;
    *plan = fresh.release();
    return 0;
}

/// All three dimensions, each along its own lines.
void transform(std::vector<Number>& values, const std::array<std::ptrdiff_t, 3>& n, int sign) {
    for (std::size_t d = 0; d < 3; ++d) {
        if (n[d] == 1) continue;
        const Transform along(static_cast<std::size_t>(n[d]), sign);
        const std::ptrdiff_t inner = d == 0 ? n[1] * n[2] : d == 1 ? n[2] : 1, outer = d == 2 ? n[0] * n[1] : d == 1 ? n[0] : 1;
        std::vector<Number> line(static_cast<std::size_t>(n[d]));
        for (std::ptrdiff_t o = 0; o < outer; ++o)
            for (std::ptrdiff_t i = 0; i < inner; ++i) {
                Number* const first = &values[static_cast<std::size_t>(o * n[d] * inner + i)];
                for (std::ptrdiff_t k = 0; k < n[d]; ++k) line[static_cast<std::size_t>(k)] = first[k * inner];
                along.apply(line);
                for (std::ptrdiff_t k = 0; k < n[d]; ++k) first[k * inner] = line[static_cast<std::size_t>(k)];
            }
    }
}

template <class T>
Number read(std::complex<T> value) { return {value.real(), value.imag()}; }
template <class T>
Number read(T value) { return {static_cast<double>(value), 0}; }
template <class T>
void write(std::complex<T>& to, Number value) { to = {static_cast<T>(value.real()), static_cast<T>(value.imag())}; }
template <class T>
void write(T& to, Number value) { to = static_cast<T>(value.real()); }

template <class From, class To>
int execute(Plan* plan, const char* name, int type, From* from, To* to, int sign) {
    if (plan == nullptr || plan->batch == 0) return kInvalidPlan;
    if (plan->type != type) return kInvalidType;
    if (from == nullptr || to == nullptr || (sign != kForward && sign != kBackward)) return kInvalidValue;
    const auto work = [p = *plan, from, to, sign](Operands& operands) {
        const bool halves_in = is_real_out(p.type), halves_out = is_real_in(p.type);
        const bool in_place = static_cast<const void*>(from) == static_cast<const void*>(to);
        const Layout in = p.given_layout ? p.in : tight(p, halves_in, halves_out && in_place);
        const Layout out = p.given_layout ? p.out : tight(p, halves_out, halves_in && in_place);
        const std::ptrdiff_t columns_in = halves_in ? p.n[2] / 2 + 1 : p.n[2], columns_out = halves_out ? p.n[2] / 2 + 1 : p.n[2];
        const auto bytes = [&p](const Layout& layout, std::ptrdiff_t columns, std::size_t size) {
            return (static_cast<std::size_t>(layout.place(p.batch - 1, p.n[0] - 1, p.n[1] - 1, columns - 1)) + 1) * size;
        };
        const std::size_t read_bytes = bytes(in, columns_in, sizeof(From)), written = bytes(out, columns_out, sizeof(To));
        operands.reads("idata", from, read_bytes, read_bytes, 1);
        operands.writes("odata", to, written, written, 1);
        if (!operands.fine()) return;
        std::vector<Number> values(static_cast<std::size_t>(p.n[0] * p.n[1] * p.n[2]));
        const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) -> Number& { return values[static_cast<std::size_t>((i * p.n[1] + j) * p.n[2] + k)]; };
        const auto each = [&](std::ptrdiff_t columns, auto visit) {
            for (std::ptrdiff_t i = 0; i < p.n[0]; ++i)
                for (std::ptrdiff_t j = 0; j < p.n[1]; ++j)
                    for (std::ptrdiff_t k = 0; k < columns; ++k) visit(i, j, k);
        };
        for (std::ptrdiff_t b = 0; b < p.batch; ++b) {
            each(columns_in, [&](auto i, auto j, auto k) { at(i, j, k) = read(from[in.place(b, i, j, k)]); });
            if (halves_in)  // the other half are the conjugates
                each(p.n[2], [&](auto i, auto j, auto k) {
                    if (k >= columns_in) at(i, j, k) = std::conj(at((p.n[0] - i) % p.n[0], (p.n[1] - j) % p.n[1], p.n[2] - k));
                });
            transform(values, p.n, sign);
            each(columns_out, [&](auto i, auto j, auto k) { write(to[out.place(b, i, j, k)], at(i, j, k)); });
        }
    };
    return stand_in::compute(name, plan->stream, work) == Outcome::ok ? 0 : kFailed;
}

int no_work_area(int error, std::size_t* bytes) {
    if (bytes != nullptr) *bytes = 0;
    return error;
}

using Single = std::complex<float>;
using Double = std::complex<double>;

}  // namespace

STAND_IN_API int hipfftCreate(Plan** plan) {
    return make_new(plan, [](Plan*) { return 0; });
}
STAND_IN_API int hipfftMakePlanMany(Plan* plan, int rank, int* n, int* in, int istride, int idist, int* out, int ostride, int odist, int type, int batch, std::size_t* bytes) {
    return no_work_area(make_many(plan, rank, n, in, istride, idist, out, ostride, odist, type, batch), bytes);
}
STAND_IN_API int hipfftMakePlan1d(Plan* plan, int nx, int type, int batch, std::size_t* bytes) { return no_work_area(make(plan, 1, &nx, type, batch), bytes); }
STAND_IN_API int hipfftMakePlan2d(Plan* plan, int nx, int ny, int type, std::size_t* bytes) {
    const int n[] = {nx, ny};
    return no_work_area(make(plan, 2, n, type, 1), bytes);
}
STAND_IN_API int hipfftMakePlan3d(Plan* plan, int nx, int ny, int nz, int type, std::size_t* bytes) {
    const int n[] = {nx, ny, nz};
    return no_work_area(make(plan, 3, n, type, 1), bytes);
}
STAND_IN_API int hipfftPlan1d(Plan** plan, int nx, int type, int batch) {
    return make_new(plan, [=](Plan* fresh) { return make(fresh, 1, &nx, type, batch); });
}
STAND_IN_API int hipfftPlan2d(Plan** plan, int nx, int ny, int type) {
    return make_new(plan, [=](Plan* fresh) { return hipfftMakePlan2d(fresh, nx, ny, type, nullptr); });
}
STAND_IN_API int hipfftPlan3d(Plan** plan, int nx, int ny, int nz, int type) {
    return make_new(plan, [=](Plan* fresh) { return hipfftMakePlan3d(fresh, nx, ny, nz, type, nullptr); });
}
STAND_IN_API int hipfftPlanMany(Plan** plan, int rank, int* n, int* in, int istride, int idist, int* out, int ostride, int odist, int type, int batch) {
    return make_new(plan, [=](Plan* fresh) { return make_many(fresh, rank, n, in, istride, idist, out, ostride, odist, type, batch); });
}
STAND_IN_API int hipfftGetSize(Plan* plan, std::size_t* bytes) { return no_work_area(plan == nullptr ? kInvalidPlan : 0, bytes); }
STAND_IN_API int hipfftSetAutoAllocation(Plan* plan, int) { return plan == nullptr ? kInvalidPlan : 0; }
STAND_IN_API int hipfftSetWorkArea(Plan* plan, void*) { return plan == nullptr ? kInvalidPlan : 0; }
STAND_IN_API int hipfftSetStream(Plan* plan, void* stream) {
    if (plan == nullptr) return kInvalidPlan;
    plan->stream = stream;
    return 0;
}
STAND_IN_API int hipfftDestroy(Plan* plan) {
    if (plan == nullptr) return kInvalidPlan;
    delete plan;  // NOLINT(cppcoreguidelines-owning-memory): work that waits has a copy
    return 0;
}
STAND_IN_API int hipfftGetVersion(int* version) {
    if (version == nullptr) return kInvalidValue;
    *version = 10016;
    return 0;
}
STAND_IN_API int hipfftExecC2C(Plan* plan, Single* from, Single* to, int sign) { return execute(plan, "hipfftExecC2C", c2c, from, to, sign); }
STAND_IN_API int hipfftExecZ2Z(Plan* plan, Double* from, Double* to, int sign) { return execute(plan, "hipfftExecZ2Z", z2z, from, to, sign); }
STAND_IN_API int hipfftExecR2C(Plan* plan, float* from, Single* to) { return execute(plan, "hipfftExecR2C", r2c, from, to, kForward); }
STAND_IN_API int hipfftExecD2Z(Plan* plan, double* from, Double* to) { return execute(plan, "hipfftExecD2Z", d2z, from, to, kForward); }
STAND_IN_API int hipfftExecC2R(Plan* plan, Single* from, float* to) { return execute(plan, "hipfftExecC2R", c2r, from, to, kBackward); }
STAND_IN_API int hipfftExecZ2D(Plan* plan, Double* from, double* to) { return execute(plan, "hipfftExecZ2D", z2d, from, to, kBackward); }
