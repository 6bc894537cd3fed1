// The emitted kernel: which loads there are, in which order, and what may not
// move across the scheduling barrier.

// RUN: kimi-opt --kimi-mla-gate-fuse %S/Cases/p05_f32_sigmoid_bf16_round_bf16_mul.mlir | FileCheck %s --implicit-check-not=math.exp --implicit-check-not=rocdl.exp --check-prefixes=CHECK,F32
// RUN: kimi-opt --kimi-mla-gate-fuse %S/Cases/p01_torch_mlir_mm_transpose.mlir | FileCheck %s --implicit-check-not=math.exp --implicit-check-not=rocdl.exp --check-prefixes=CHECK,STEPS
// RUN: kimi-opt --kimi-mla-gate-fuse=rounding=production %S/Cases/p01_torch_mlir_mm_transpose.mlir | FileCheck %s --implicit-check-not=math.exp --implicit-check-not=rocdl.exp --check-prefixes=CHECK,PRODUCTION

// F32: gpu.module @[[NAME:kimi_mla_gate_m1_n1536_k7168_sigmoid_f32]] [#rocdl.target<O = 3, chip = "gfx950", features = "-packed-fp32-ops">]
// F32-SAME: kimi_mla_gate.kernel = {arguments = ["hidden", "weight", "attention", "out"], k = 7168 : i64, m = 1 : i64, n = 1536 : i64, product = "bf16", rounding = "ir", sigmoid = "f32"}
// F32: gpu.func @[[NAME]](
// STEPS: gpu.module @[[NAME:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16]] [
// STEPS-SAME: rounding = "ir", sigmoid = "bf16"}
// STEPS: gpu.func @[[NAME]](
// PRODUCTION: gpu.module @[[NAME:kimi_mla_gate_m1_n1536_k7168_production]] [
// PRODUCTION-SAME: rounding = "production", sigmoid = "f32"}
// PRODUCTION: gpu.func @[[NAME]](
// CHECK-SAME: %[[HIDDEN:[^:]+]]: memref<1x7168xbf16, strided<[7168, 1], offset: ?>>
// CHECK-SAME: %[[WEIGHT:[^:]+]]: memref<1536x7168xbf16, strided<[7168, 1], offset: ?>>
// CHECK-SAME: %[[ATTENTION:[^:]+]]: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
// CHECK-SAME: %[[OUT:[^:]+]]: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
// CHECK-SAME: workgroup(%[[PARTIALS:.+]] : memref<14x6xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: kernel attributes {known_block_size = array<i32: 896, 1, 1>, known_grid_size = array<i32: 256, 1, 1>}

// Hidden once, then six rows of the weight, then attention, and nothing of the
// arithmetic in between.
// CHECK-NOT: math.fma
// CHECK: %[[H:.+]] = vector.load %[[HIDDEN]][{{.+}}] : {{.+}}, vector<8xbf16>
// CHECK-NOT: math.fma
// CHECK-COUNT-6: vector.load %[[WEIGHT]][{{.+}}] {nontemporal = true} : {{.+}}, vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK: memref.load %[[ATTENTION]]
// CHECK-NOT: math.fma
// CHECK: amdgpu.sched_barrier allow = <none>
// CHECK-NOT: vector.load

// Each row: eight fused multiply-adds from +0.0, then the wave's sum with DPP.
// CHECK: math.fma %{{.+}}, %{{.+}}, %{{cst.*}} : f32
// CHECK-COUNT-7: math.fma
// CHECK: amdgpu.dpp {{.*}}quad_perm
// CHECK: rocdl.readlane
// CHECK-NOT: gpu.subgroup_reduce
// CHECK-NOT: atomic
// CHECK: gpu.barrier

// The waves' sums pairwise, then the epilogue. The exponential is made of IEEE
// operations: no chip's own instruction (--implicit-check-not).
// CHECK-COUNT-14: memref.load %[[PARTIALS]]
// CHECK-COUNT-13: arith.addf
// CHECK: %[[PROJECTION:.+]] = arith.truncf %{{.+}} : f32 to bf16
// F32: %[[X:.+]] = arith.extf %[[PROJECTION]] : bf16 to f32
// F32: %[[ABS:.+]] = math.absf %[[X]] : f32
// F32: %[[NEG:.+]] = arith.negf %[[ABS]] : f32
// F32: %[[SHIFTED:.+]] = math.fma %[[CLAMPED:.+]], %{{.+}}, %[[MAGIC:.+]] : f32
// F32: %[[N:.+]] = arith.subf %[[SHIFTED]], %[[MAGIC]] : f32
// F32: %[[R0:.+]] = math.fma %[[N]], %{{.+}}, %[[CLAMPED]] : f32
// F32: %[[R:.+]] = math.fma %[[N]], %{{.+}}, %[[R0]] : f32
// F32-COUNT-7: math.fma %{{.+}}, %[[R]],
// F32: arith.bitcast %[[SHIFTED]] : f32 to i32
// F32: arith.mulf
// F32: %[[E:.+]] = arith.mulf
// F32: %[[POSITIVE:.+]] = arith.cmpf oge, %[[X]]
// F32: %[[NUMERATOR:.+]] = arith.select %[[POSITIVE]], %{{.+}}, %[[E]] : f32
// F32: %[[SUM:.+]] = arith.addf %[[E]]
// F32: %[[QUOTIENT:.+]] = arith.divf %[[NUMERATOR]], %[[SUM]] : f32
// F32: %[[SIGMOID:.+]] = arith.truncf %[[QUOTIENT]] : f32 to bf16
// STEPS: %[[X:.+]] = arith.extf %[[PROJECTION]] : bf16 to f32
// STEPS: %[[NEG:.+]] = arith.negf %[[X]] : f32
// STEPS: %[[SHIFTED:.+]] = math.fma %[[CLAMPED:.+]], %{{.+}}, %[[MAGIC:.+]] : f32
// STEPS: %[[N:.+]] = arith.subf %[[SHIFTED]], %[[MAGIC]] : f32
// STEPS: %[[R0:.+]] = math.fma %[[N]], %{{.+}}, %[[CLAMPED]] : f32
// STEPS: %[[R:.+]] = math.fma %[[N]], %{{.+}}, %[[R0]] : f32
// STEPS-COUNT-7: math.fma %{{.+}}, %[[R]],
// STEPS: arith.bitcast %[[SHIFTED]] : f32 to i32
// STEPS: arith.mulf
// STEPS: %[[E:.+]] = arith.mulf
// STEPS: %[[E16:.+]] = arith.truncf %[[E]] : f32 to bf16
// STEPS: %[[E32:.+]] = arith.extf %[[E16]] : bf16 to f32
// STEPS: %[[SUM:.+]] = arith.addf %[[E32]]
// STEPS: %[[SUM16:.+]] = arith.truncf %[[SUM]] : f32 to bf16
// STEPS: %[[SUM32:.+]] = arith.extf %[[SUM16]] : bf16 to f32
// STEPS: %[[QUOTIENT:.+]] = arith.divf %{{.+}}, %[[SUM32]] : f32
// STEPS: %[[SIGMOID:.+]] = arith.truncf %[[QUOTIENT]] : f32 to bf16
// PRODUCTION: math.absf
// PRODUCTION: %[[QUOTIENT:.+]] = arith.divf
// PRODUCTION: %[[SIGMOID:.+]] = arith.truncf %[[QUOTIENT]] : f32 to bf16
// CHECK: %[[S32:.+]] = arith.extf %[[SIGMOID]] : bf16 to f32
// CHECK: %[[PRODUCT:.+]] = arith.mulf %{{.+}}, %[[S32]] : f32
// CHECK: %[[ROUNDED:.+]] = arith.truncf %[[PRODUCT]] : f32 to bf16
// CHECK: memref.store %[[ROUNDED]], %[[OUT]]
// CHECK: gpu.return
