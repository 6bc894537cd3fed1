// Kernels of fused gates become gpu.binary, without a ROCm installation.

// RUN: kimi-opt %s --kimi-mla-gate-fuse --kimi-mla-gate-to-rocdl | FileCheck %s --check-prefixes=CHECK,BINARY
// RUN: kimi-opt %s --kimi-mla-gate-fuse --kimi-mla-gate-to-rocdl=format=isa | FileCheck %s --check-prefixes=CHECK,ISA
// RUN: kimi-opt %s --kimi-mla-gate-fuse --kimi-mla-gate-to-rocdl=format=llvm | FileCheck %s --check-prefixes=CHECK,LLVM

// Compiling the same kernel twice gives the same bytes.
// RUN: rm -rf %t.first %t.second
// RUN: kimi-opt %s --kimi-mla-gate-fuse --kimi-mla-gate-to-rocdl=dump-dir=%t.first/new -o /dev/null
// RUN: kimi-opt %s --kimi-mla-gate-fuse --kimi-mla-gate-to-rocdl="dump-dir=%t.second format=isa" -o /dev/null
// RUN: diff -r %t.first/new %t.second
// RUN: ls %t.second | FileCheck %s --check-prefix=FILES
// FILES: {{^}}kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.hsaco{{$}}
// FILES-NEXT: {{^}}kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.json{{$}}
// FILES-NEXT: {{^}}kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.s{{$}}
// FILES-NOT: {{.}}

// RUN: llvm-readobj --file-header --symbols %t.second/kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.hsaco | FileCheck %s --check-prefix=ELF
// ELF: Type: SharedObject
// ELF: Machine: EM_AMDGPU
// ELF: EF_AMDGPU_MACH_AMDGCN_GFX950
// ELF-DAG: Name: kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16 (
// ELF-DAG: Name: kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.kd (

// RUN: %python -c "import json,sys; print(json.dumps(json.load(open(sys.argv[1]))))" %t.second/kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.json | FileCheck %s --check-prefix=JSON
// JSON: {"kernel": "kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16", "chip": "gfx950", "code_object": "kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16.hsaco",
// JSON-SAME: "m": 1, "n": 1536, "k": 7168, "grid": [256, 1, 1], "block": [896, 1, 1],
// JSON-SAME: "arguments": [{"name": "hidden", "type": "bf16", "shape": [1, 7168], "access": "read"},
// JSON-SAME: {"name": "weight", "type": "bf16", "shape": [1536, 7168], "access": "read"},
// JSON-SAME: {"name": "attention", "type": "bf16", "shape": [1, 1536], "access": "read"},
// JSON-SAME: {"name": "out", "type": "bf16", "shape": [1, 1536], "access": "write"}],
// JSON-SAME: "rounding": "ir", "sigmoid": "bf16", "product": "bf16"}

#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @gate(
// CHECK: gpu.launch_func @[[KERNEL:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16]]::@[[KERNEL]]
// CHECK-SAME: args(%{{.+}} : memref<1x7168xbf16>, %{{.+}} : memref<1536x7168xbf16>, %{{.+}} : memref<1x1536xbf16>, %{{.+}} : memref<1x1536xbf16>)
func.func @gate(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %result : tensor<1x1536xbf16>
}

// Somebody else's kernel, for another chip, stays as it is.
// CHECK-LABEL: gpu.module @other [#rocdl.target<chip = "gfx942">] {
// CHECK-NEXT: gpu.func @other(%{{.+}}: memref<4xf32>) kernel {
// CHECK-NEXT: gpu.return
gpu.module @other [#rocdl.target<chip = "gfx942">] {
  gpu.func @other(%buffer: memref<4xf32>) kernel {
    gpu.return
  }
}

// CHECK-NOT: gpu.module
// BINARY: gpu.binary @{{.+}} [#gpu.object<#rocdl.target<O = 3, chip = "gfx950", features = "-packed-fp32-ops">, kernels = <[#gpu.kernel_metadata<"kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16", {{.+}} bin = "\7FELF
// ISA: gpu.binary @{{.+}} [#gpu.object<#rocdl.target<O = 3, chip = "gfx950", features = "-packed-fp32-ops">, {{.*}}assembly = "{{.*}}amdgcn-amd-amdhsa--gfx950
// LLVM: gpu.binary @{{.+}} [#gpu.object<#rocdl.target<O = 3, chip = "gfx950", features = "-packed-fp32-ops">, {{.*}}offload = "BC\C0\DE
// CHECK-NOT: gpu.module
