// The gate for M=1 N=1536 K=7168 on gfx950, as LLVM's backend wrote it from a
// gpu.func: 256 workgroups of 896 work-items, 6 rows each; float sums; sigmoid
// as 1 / (1 + e) or e / (1 + e) in float with e = exp(-|x|), rounded once;
// product rounded once.
// Kernel k(hidden, weight, attention, out), bfloat16 pointers.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.amdhsa_code_object_version 6
	.text
	.globl	k
	.p2align	8
	.type	k,@function
k:
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	v_cmp_gt_u32_e32 vcc, 5, v0
	v_mov_b32_e32 v17, 0
	v_and_b32_e32 v16, 63, v0
	v_cndmask_b32_e32 v2, 5, v0, vcc
	v_mad_u64_u32 v[14:15], s[0:1], s2, 6, v[2:3]
	s_mul_i32 s2, s2, 0x15000
	s_waitcnt lgkmcnt(0)
	s_add_u32 s0, s6, s2
	v_lshlrev_b32_e32 v2, 4, v0
	v_mov_b32_e32 v3, v17
	s_addc_u32 s1, s7, 0
	v_lshl_add_u64 v[4:5], s[0:1], 0, v[2:3]
	global_load_dwordx4 v[18:21], v2, s[4:5]
	global_load_dwordx4 v[22:25], v2, s[0:1] nt
	s_movk_i32 s0, 0x3000
	v_add_co_u32_e32 v2, vcc, s0, v4
	s_movk_i32 s0, 0x7000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v5, vcc
	v_add_co_u32_e32 v6, vcc, s0, v4
	s_mov_b32 s0, 0xa000
	s_nop 0
	v_addc_co_u32_e32 v7, vcc, 0, v5, vcc
	global_load_dwordx4 v[26:29], v[2:3], off offset:2048 nt
	global_load_dwordx4 v[30:33], v[6:7], off nt
	v_add_co_u32_e32 v2, vcc, s0, v4
	s_mov_b32 s0, 0xe000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v5, vcc
	v_add_co_u32_e32 v34, vcc, s0, v4
	s_mov_b32 s0, 0x11000
	s_nop 0
	v_addc_co_u32_e32 v35, vcc, 0, v5, vcc
	global_load_dwordx4 v[10:13], v[2:3], off offset:2048 nt
	global_load_dwordx4 v[6:9], v[34:35], off nt
	v_add_co_u32_e32 v2, vcc, s0, v4
	v_lshlrev_b32_e32 v1, 1, v14
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v5, vcc
	global_load_ushort v1, v1, s[8:9]
	s_nop 0
	global_load_dwordx4 v[2:5], v[2:3], off offset:2048 nt
	s_waitcnt vmcnt(7)
	v_and_b32_e32 v36, 0xffff0000, v18
	v_lshlrev_b32_e32 v18, 16, v18
	s_waitcnt vmcnt(6)
	v_and_b32_e32 v40, 0xffff0000, v22
	v_lshlrev_b32_e32 v22, 16, v22
	v_fma_f32 v22, v22, v18, 0
	v_and_b32_e32 v35, 0xffff0000, v19
	v_lshlrev_b32_e32 v19, 16, v19
	v_and_b32_e32 v39, 0xffff0000, v23
	v_lshlrev_b32_e32 v23, 16, v23
	v_fmac_f32_e32 v22, v40, v36
	v_fmac_f32_e32 v22, v23, v19
	v_and_b32_e32 v34, 0xffff0000, v20
	v_lshlrev_b32_e32 v20, 16, v20
	v_and_b32_e32 v38, 0xffff0000, v24
	v_lshlrev_b32_e32 v24, 16, v24
	v_fmac_f32_e32 v22, v39, v35
	v_fmac_f32_e32 v22, v24, v20
	v_and_b32_e32 v15, 0xffff0000, v21
	v_lshlrev_b32_e32 v21, 16, v21
	v_and_b32_e32 v37, 0xffff0000, v25
	v_lshlrev_b32_e32 v25, 16, v25
	v_fmac_f32_e32 v22, v38, v34
	v_fmac_f32_e32 v22, v25, v21
	v_fmac_f32_e32 v22, v37, v15
	s_waitcnt vmcnt(5)
	v_and_b32_e32 v24, 0xffff0000, v28
	v_lshlrev_b32_e32 v25, 16, v28
	v_add_f32_dpp v22, v22, v22 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_and_b32_e32 v28, 0xffff0000, v27
	v_lshlrev_b32_e32 v27, 16, v27
	v_add_f32_dpp v22, v22, v22 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_cmp_eq_u64_e32 vcc, 0, v[16:17]
	s_nop 0
	v_add_f32_dpp v22, v22, v22 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_f32_dpp v22, v22, v22 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v23, v22
	s_nop 1
	v_mov_b32_dpp v23, v23 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v22, v23, v22
	v_lshlrev_b32_e32 v23, 16, v29
	s_nop 0
	v_add_f32_dpp v22, v22, v22 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 0
	v_readlane_b32 s0, v22, 63
	v_and_b32_e32 v22, 0xffff0000, v29
	v_and_b32_e32 v29, 0xffff0000, v26
	v_lshlrev_b32_e32 v26, 16, v26
	v_fma_f32 v26, v26, v18, 0
	v_fmac_f32_e32 v26, v29, v36
	v_fmac_f32_e32 v26, v27, v19
	v_fmac_f32_e32 v26, v28, v35
	v_fmac_f32_e32 v26, v25, v20
	v_fmac_f32_e32 v26, v24, v34
	v_fmac_f32_e32 v26, v23, v21
	v_fmac_f32_e32 v26, v22, v15
	s_waitcnt vmcnt(4)
	v_lshlrev_b32_e32 v29, 16, v30
	v_and_b32_e32 v28, 0xffff0000, v30
	v_add_f32_dpp v22, v26, v26 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fma_f32 v29, v29, v18, 0
	v_lshlrev_b32_e32 v27, 16, v31
	v_add_f32_dpp v22, v22, v22 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v29, v28, v36
	v_and_b32_e32 v26, 0xffff0000, v31
	v_add_f32_dpp v22, v22, v22 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v29, v27, v19
	v_lshlrev_b32_e32 v25, 16, v32
	v_add_f32_dpp v22, v22, v22 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v23, v22
	v_fmac_f32_e32 v29, v26, v35
	v_and_b32_e32 v24, 0xffff0000, v32
	v_mov_b32_dpp v23, v23 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v22, v22, v23
	v_fmac_f32_e32 v29, v25, v20
	v_lshlrev_b32_e32 v23, 16, v33
	v_add_f32_dpp v22, v22, v22 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v29, v24, v34
	v_readlane_b32 s1, v22, 63
	v_and_b32_e32 v22, 0xffff0000, v33
	v_fmac_f32_e32 v29, v23, v21
	v_fmac_f32_e32 v29, v22, v15
	s_waitcnt vmcnt(3)
	v_and_b32_e32 v25, 0xffff0000, v10
	v_lshlrev_b32_e32 v10, 16, v10
	v_add_f32_dpp v22, v29, v29 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fma_f32 v10, v10, v18, 0
	v_and_b32_e32 v24, 0xffff0000, v11
	v_add_f32_dpp v22, v22, v22 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_lshlrev_b32_e32 v11, 16, v11
	v_fmac_f32_e32 v10, v25, v36
	v_add_f32_dpp v22, v22, v22 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v10, v11, v19
	v_fmac_f32_e32 v10, v24, v35
	v_add_f32_dpp v22, v22, v22 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v23, v22
	s_nop 1
	v_mov_b32_dpp v23, v23 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v22, v22, v23
	v_and_b32_e32 v23, 0xffff0000, v12
	v_lshlrev_b32_e32 v12, 16, v12
	v_add_f32_dpp v22, v22, v22 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v10, v12, v20
	v_readlane_b32 s2, v22, 63
	v_and_b32_e32 v22, 0xffff0000, v13
	v_lshlrev_b32_e32 v13, 16, v13
	v_fmac_f32_e32 v10, v23, v34
	v_fmac_f32_e32 v10, v13, v21
	v_fmac_f32_e32 v10, v22, v15
	s_waitcnt vmcnt(2)
	v_and_b32_e32 v13, 0xffff0000, v6
	v_lshlrev_b32_e32 v6, 16, v6
	v_add_f32_dpp v10, v10, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fma_f32 v6, v6, v18, 0
	v_and_b32_e32 v12, 0xffff0000, v7
	v_add_f32_dpp v10, v10, v10 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_lshlrev_b32_e32 v7, 16, v7
	v_fmac_f32_e32 v6, v13, v36
	v_add_f32_dpp v10, v10, v10 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v6, v7, v19
	v_fmac_f32_e32 v6, v12, v35
	v_add_f32_dpp v10, v10, v10 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v11, v10
	s_nop 1
	v_mov_b32_dpp v11, v11 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v10, v10, v11
	v_and_b32_e32 v11, 0xffff0000, v8
	v_lshlrev_b32_e32 v8, 16, v8
	v_add_f32_dpp v10, v10, v10 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v6, v8, v20
	v_readlane_b32 s3, v10, 63
	v_and_b32_e32 v10, 0xffff0000, v9
	v_lshlrev_b32_e32 v9, 16, v9
	v_fmac_f32_e32 v6, v11, v34
	v_fmac_f32_e32 v6, v9, v21
	v_fmac_f32_e32 v6, v10, v15
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v9, 0xffff0000, v2
	v_lshlrev_b32_e32 v2, 16, v2
	v_add_f32_dpp v6, v6, v6 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fma_f32 v2, v2, v18, 0
	v_and_b32_e32 v8, 0xffff0000, v3
	v_add_f32_dpp v6, v6, v6 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_lshlrev_b32_e32 v3, 16, v3
	v_fmac_f32_e32 v2, v9, v36
	v_add_f32_dpp v6, v6, v6 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v2, v3, v19
	v_fmac_f32_e32 v2, v8, v35
	v_add_f32_dpp v6, v6, v6 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v7, v6
	s_nop 1
	v_mov_b32_dpp v7, v7 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v6, v6, v7
	v_and_b32_e32 v7, 0xffff0000, v4
	v_lshlrev_b32_e32 v4, 16, v4
	v_add_f32_dpp v6, v6, v6 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_fmac_f32_e32 v2, v4, v20
	v_readlane_b32 s6, v6, 63
	v_and_b32_e32 v6, 0xffff0000, v5
	v_lshlrev_b32_e32 v5, 16, v5
	v_fmac_f32_e32 v2, v7, v34
	v_fmac_f32_e32 v2, v5, v21
	v_fmac_f32_e32 v2, v6, v15
	s_nop 1
	v_add_f32_dpp v2, v2, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_f32_dpp v2, v2, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_f32_dpp v2, v2, v2 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_f32_dpp v2, v2, v2 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_mov_b32_e32 v3, v2
	s_nop 1
	v_mov_b32_dpp v3, v3 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_add_f32_e32 v2, v2, v3
	s_nop 1
	v_add_f32_dpp v2, v2, v2 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 0
	v_readlane_b32 s7, v2, 63
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB0_2
	v_lshrrev_b32_e32 v2, 6, v0
	v_mul_lo_u32 v6, v2, 24
	v_mov_b64_e32 v[2:3], s[0:1]
	v_mov_b64_e32 v[4:5], s[2:3]
	ds_write2_b64 v6, v[2:3], v[4:5] offset1:1
	v_mov_b32_e32 v2, s6
	v_mov_b32_e32 v3, s7
	ds_write_b64 v6, v[2:3] offset:16
.LBB0_2:
	s_or_b64 exec, exec, s[4:5]
	v_cmp_gt_u32_e32 vcc, 6, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_4
	v_lshlrev_b32_e32 v0, 2, v0
	ds_read2_b32 v[2:3], v0 offset1:6
	ds_read2_b32 v[4:5], v0 offset0:12 offset1:18
	ds_read2_b32 v[6:7], v0 offset0:24 offset1:30
	ds_read2_b32 v[8:9], v0 offset0:36 offset1:42
	ds_read2_b32 v[10:11], v0 offset0:48 offset1:54
	ds_read2_b32 v[12:13], v0 offset0:60 offset1:66
	ds_read2_b32 v[18:19], v0 offset0:72 offset1:78
	s_waitcnt lgkmcnt(6)
	v_add_f32_e32 v0, v2, v3
	s_waitcnt lgkmcnt(5)
	v_add_f32_e32 v2, v4, v5
	s_waitcnt lgkmcnt(4)
	v_add_f32_e32 v3, v6, v7
	s_waitcnt lgkmcnt(3)
	v_add_f32_e32 v4, v8, v9
	s_waitcnt lgkmcnt(2)
	v_add_f32_e32 v5, v10, v11
	s_waitcnt lgkmcnt(1)
	v_add_f32_e32 v6, v12, v13
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v7, v18, v19
	v_add_f32_e32 v0, v0, v2
	v_add_f32_e32 v2, v3, v4
	v_add_f32_e32 v3, v5, v6
	v_add_f32_e32 v0, v0, v2
	v_add_f32_e32 v2, v3, v7
	v_add_f32_e32 v0, v0, v2
	v_cvt_pk_bf16_f32 v2, v0, s0
	s_mov_b32 s0, 0x8000
	v_or_b32_sdwa v2, s0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD
	s_mov_b32 s0, 0x3fb8aa3b
	v_mul_f32_e32 v3, 0x3fb8aa3b, v2
	v_fma_f32 v4, v2, s0, -v3
	v_rndne_f32_e32 v5, v3
	v_fmamk_f32 v4, v2, 0x32a5705f, v4
	v_sub_f32_e32 v3, v3, v5
	v_add_f32_e32 v3, v3, v4
	v_exp_f32_e32 v3, v3
	v_cvt_i32_f32_e32 v4, v5
	s_mov_b32 s0, 0xc2ce8ed0
	v_cmp_ngt_f32_e32 vcc, s0, v2
	s_mov_b32 s0, 0x42b17218
	v_ldexp_f32 v3, v3, v4
	v_cndmask_b32_e32 v3, 0, v3, vcc
	v_mov_b32_e32 v4, 0x7f800000
	v_cmp_nlt_f32_e32 vcc, s0, v2
	s_mov_b32 s0, 0x80008000
	v_lshlrev_b32_e32 v1, 16, v1
	v_cndmask_b32_e32 v2, v4, v3, vcc
	v_cmp_nle_f32_e32 vcc, s0, v0
	v_add_f32_e32 v4, 1.0, v2
	v_mov_b32_e32 v15, v17
	v_cndmask_b32_e32 v0, 1.0, v2, vcc
	v_div_scale_f32 v5, s[0:1], v4, v4, v0
	v_rcp_f32_e32 v6, v5
	v_mov_b32_e32 v2, s10
	v_mov_b32_e32 v3, s11
	v_fma_f32 v7, -v5, v6, 1.0
	v_fmac_f32_e32 v6, v7, v6
	v_div_scale_f32 v7, vcc, v0, v4, v0
	v_mul_f32_e32 v8, v7, v6
	v_fma_f32 v9, -v5, v8, v7
	v_fmac_f32_e32 v8, v9, v6
	v_fma_f32 v5, -v5, v8, v7
	v_div_fmas_f32 v5, v5, v6, v8
	v_div_fixup_f32 v0, v5, v4, v0
	v_cvt_pk_bf16_f32 v0, v0, s0
	v_lshlrev_b32_e32 v0, 16, v0
	v_mul_f32_e32 v0, v1, v0
	v_cvt_pk_bf16_f32 v4, v0, s0
	v_lshl_add_u64 v[0:1], v[14:15], 1, v[2:3]
	global_store_short v[0:1], v4, off
.LBB0_4:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 336
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 65
		.amdhsa_next_free_sgpr 75
		.amdhsa_accum_offset 44
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	k, .Lfunc_end0-k

	.set k.num_vgpr, 41
	.set k.num_agpr, 0
	.set k.numbered_sgpr, 12
	.set k.num_named_barrier, 0
	.set k.private_seg_size, 0
	.set k.uses_vcc, 1
	.set k.uses_flat_scratch, 0
	.set k.has_dyn_sized_stack, 0
	.set k.has_recursion, 0
	.set k.has_indirect_call, 0
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.section	".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  generic
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  generic
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  generic
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  generic
        .offset:         24
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 336
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 896
    .name:           k
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 896
      - 1
      - 1
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         k.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     41
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx950
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
