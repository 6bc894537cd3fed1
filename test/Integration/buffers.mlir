// What a program may do with its buffers: views at an offset, buffers with gaps,
// an output that overwrites attention, buffers that are used again.
//
// REQUIRES: gfx950-emulator
// UNSUPPORTED: sanitizers
//
// RUN: cat %S/Inputs/gates.mlir %s > %t.in.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline=fuse=false -o %t.host.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline -o %t.identity.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline=function-boundary-layout=dynamic -o %t.dynamic.mlir
//
// RUN: grep -c gpu.launch_func %t.identity.mlir | FileCheck %s --check-prefix=LAUNCHES
// RUN: grep -c gpu.launch_func %t.dynamic.mlir | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES: {{^}}3{{$}}
//
// RUN: %mlir_run %t.host.mlir -e at_offset > %t.host
// RUN: %mlir_run %t.identity.mlir -e at_offset > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
// RUN: %mlir_run %t.dynamic.mlir -e at_offset > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
//
// RUN: %mlir_run %t.host.mlir -e in_place > %t.host
// RUN: %mlir_run %t.identity.mlir -e in_place > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
// RUN: %mlir_run %t.dynamic.mlir -e in_place > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
//
// RUN: %mlir_run %t.host.mlir -e again > %t.host
// RUN: %mlir_run %t.identity.mlir -e again > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
// RUN: %mlir_run %t.dynamic.mlir -e again > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
//
// A row-major function boundary makes bufferization copy a weight with gaps into
// one without; a dynamic one hands it over, and the program must stop.
// RUN: %mlir_run %t.host.mlir -e with_gaps > %t.host
// RUN: %mlir_run %t.identity.mlir -e with_gaps > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused
// RUN: not %mlir_run %t.dynamic.mlir -e with_gaps 2>&1 | FileCheck %s --check-prefix=GAPS
// GAPS-NOT: {{.}}
// GAPS: {{^}}kimi-mla-gate: weight is not contiguous{{$}}
// GAPS-NOT: {{.}}

#any2d = affine_map<(i, j) -> (i, j)>

func.func private @fill_hidden(%buffer: memref<1x7168xbf16, strided<[7168, 1], offset: 5>>, %seed: i32) {
  %range = arith.constant 17 : i32
  %scale = arith.constant 1.0 : f32
  %offset = arith.constant -8.0 : f32
  linalg.generic {indexing_maps = [#any2d], iterator_types = ["parallel", "parallel"]}
      outs(%buffer : memref<1x7168xbf16, strided<[7168, 1], offset: 5>>) {
  ^bb0(%unused: bf16):
    %m = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %m, %k, %range, %scale, %offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  }
  return
}

func.func private @fill_weight(%buffer: memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>, %seed: i32) {
  %range = arith.constant 17 : i32
  %scale = arith.constant 0.0009765625 : f32
  %offset = arith.constant -0.0078125 : f32
  linalg.generic {indexing_maps = [#any2d], iterator_types = ["parallel", "parallel"]}
      outs(%buffer : memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>) {
  ^bb0(%unused: bf16):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %n, %k, %range, %scale, %offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  }
  return
}

func.func private @gates(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) {
  %f32 = call @gate_f32(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%f32) : (tensor<1x1536xbf16>) -> ()
  %bf16 = call @gate_bf16(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%bf16) : (tensor<1x1536xbf16>) -> ()
  return
}

// Every operand is a view at an odd offset into a larger buffer: its vectors of
// eight are not aligned to 16 bytes.
func.func @at_offset() {
  %seed = arith.constant 3 : i32
  %hidden_storage = memref.alloc() : memref<7173xbf16>
  %weight_storage = memref.alloc() : memref<11010051xbf16>
  %hidden_buffer = memref.reinterpret_cast %hidden_storage to offset: [5], sizes: [1, 7168], strides: [7168, 1]
      : memref<7173xbf16> to memref<1x7168xbf16, strided<[7168, 1], offset: 5>>
  %weight_buffer = memref.reinterpret_cast %weight_storage to offset: [3], sizes: [1536, 7168], strides: [7168, 1]
      : memref<11010051xbf16> to memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>
  call @fill_hidden(%hidden_buffer, %seed) : (memref<1x7168xbf16, strided<[7168, 1], offset: 5>>, i32) -> ()
  call @fill_weight(%weight_buffer, %seed) : (memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>, i32) -> ()
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = bufferization.to_tensor %hidden_buffer restrict : memref<1x7168xbf16, strided<[7168, 1], offset: 5>> to tensor<1x7168xbf16>
  %weight = bufferization.to_tensor %weight_buffer restrict : memref<1536x7168xbf16, strided<[7168, 1], offset: 3>> to tensor<1536x7168xbf16>
  call @gates(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> ()
  return
}

func.func @with_gaps() {
  %seed = arith.constant 4 : i32
  %range = arith.constant 17 : i32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  %weight_scale = arith.constant 0.0009765625 : f32
  %weight_offset = arith.constant -0.0078125 : f32
  %storage = memref.alloc() : memref<1536x7176xbf16>
  %buffer = memref.subview %storage[0, 0] [1536, 7168] [1, 1]
      : memref<1536x7176xbf16> to memref<1536x7168xbf16, strided<[7176, 1]>>
  linalg.generic {indexing_maps = [#any2d], iterator_types = ["parallel", "parallel"]}
      outs(%buffer : memref<1536x7168xbf16, strided<[7176, 1]>>) {
  ^bb0(%unused: bf16):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %n, %k, %range, %weight_scale, %weight_offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  }
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = bufferization.to_tensor %buffer restrict : memref<1536x7168xbf16, strided<[7176, 1]>> to tensor<1536x7168xbf16>
  call @gates(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> ()
  return
}

// Bufferization puts the result into the attention's buffer; the second gate
// reads what the first one wrote.
func.func private @gate_in_place(%attention: tensor<1x1536xbf16> {bufferization.writable = true}, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %result = linalg.generic {indexing_maps = [#any2d, #any2d], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<1x1536xf32>) outs(%attention : tensor<1x1536xbf16>) {
  ^bb0(%sum: f32, %a: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %wide = arith.extf %projection : bf16 to f32
    %negated = arith.negf %wide : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    %product = arith.mulf %a, %rounded : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %result : tensor<1x1536xbf16>
}

func.func @in_place() {
  %seed = arith.constant 5 : i32
  %range = arith.constant 17 : i32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  %weight_scale = arith.constant 0.0009765625 : f32
  %weight_offset = arith.constant -0.0078125 : f32
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = call @random_weight(%seed, %range, %weight_scale, %weight_offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
  %once = call @gate_in_place(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%once) : (tensor<1x1536xbf16>) -> ()
  %twice = call @gate_in_place(%once, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%twice) : (tensor<1x1536xbf16>) -> ()
  return
}

// The same buffers with other contents: nothing of the first launch stays.
func.func @again() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %hidden_storage = memref.alloc() : memref<7173xbf16>
  %weight_storage = memref.alloc() : memref<11010051xbf16>
  %hidden_buffer = memref.reinterpret_cast %hidden_storage to offset: [5], sizes: [1, 7168], strides: [7168, 1]
      : memref<7173xbf16> to memref<1x7168xbf16, strided<[7168, 1], offset: 5>>
  %weight_buffer = memref.reinterpret_cast %weight_storage to offset: [3], sizes: [1536, 7168], strides: [7168, 1]
      : memref<11010051xbf16> to memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>
  scf.for %i = %c0 to %c2 step %c1 {
    %seed = arith.index_cast %i : index to i32
    func.call @fill_hidden(%hidden_buffer, %seed) : (memref<1x7168xbf16, strided<[7168, 1], offset: 5>>, i32) -> ()
    func.call @fill_weight(%weight_buffer, %seed) : (memref<1536x7168xbf16, strided<[7168, 1], offset: 3>>, i32) -> ()
    %attention = func.call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
    %hidden = bufferization.to_tensor %hidden_buffer restrict : memref<1x7168xbf16, strided<[7168, 1], offset: 5>> to tensor<1x7168xbf16>
    %weight = bufferization.to_tensor %weight_buffer restrict : memref<1536x7168xbf16, strided<[7168, 1], offset: 3>> to tensor<1536x7168xbf16>
    %gated = func.call @gate_f32(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
    func.call @print_bf16(%gated) : (tensor<1x1536xbf16>) -> ()
  }
  return
}
