// A kernel compiled from gpu.func runs under mlir-runner on the gfx950 emulator,
// once on registered host memory and once on device memory.
//
// REQUIRES: gfx950-emulator
// UNSUPPORTED: sanitizers
//
// gpu-module-to-binary looks for the linker in a ROCm folder.
// RUN: rm -rf %t && mkdir -p %t/rocm/llvm/bin
// RUN: ln -s %llvm_lib/../bin/ld.lld %t/rocm/llvm/bin/ld.lld
// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(gpu-async-region),gpu.module(convert-gpu-to-rocdl{chipset=gfx950 runtime=HIP use-bare-ptr-memref-call-conv=true},reconcile-unrealized-casts),rocdl-attach-target{chip=gfx950 O=3},convert-scf-to-cf,gpu-to-llvm{use-bare-pointers-for-kernels=true},convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=binary toolkit=%t/rocm})' \
// RUN:   | mlir-runner --entry-point-result=void --shared-libs=%kimi_lib/libkimi_gpu_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so -e main \
// RUN:   | FileCheck %s
//
// CHECK:      [1003, 1004, 1005, 1006]
// CHECK-NEXT: [1035, 1036, 1037, 1038]
// CHECK-NEXT: [1067, 1068, 1069, 1070]
// CHECK:      [1004, 1005, 1006, 1007]
// CHECK-NEXT: [1036, 1037, 1038, 1039]
// CHECK-NEXT: [1068, 1069, 1070, 1071]

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // out[b][t] = in + 32 * b + t + small; the i16 has its own place in the
    // argument buffer.
    gpu.func @iota(%out: memref<3x4xi32>, %in: i32, %small: i16) kernel attributes {known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 3, 1, 1>} {
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %c32 = arith.constant 32 : i32
      %b = arith.index_cast %block : index to i32
      %t = arith.index_cast %thread : index to i32
      %row = arith.muli %b, %c32 : i32
      %s = arith.extsi %small : i16 to i32
      %0 = arith.addi %row, %t : i32
      %1 = arith.addi %0, %in : i32
      %2 = arith.addi %1, %s : i32
      memref.store %2, %out[%block, %thread] : memref<3x4xi32>
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %in = arith.constant 1000 : i32
    %small = arith.constant 3 : i16
    %smaller = arith.constant 4 : i16
    %host = memref.alloc() : memref<3x4xi32>
    %any = memref.cast %host : memref<3x4xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch_func @kernels::@iota blocks in (%c3, %c1, %c1) threads in (%c4, %c1, %c1) args(%host : memref<3x4xi32>, %in : i32, %small : i16)
    gpu.host_unregister %any : memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()

    %device = gpu.alloc () : memref<3x4xi32>
    gpu.launch_func @kernels::@iota blocks in (%c3, %c1, %c1) threads in (%c4, %c1, %c1) args(%device : memref<3x4xi32>, %in : i32, %smaller : i16)
    gpu.memcpy %host, %device : memref<3x4xi32>, memref<3x4xi32>
    gpu.dealloc %device : memref<3x4xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<3x4xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
}
