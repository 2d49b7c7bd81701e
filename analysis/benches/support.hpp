// What a generated bench program needs: deterministic contents, buffers, digests. Part of the program, after its
// #include lines; names begin with hipscope_, so that macros of the user's file meet none of them.
namespace hipscope_bench {

enum class hipscope_kind { f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };
enum class hipscope_fill { zeros, ones, fill, normal, uniform, arange, index, sorted, offsets, permutation };

struct hipscope_number { std::size_t hipscope_offset; hipscope_kind hipscope_what; };

inline void hipscope_check(hipError_t hipscope_error, const char* hipscope_where) {
    if (hipscope_error == hipSuccess) return;
    std::fprintf(stderr, "bench: %s: %s\n", hipscope_where, hipGetErrorString(hipscope_error));
    std::exit(1);
}

// A number of 64 bits for a place, whatever the order of the questions (splitmix64).
inline std::uint64_t hipscope_hash(std::uint64_t hipscope_x) {
    hipscope_x += 0x9e3779b97f4a7c15u;
    hipscope_x = (hipscope_x ^ (hipscope_x >> 30)) * 0xbf58476d1ce4e5b9u;
    hipscope_x = (hipscope_x ^ (hipscope_x >> 27)) * 0x94d049bb133111ebu;
    return hipscope_x ^ (hipscope_x >> 31);
}

inline double hipscope_unit(std::uint64_t hipscope_x) {  // in (0, 1)
    return (static_cast<double>(hipscope_hash(hipscope_x) >> 12) + 0.5) * 0x1p-52;
}

inline std::uint16_t hipscope_half_bits(float hipscope_value) {
    const _Float16 hipscope_half = static_cast<_Float16>(hipscope_value);
    std::uint16_t hipscope_bits;
    std::memcpy(&hipscope_bits, &hipscope_half, 2);
    return hipscope_bits;
}

inline std::uint16_t hipscope_bfloat_bits(float hipscope_value) {
    std::uint32_t hipscope_bits;
    std::memcpy(&hipscope_bits, &hipscope_value, 4);
    return static_cast<std::uint16_t>((hipscope_bits + 0x7fffu + ((hipscope_bits >> 16) & 1u)) >> 16);
}

template <class T> void hipscope_put(unsigned char* hipscope_at, T hipscope_value) {
    std::memcpy(hipscope_at, &hipscope_value, sizeof(T));
}

inline void hipscope_store(unsigned char* hipscope_at, hipscope_kind hipscope_what, double hipscope_value,
                           std::int64_t hipscope_whole) {
    switch (hipscope_what) {
        case hipscope_kind::f16: return hipscope_put(hipscope_at, hipscope_half_bits(static_cast<float>(hipscope_value)));
        case hipscope_kind::bf16: return hipscope_put(hipscope_at, hipscope_bfloat_bits(static_cast<float>(hipscope_value)));
        case hipscope_kind::f32: return hipscope_put(hipscope_at, static_cast<float>(hipscope_value));
        case hipscope_kind::f64: return hipscope_put(hipscope_at, hipscope_value);
        case hipscope_kind::boolean: return hipscope_put(hipscope_at, static_cast<unsigned char>(hipscope_whole != 0));
        case hipscope_kind::i8: case hipscope_kind::u8: return hipscope_put(hipscope_at, static_cast<std::int8_t>(hipscope_whole));
        case hipscope_kind::i16: case hipscope_kind::u16: return hipscope_put(hipscope_at, static_cast<std::int16_t>(hipscope_whole));
        case hipscope_kind::i32: case hipscope_kind::u32: return hipscope_put(hipscope_at, static_cast<std::int32_t>(hipscope_whole));
        case hipscope_kind::i64: case hipscope_kind::u64: return hipscope_put(hipscope_at, hipscope_whole);
    }
}

template <class T> T hipscope_get(const unsigned char* hipscope_at) {
    T hipscope_value;
    std::memcpy(&hipscope_value, hipscope_at, sizeof(T));
    return hipscope_value;
}

inline bool hipscope_is_float(hipscope_kind hipscope_what) { return hipscope_what <= hipscope_kind::f64; }

inline std::size_t hipscope_bytes(hipscope_kind hipscope_what) {
    constexpr std::size_t hipscope_sizes[] = {2, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
    return hipscope_sizes[static_cast<int>(hipscope_what)];
}

inline double hipscope_float_at(const unsigned char* hipscope_at, hipscope_kind hipscope_what) {
    if (hipscope_what == hipscope_kind::f64) return hipscope_get<double>(hipscope_at);
    if (hipscope_what == hipscope_kind::f32) return hipscope_get<float>(hipscope_at);
    if (hipscope_what == hipscope_kind::f16) return static_cast<double>(hipscope_get<_Float16>(hipscope_at));
    const std::uint32_t hipscope_bits = static_cast<std::uint32_t>(hipscope_get<std::uint16_t>(hipscope_at)) << 16;
    float hipscope_value;
    std::memcpy(&hipscope_value, &hipscope_bits, 4);
    return hipscope_value;
}

struct hipscope_contents { hipscope_fill hipscope_how; double hipscope_first; double hipscope_second; };

// The value of each number of a buffer, one after the other. Random whole numbers are below the first argument.
inline std::vector<unsigned char> hipscope_filled(std::size_t hipscope_count, std::size_t hipscope_size,
                                                  const std::vector<hipscope_number>& hipscope_numbers,
                                                  hipscope_contents hipscope_with, std::uint64_t hipscope_seed) {
    std::vector<unsigned char> hipscope_data(hipscope_count * hipscope_size);
    const std::size_t hipscope_all = hipscope_count * hipscope_numbers.size();
    const std::uint64_t hipscope_start = hipscope_hash(hipscope_seed);
    const auto hipscope_random_below = [&](std::size_t hipscope_i) {
        return static_cast<std::int64_t>(std::floor(hipscope_unit(hipscope_start + hipscope_i) * hipscope_with.hipscope_first));
    };
    std::vector<std::int64_t> hipscope_listed;
    if (hipscope_with.hipscope_how == hipscope_fill::sorted || hipscope_with.hipscope_how == hipscope_fill::offsets) {
        for (std::size_t hipscope_i = 0; hipscope_i < hipscope_all; ++hipscope_i) hipscope_listed.push_back(hipscope_random_below(hipscope_i));
        std::sort(hipscope_listed.begin(), hipscope_listed.end());
        if (hipscope_with.hipscope_how == hipscope_fill::offsets && hipscope_all > 0) {
            hipscope_listed.front() = 0;
            hipscope_listed.back() = static_cast<std::int64_t>(hipscope_with.hipscope_first);
        }
    } else if (hipscope_with.hipscope_how == hipscope_fill::permutation) {
        for (std::size_t hipscope_i = 0; hipscope_i < hipscope_all; ++hipscope_i) hipscope_listed.push_back(static_cast<std::int64_t>(hipscope_i));
        for (std::size_t hipscope_i = hipscope_all; hipscope_i > 1; --hipscope_i)
            std::swap(hipscope_listed[hipscope_i - 1], hipscope_listed[hipscope_hash(hipscope_start + hipscope_i) % hipscope_i]);
    }
    std::size_t hipscope_i = 0;
    for (std::size_t hipscope_e = 0; hipscope_e < hipscope_count; ++hipscope_e) {
        for (const hipscope_number& hipscope_n : hipscope_numbers) {
            double hipscope_value = 0.0;
            switch (hipscope_with.hipscope_how) {
                case hipscope_fill::zeros: break;
                case hipscope_fill::ones: hipscope_value = 1.0; break;
                case hipscope_fill::fill: hipscope_value = hipscope_with.hipscope_first; break;
                case hipscope_fill::normal: {
                    const double hipscope_u = hipscope_unit(hipscope_start + 2 * hipscope_i);
                    const double hipscope_v = hipscope_unit(hipscope_start + 2 * hipscope_i + 1);
                    const double hipscope_z = std::sqrt(-2.0 * std::log(hipscope_u)) * std::cos(6.283185307179586 * hipscope_v);
                    hipscope_value = hipscope_with.hipscope_first + hipscope_with.hipscope_second * hipscope_z;
                    break;
                }
                case hipscope_fill::uniform:
                    hipscope_value = hipscope_with.hipscope_first + (hipscope_with.hipscope_second - hipscope_with.hipscope_first) * hipscope_unit(hipscope_start + hipscope_i);
                    break;
                case hipscope_fill::arange: hipscope_value = hipscope_with.hipscope_first + hipscope_with.hipscope_second * static_cast<double>(hipscope_i); break;
                case hipscope_fill::index: hipscope_value = static_cast<double>(hipscope_random_below(hipscope_i)); break;
                case hipscope_fill::sorted: case hipscope_fill::offsets: case hipscope_fill::permutation:
                    hipscope_value = static_cast<double>(hipscope_listed[hipscope_i]);
                    break;
            }
            hipscope_store(&hipscope_data[hipscope_e * hipscope_size + hipscope_n.hipscope_offset], hipscope_n.hipscope_what,
                           hipscope_value, static_cast<std::int64_t>(std::floor(hipscope_value)));
            ++hipscope_i;
        }
    }
    return hipscope_data;
}

class hipscope_buffer {
   public:
    hipscope_buffer(const char* hipscope_name, std::size_t hipscope_count, std::size_t hipscope_size,
                    std::vector<hipscope_number> hipscope_numbers, hipscope_contents hipscope_with, std::uint64_t hipscope_seed)
        : hipscope_name_(hipscope_name), hipscope_count_(hipscope_count), hipscope_size_(hipscope_size),
          hipscope_numbers_(std::move(hipscope_numbers)),
          hipscope_first_(hipscope_filled(hipscope_count, hipscope_size, hipscope_numbers_, hipscope_with, hipscope_seed)) {
        hipscope_check(hipMalloc(&hipscope_device_, std::max<std::size_t>(1, hipscope_first_.size())), hipscope_name);
        hipscope_restore();
    }
    hipscope_buffer(const hipscope_buffer&) = delete;
    ~hipscope_buffer() { (void)hipFree(hipscope_device_); }

    template <class T> T hipscope_as() const { return reinterpret_cast<T>(hipscope_device_); }

    // What it held at first, so that each launch does the same.
    void hipscope_restore() {
        if (hipscope_first_.empty()) return;
        hipscope_check(hipMemcpy(hipscope_device_, hipscope_first_.data(), hipscope_first_.size(), hipMemcpyHostToDevice), hipscope_name_);
    }

    // Floats as sums that hardly feel rounding, but feel order and sign; whole numbers as a hash of all of them.
    void hipscope_print() const {
        std::vector<unsigned char> hipscope_now(hipscope_first_.size());
        if (!hipscope_now.empty())
            hipscope_check(hipMemcpy(hipscope_now.data(), hipscope_device_, hipscope_now.size(), hipMemcpyDeviceToHost), hipscope_name_);
        double hipscope_up = 0.0, hipscope_down = 0.0;
        std::uint64_t hipscope_whole = 0xcbf29ce484222325u;
        std::size_t hipscope_nans = 0, hipscope_infinite = 0;
        bool hipscope_floats = false, hipscope_wholes = false;
        for (std::size_t hipscope_e = 0; hipscope_e < hipscope_count_; ++hipscope_e) {
            for (const hipscope_number& hipscope_n : hipscope_numbers_) {
                const unsigned char* hipscope_at = &hipscope_now[hipscope_e * hipscope_size_ + hipscope_n.hipscope_offset];
                if (!hipscope_is_float(hipscope_n.hipscope_what)) {
                    hipscope_wholes = true;
                    for (std::size_t hipscope_b = 0; hipscope_b < hipscope_bytes(hipscope_n.hipscope_what); ++hipscope_b)
                        hipscope_whole = (hipscope_whole ^ hipscope_at[hipscope_b]) * 0x100000001b3u;
                    continue;
                }
                hipscope_floats = true;
                const double hipscope_value = hipscope_float_at(hipscope_at, hipscope_n.hipscope_what);
                if (std::isnan(hipscope_value)) { ++hipscope_nans; continue; }
                if (std::isinf(hipscope_value)) { ++hipscope_infinite; continue; }
                const double hipscope_weighted = hipscope_value * (1.0 + hipscope_unit(hipscope_e));
                (hipscope_value > 0 ? hipscope_up : hipscope_down) += hipscope_weighted;
            }
        }
        std::printf("  %s:", hipscope_name_);
        if (hipscope_floats) std::printf(" floats %.8e %.8e", hipscope_up, hipscope_down);
        if (hipscope_nans || hipscope_infinite) std::printf(" (%zu NaN, %zu infinite)", hipscope_nans, hipscope_infinite);
        if (hipscope_wholes) std::printf(" integers #%016llx", static_cast<unsigned long long>(hipscope_whole));
        std::printf("\n");
    }

    const std::vector<unsigned char>& hipscope_data() const { return hipscope_first_; }

   private:
    const char* hipscope_name_;
    std::size_t hipscope_count_, hipscope_size_;
    std::vector<hipscope_number> hipscope_numbers_;
    std::vector<unsigned char> hipscope_first_;
    void* hipscope_device_ = nullptr;
};

template <int hipscope_i, class T> struct hipscope_parameter_of;
template <int hipscope_i, class... P> struct hipscope_parameter_of<hipscope_i, void (*)(P...)> {
    using hipscope_type = std::tuple_element_t<hipscope_i, std::tuple<P...>>;
};
template <int hipscope_i, class T> using hipscope_parameter = typename hipscope_parameter_of<hipscope_i, T>::hipscope_type;

}  // namespace hipscope_bench
