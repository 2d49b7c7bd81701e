// Reads the timing constants; a missing key is an error that names it.
#include "timing/constants.hpp"

namespace hipscope {

TimingConstants TimingConstants::from(const DeviceConfig& config) {
    TimingConstants c{};
    const auto set = [&config](auto& field, const char* key) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(config.number(key));
    };
    set(c.xcds, "xcds");
    set(c.compute_units, "compute_units");
    set(c.simds_per_cu, "simds_per_cu");
    set(c.max_waves_per_simd, "max_waves_per_simd");
    set(c.vgprs_per_lane, "vgprs_per_lane");
    set(c.vgpr_granule, "vgpr_granule");
    set(c.lds_bytes, "lds_bytes");
    set(c.lds_granule, "lds_granule");
    set(c.clock_mhz, "clock_mhz");
    set(c.valu_cycles, "valu_cycles");
    set(c.valu_half_cycles, "valu_half_cycles");
    set(c.conversion_cycles, "conversion_cycles");
    set(c.trans_cycles, "trans_cycles");
    set(c.mfma_pass_cycles, "mfma_pass_cycles");
    set(c.salu_cycles, "salu_cycles");
    set(c.smem_issue_cycles, "smem_issue_cycles");
    set(c.lds_issue_cycles, "lds_issue_cycles");
    set(c.vmem_issue_cycles, "vmem_issue_cycles");
    set(c.message_cycles, "message_cycles");
    set(c.valu_latency, "valu_latency");
    set(c.trans_latency, "trans_latency");
    set(c.mfma_latency, "mfma_latency");
    set(c.salu_latency, "salu_latency");
    set(c.valu_to_scalar_latency, "valu_to_scalar_latency");
    set(c.branch_taken_cycles, "branch_taken_cycles");
    set(c.branch_not_taken_cycles, "branch_not_taken_cycles");
    set(c.barrier_cycles, "barrier_cycles");
    set(c.sleep_unit_cycles, "sleep_unit_cycles");
    set(c.sqcs_per_xcd, "sqcs_per_xcd");
    set(c.icache_bytes, "icache_bytes");
    set(c.icache_line_bytes, "icache_line_bytes");
    set(c.icache_miss_cycles, "icache_miss_cycles");
    set(c.scalar_cache_bytes, "scalar_cache_bytes");
    set(c.scalar_line_bytes, "scalar_line_bytes");
    set(c.scalar_hit_cycles, "scalar_hit_cycles");
    set(c.scalar_l2_cycles, "scalar_l2_cycles");
    set(c.lds_latency, "lds_latency");
    set(c.lds_wide_latency, "lds_wide_latency");
    set(c.lds_way_bytes_per_cycle, "lds_way_bytes_per_cycle");
    set(c.lds_way_back_bytes_per_cycle, "lds_way_back_bytes_per_cycle");
    c.lds_rows = LdsRows::from(config);
    set(c.address_lanes_per_cycle, "address_lanes_per_cycle");
    set(c.l1_line_cycles, "l1_line_cycles");
    set(c.store_bytes_per_cycle, "store_bytes_per_cycle");
    set(c.l1_bytes, "l1_bytes");
    set(c.l1_line_bytes, "l1_line_bytes");
    set(c.l1_ways, "l1_ways");
    set(c.l1_block_bytes, "l1_block_bytes");
    set(c.l1_latency, "l1_latency");
    set(c.utcl1_entries, "utcl1_entries");
    set(c.utcl1_fragment_bytes, "utcl1_fragment_bytes");
    set(c.utcl1_miss_cycles, "utcl1_miss_cycles");
    set(c.l2_bytes, "l2_bytes");
    set(c.l2_ways, "l2_ways");
    set(c.l2_scattered_bytes, "l2_scattered_bytes");
    set(c.l2_channel_bytes, "l2_channel_bytes");
    set(c.l2_distant_bytes, "l2_distant_bytes");
    set(c.l2_kept_lines, "l2_kept_lines");
    set(c.l2_channels, "l2_channels");
    set(c.l2_latency, "l2_latency");
    set(c.memory_latency, "memory_latency");
    set(c.mall_latency, "mall_latency");
    set(c.store_latency, "store_latency");
    set(c.store_queue, "store_queue");
    set(c.l1_misses_in_flight, "l1_misses_in_flight");
    set(c.address_queue_cycles, "address_queue_cycles");
    set(c.return_bytes_per_cycle, "return_bytes_per_cycle");
    set(c.l2_read_bytes_per_cycle, "l2_read_bytes_per_cycle");
    set(c.l2_write_bytes_per_cycle, "l2_write_bytes_per_cycle");
    set(c.partial_write_factor, "partial_write_factor");
    set(c.mall_bytes, "mall_bytes");
    set(c.mall_ways, "mall_ways");
    set(c.mall_bytes_per_s, "mall_bytes_per_s");
    set(c.hbm_read_bytes_per_s, "hbm_read_bytes_per_s");
    set(c.hbm_write_bytes_per_s, "hbm_write_bytes_per_s");
    set(c.atomic_latency, "atomic_latency");
    set(c.atomic_request_cycles, "atomic_request_cycles");
    set(c.atomic_word_cycles, "atomic_word_cycles");
    set(c.atomic_lane_cycles, "atomic_lane_cycles");
    set(c.atomic_channels, "atomic_channels");
    set(c.fence_release_cycles, "fence_release_cycles");
    set(c.fence_acquire_cycles, "fence_acquire_cycles");
    set(c.fence_system_factor, "fence_system_factor");
    set(c.launch_floor_ns, "launch_floor_ns");
    set(c.dispatch_ns, "dispatch_ns");
    set(c.workgroup_launch_cycles, "workgroup_launch_cycles");
    set(c.wave_launch_cycles, "wave_launch_cycles");
    return c;
}

}  // namespace hipscope
