// A gate on buffers whose destination is an argument: what it may overlap is
// found out when the program runs.
//
// REQUIRES: gfx950-emulator
// UNSUPPORTED: sanitizers
//
// RUN: cat %S/Inputs/gates.mlir %s > %t.in.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline=fuse=false -o %t.host.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline -o %t.fused.mlir
// RUN: grep -c gpu.launch_func %t.fused.mlir | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES: {{^}}3{{$}}
//
// RUN: %mlir_run %t.host.mlir -e fine > %t.host
// RUN: %mlir_run %t.fused.mlir -e fine > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
// RUN: not %mlir_run %t.fused.mlir -e in_hidden 2>&1 | FileCheck %s --check-prefix=HIDDEN
// RUN: not %mlir_run %t.fused.mlir -e in_attention 2>&1 | FileCheck %s --check-prefix=ATTENTION
// HIDDEN-NOT: {{.}}
// HIDDEN: {{^}}kimi-mla-gate: the destination overlaps hidden{{$}}
// ATTENTION-NOT: {{.}}
// ATTENTION: {{^}}kimi-mla-gate: the destination overlaps attention{{$}}

#any2d = affine_map<(i, j) -> (i, j)>

func.func private @gate_into(%attention: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %out: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  linalg.generic {indexing_maps = [#any2d, #any2d, #any2d], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x1536xf32>)
      outs(%out : memref<1x1536xbf16, strided<[1536, 1], offset: ?>>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %wide = arith.extf %projection : bf16 to f32
    %negated = arith.negf %wide : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    %product = arith.mulf %a, %rounded : bf16
    linalg.yield %product : bf16
  }
  return
}

func.func private @run(%attention: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, %out: memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, %hidden: memref<1x7168xbf16>, %seed: i32) {
  %range = arith.constant 17 : i32
  %scale = arith.constant 0.0009765625 : f32
  %offset = arith.constant -0.0078125 : f32
  %attention_scale = arith.constant 0.0625 : f32
  %attention_offset = arith.constant -0.5 : f32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  linalg.generic {indexing_maps = [#any2d], iterator_types = ["parallel", "parallel"]} outs(%attention : memref<1x1536xbf16, strided<[1536, 1], offset: ?>>) {
  ^bb0(%unused: bf16):
    %m = linalg.index 0 : index
    %n = linalg.index 1 : index
    %value = func.call @random(%seed, %m, %n, %range, %attention_scale, %attention_offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  }
  linalg.generic {indexing_maps = [#any2d], iterator_types = ["parallel", "parallel"]} outs(%hidden : memref<1x7168xbf16>) {
  ^bb0(%unused: bf16):
    %m = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %m, %k, %range, %hidden_scale, %hidden_offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  }
  %weight = call @random_weight(%seed, %range, %scale, %offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
  %weight_buffer = bufferization.to_buffer %weight : tensor<1536x7168xbf16> to memref<1536x7168xbf16>
  call @gate_into(%attention, %hidden, %weight_buffer, %out) : (memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x7168xbf16>, memref<1536x7168xbf16>, memref<1x1536xbf16, strided<[1536, 1], offset: ?>>) -> ()
  %result = memref.alloc() : memref<1x1536xbf16>
  memref.copy %out, %result : memref<1x1536xbf16, strided<[1536, 1], offset: ?>> to memref<1x1536xbf16>
  %tensor = bufferization.to_tensor %result restrict : memref<1x1536xbf16> to tensor<1x1536xbf16>
  call @print_bf16(%tensor) : (tensor<1x1536xbf16>) -> ()
  return
}

// Side by side in one allocation, then the output over the attention.
func.func @fine() {
  %seed0 = arith.constant 7 : i32
  %seed1 = arith.constant 8 : i32
  %storage = memref.alloc() : memref<3072xbf16>
  %hidden = memref.alloc() : memref<1x7168xbf16>
  %first = memref.reinterpret_cast %storage to offset: [0], sizes: [1, 1536], strides: [1536, 1] : memref<3072xbf16> to memref<1x1536xbf16, strided<[1536, 1]>>
  %second = memref.reinterpret_cast %storage to offset: [1536], sizes: [1, 1536], strides: [1536, 1] : memref<3072xbf16> to memref<1x1536xbf16, strided<[1536, 1], offset: 1536>>
  %attention = memref.cast %first : memref<1x1536xbf16, strided<[1536, 1]>> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  %out = memref.cast %second : memref<1x1536xbf16, strided<[1536, 1], offset: 1536>> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  call @run(%attention, %out, %hidden, %seed0) : (memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x7168xbf16>, i32) -> ()
  call @run(%attention, %attention, %hidden, %seed1) : (memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x7168xbf16>, i32) -> ()
  return
}

// The output starts at the last element of hidden.
func.func @in_hidden() {
  %seed = arith.constant 9 : i32
  %storage = memref.alloc() : memref<8703xbf16>
  %attention_storage = memref.alloc() : memref<1x1536xbf16>
  %hidden = memref.reinterpret_cast %storage to offset: [0], sizes: [1, 7168], strides: [7168, 1] : memref<8703xbf16> to memref<1x7168xbf16>
  %end = memref.reinterpret_cast %storage to offset: [7167], sizes: [1, 1536], strides: [1536, 1] : memref<8703xbf16> to memref<1x1536xbf16, strided<[1536, 1], offset: 7167>>
  %out = memref.cast %end : memref<1x1536xbf16, strided<[1536, 1], offset: 7167>> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  %attention = memref.cast %attention_storage : memref<1x1536xbf16> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  call @run(%attention, %out, %hidden, %seed) : (memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x7168xbf16>, i32) -> ()
  return
}

// The output is the attention, one element later.
func.func @in_attention() {
  %seed = arith.constant 10 : i32
  %storage = memref.alloc() : memref<1537xbf16>
  %hidden = memref.alloc() : memref<1x7168xbf16>
  %first = memref.reinterpret_cast %storage to offset: [0], sizes: [1, 1536], strides: [1536, 1] : memref<1537xbf16> to memref<1x1536xbf16, strided<[1536, 1]>>
  %second = memref.reinterpret_cast %storage to offset: [1], sizes: [1, 1536], strides: [1536, 1] : memref<1537xbf16> to memref<1x1536xbf16, strided<[1536, 1], offset: 1>>
  %attention = memref.cast %first : memref<1x1536xbf16, strided<[1536, 1]>> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  %out = memref.cast %second : memref<1x1536xbf16, strided<[1536, 1], offset: 1>> to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
  call @run(%attention, %out, %hidden, %seed) : (memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x1536xbf16, strided<[1536, 1], offset: ?>>, memref<1x7168xbf16>, i32) -> ()
  return
}
