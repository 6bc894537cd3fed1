; A kernel by hand, through LLVM's assembler and linker: out[i] = in[i] * n + id
; of the workgroup, for workgroups of 100 work-items (a full and a partial wave).
;
; RUN: llvm-mc -triple=amdgcn-amd-amdhsa -mcpu=gfx950 -filetype=obj %s -o %t.o
; RUN: ld.lld -shared %t.o -o %t.hsaco
; RUN: %bytes write %t.in I 0..200
; RUN: gfx950-run %t.hsaco --kernel=scale --grid=2 --block=100 \
; RUN:   --arg=in:%t.in --arg=out:%t.out:800 --arg=u32:3
; RUN: %bytes print %t.out I | FileCheck %s
;
; CHECK:      0
; CHECK-NEXT: 3
; CHECK-NEXT: 6
; CHECK:      297
; CHECK-NEXT: 301
; CHECK-NEXT: 304
; CHECK:      598
; CHECK-NOT:  {{.}}
;
; An output that is a pipe takes the bytes and stays a pipe.
; RUN: rm -f %t.pipe %t.piped && mkfifo %t.pipe
; RUN: bash -c 'cat %t.pipe >%t.piped & gfx950-run %t.hsaco --kernel=scale --grid=2 --block=100 --arg=in:%t.in --arg=out:%t.pipe:800 --arg=u32:3 && wait'
; RUN: cmp %t.out %t.piped
; RUN: test -p %t.pipe
;
; RUN: gfx950-run %t.hsaco --list | FileCheck --check-prefix=LIST %s
; LIST:      kernel: scale
; LIST-NEXT:   code_bytes: {{[0-9]+}}
; LIST-NEXT:   vgprs: 8 (allocated 8)
; LIST-NEXT:   acc_vgprs: 0 (allocated 0)
; LIST-NEXT:   sgprs: 16 (allocated 32)
; LIST-NEXT:   lds_bytes: 0
; LIST-NEXT:   scratch_bytes: 0
; LIST-NEXT:   kernarg_bytes: 24
; LIST-NEXT:   max_workgroup_size: 128
; LIST-NEXT:   argument: offset 0, 8 bytes, global_buffer
; LIST-NEXT:   argument: offset 8, 8 bytes, global_buffer
; LIST-NEXT:   argument: offset 16, 4 bytes, by_value
;
; An inout buffer is read and written in place.
; RUN: %bytes write %t.io I 0..200
; RUN: gfx950-run %t.hsaco --kernel=scale --grid=2 --block=100 \
; RUN:   --arg=in:%t.in --arg=inout:%t.io --arg=u32:3
; RUN: cmp %t.io %t.out
;
; Arguments must match the metadata in number and size.
; RUN: not gfx950-run %t.hsaco --kernel=scale --block=100 --arg=in:%t.in \
; RUN:   --arg=out:%t.no:400 2>&1 | FileCheck --check-prefix=COUNT %s
; COUNT: error: kernel 'scale' takes 3 arguments, 2 were given
; RUN: not gfx950-run %t.hsaco --kernel=scale --block=100 --arg=in:%t.in \
; RUN:   --arg=out:%t.no:400 --arg=u64:3 2>&1 | FileCheck --check-prefix=SIZE %s
; SIZE: error: --arg=u64:3: argument 2 of kernel 'scale' has 4 bytes, not 8
; RUN: not gfx950-run %t.hsaco --kernel=scale --block=129 --arg=in:%t.in \
; RUN:   --arg=out:%t.no:400 --arg=u32:3 2>&1 | FileCheck --check-prefix=LIMIT %s
; LIMIT: error: kernel 'scale': a workgroup of 129 work-items is over the limit of 128
;
; An output that the kernel leaves unwritten is an error, and no file appears.
; RUN: not gfx950-run %t.hsaco --kernel=scale --grid=2 --block=100 \
; RUN:   --arg=in:%t.in --arg=out:%t.no:804 --arg=u32:3 2>&1 \
; RUN:   | FileCheck --check-prefix=UNWRITTEN %s
; UNWRITTEN: error: --arg=out:{{.*}}:804: the kernel never wrote byte 800 of 804
; RUN: not ls %t.no

.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl scale
.p2align 8
.type scale,@function
scale:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  s_mul_i32 s3, s2, 100
  v_add_u32_e32 v1, s3, v0
  v_lshlrev_b32_e32 v2, 2, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v3, v2, s[4:5]
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v3, v3, s8
  v_add_u32_e32 v3, s2, v3
  global_store_dword v2, v3, s[6:7]
  s_endpgm
.size scale, .-scale

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel scale
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: scale
    .symbol: scale.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .vgpr_count: 8
    .sgpr_count: 16
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
      - {.offset: 8, .size: 8, .value_kind: global_buffer}
      - {.offset: 16, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
