// The timing model's constants, one field per key of the device table (emulator/devices.toml has units and sources).
#pragma once

#include <cstdint>

#include "engine/device_config.hpp"
#include "engine/lds_rows.hpp"

namespace hipscope {

struct TimingConstants {
    // Shape of the device
    int xcds, compute_units, simds_per_cu, max_waves_per_simd;
    int vgprs_per_lane, vgpr_granule, lds_bytes, lds_granule;
    double clock_mhz;
    // Issue, in cycles
    int valu_cycles, valu_half_cycles, conversion_cycles, trans_cycles, mfma_pass_cycles, salu_cycles, smem_issue_cycles, lds_issue_cycles;
    int vmem_issue_cycles, message_cycles;
    int valu_latency, trans_latency, mfma_latency, salu_latency, valu_to_scalar_latency;
    int branch_taken_cycles, branch_not_taken_cycles, barrier_cycles, sleep_unit_cycles;
    // Instruction and scalar caches
    int sqcs_per_xcd, icache_bytes, icache_line_bytes, icache_miss_cycles, scalar_cache_bytes, scalar_line_bytes, scalar_hit_cycles,
        scalar_l2_cycles;
    // LDS
    int lds_latency, lds_wide_latency, lds_way_bytes_per_cycle, lds_way_back_bytes_per_cycle;
    LdsRows lds_rows;
    // Vector memory
    int address_lanes_per_cycle, l1_line_cycles, store_bytes_per_cycle;
    int l1_bytes, l1_line_bytes, l1_ways, l1_block_bytes, l1_latency, l2_bytes, l2_ways, l2_scattered_bytes, l2_channel_bytes, l2_distant_bytes, l2_kept_lines, l2_channels, l2_latency, memory_latency, mall_latency;
    int utcl1_entries, utcl1_fragment_bytes, utcl1_miss_cycles;
    int store_latency, store_queue, l1_misses_in_flight, address_queue_cycles, return_bytes_per_cycle;
    double l2_read_bytes_per_cycle, l2_write_bytes_per_cycle;  // per channel
    double partial_write_factor;
    int mall_ways;
    double mall_bytes, mall_bytes_per_s, hbm_read_bytes_per_s, hbm_write_bytes_per_s;
    // Atomics
    int atomic_latency, atomic_request_cycles, atomic_word_cycles, atomic_lane_cycles, atomic_channels;
    // Fences
    int fence_release_cycles, fence_acquire_cycles;
    double fence_system_factor;
    // Launch
    double launch_floor_ns, dispatch_ns;
    int workgroup_launch_cycles;
    double wave_launch_cycles;

    static TimingConstants from(const DeviceConfig& config);

    [[nodiscard]] int cus_per_xcd() const { return compute_units / xcds; }
};

}  // namespace hipscope
