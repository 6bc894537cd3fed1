// The mgpu entry points under mlir-runner, over the stand-in emulator, whose
// code objects are text.
//
// UNSUPPORTED: sanitizers
//
// RUN: mlir-opt %s --pass-pipeline='builtin.module(convert-linalg-to-loops,convert-scf-to-cf,func.func(gpu-async-region),gpu-to-llvm{use-bare-pointers-for-kernels=true},expand-strided-metadata,finalize-memref-to-llvm,convert-to-llvm,reconcile-unrealized-casts)' -o %t.mlir
// DEFINE: %{libs} = --shared-libs=%kimi_lib/libkimi_gpu_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so
// DEFINE: %{run} = env KIMI_GPU_EMULATOR=%kimi_lib/libkimi_standin_emulator.so mlir-runner %t.mlir --entry-point-result=void %{libs}
//
// RUN: %{run} -e registered | FileCheck %s --check-prefix=REGISTERED
// REGISTERED: [5, 5, 5, 5]
// REGISTERED: [7, 7, 7, 7]
// RUN: %{run} -e allocated | FileCheck %s --check-prefix=ALLOCATED
// ALLOCATED: [9, 9, 9, 9]
// ALLOCATED: [3, 3, 3, 3, 3]
//
// An error ends the process: what was printed stays, nothing else follows.
// RUN: not %{run} -e unregistered 2>&1 | FileCheck %s --check-prefix=UNREGISTERED --implicit-check-not=[5
// UNREGISTERED: [1, 1, 1, 1]
// UNREGISTERED: kimi-gpu-runtime: mgpuLaunchKernel: access outside mapped memory
// RUN: not %{run} -e missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: kimi-gpu-runtime: mgpuModuleGetFunction: no kernel 'gone' in the code object, which has fill
// RUN: not %{run} -e arguments 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// ARGUMENTS: kimi-gpu-runtime: mgpuLaunchKernel: kernel 'fill': launched with 1 arguments, takes 2
// RUN: not %{run} -e block 2>&1 | FileCheck %s --check-prefix=BLOCK
// BLOCK: kimi-gpu-runtime: mgpuLaunchKernel: kernel 'fill': launched with a workgroup of 32x1x1 work-items, requires 64x1x1
// RUN: not %{run} -e strided 2>&1 | FileCheck %s --check-prefix=STRIDED
// STRIDED: kimi-gpu-runtime: mgpuMemHostRegisterMemRef: dimension 0 of the memref has stride 8, a dense one has 4
// RUN: not %{run} -e twice 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: kimi-gpu-runtime: mgpuMemHostUnregisterMemRef: unregistering 0x{{[0-9a-f]+}}, which is not registered
// RUN: not %{run} -e ordinal 2>&1 | FileCheck %s --check-prefix=ORDINAL
// ORDINAL: kimi-gpu-runtime: mgpuSetDefaultDevice: device 0 is in use already
// RUN: not env KIMI_GPU_DEVICE=hip mlir-runner %t.mlir --entry-point-result=void %{libs} -e registered 2>&1 | FileCheck %s --check-prefix=HIP
// HIP: kimi-gpu-runtime: mgpuModuleLoad: device 'hip' (from KIMI_GPU_DEVICE) is not part of this build

module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#rocdl.target<chip = "gfx950">, bin = "stand-in\0Akernel fill 8,4 64,1,1 fill 4\0A">]

  func.func @registered() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %five = arith.constant 5 : i32
    %seven = arith.constant 7 : i32
    // A buffer inside another one, registered twice, as two arguments that
    // share it are.
    %outer = memref.alloc() : memref<3x4xi32>
    %row = memref.subview %outer[1, 0] [1, 4] [1, 1] : memref<3x4xi32> to memref<1x4xi32, strided<[4, 1], offset: 4>>
    %outerAny = memref.cast %outer : memref<3x4xi32> to memref<*xi32>
    %rowAny = memref.cast %row : memref<1x4xi32, strided<[4, 1], offset: 4>> to memref<*xi32>
    gpu.host_register %outerAny : memref<*xi32>
    gpu.host_register %rowAny : memref<*xi32>
    gpu.host_register %rowAny : memref<*xi32>
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%outer : memref<3x4xi32>, %five : i32)
    gpu.host_unregister %outerAny : memref<*xi32>
    gpu.host_unregister %rowAny : memref<*xi32>
    call @printMemrefI32(%outerAny) : (memref<*xi32>) -> ()
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%outer : memref<3x4xi32>, %seven : i32)
    call @printMemrefI32(%outerAny) : (memref<*xi32>) -> ()
    gpu.host_unregister %rowAny : memref<*xi32>
    memref.dealloc %outer : memref<3x4xi32>
    return
  }

  func.func @allocated() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %nine = arith.constant 9 : i32
    %three = arith.constant 3 : i16
    %host = memref.alloc() : memref<4xi32>
    %device = gpu.alloc () : memref<4xi32>
    gpu.memset %device, %nine : memref<4xi32>, i32
    gpu.memcpy %host, %device : memref<4xi32>, memref<4xi32>
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%device : memref<4xi32>, %nine : i32)
    gpu.dealloc %device : memref<4xi32>
    %any = memref.cast %host : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    %narrow = gpu.alloc () : memref<5xi16>
    gpu.memset %narrow, %three : memref<5xi16>, i16
    %narrowHost = memref.alloc() : memref<5xi16>
    gpu.memcpy %narrowHost, %narrow : memref<5xi16>, memref<5xi16>
    gpu.dealloc %narrow : memref<5xi16>
    %narrowAny = memref.cast %narrowHost : memref<5xi16> to memref<*xi16>
    call @printMemrefI16(%narrowAny) : (memref<*xi16>) -> ()
    memref.dealloc %host : memref<4xi32>
    memref.dealloc %narrowHost : memref<5xi16>
    return
  }

  func.func @unregistered() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1 : i32
    %five = arith.constant 5 : i32
    %host = memref.alloc() : memref<4xi32>
    %any = memref.cast %host : memref<4xi32> to memref<*xi32>
    linalg.fill ins(%one : i32) outs(%host : memref<4xi32>)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%host : memref<4xi32>, %five : i32)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    return
  }

  func.func @missing() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@gone blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }

  func.func @arguments() {
    %c1 = arith.constant 1 : index
    %five = arith.constant 5 : i32
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%five : i32)
    return
  }

  func.func @block() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %five = arith.constant 5 : i32
    %device = gpu.alloc () : memref<4xi32>
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%device : memref<4xi32>, %five : i32)
    gpu.dealloc %device : memref<4xi32>
    return
  }

  func.func @strided() {
    %host = memref.alloc() : memref<4x8xi32>
    %half = memref.subview %host[0, 0] [4, 4] [1, 1] : memref<4x8xi32> to memref<4x4xi32, strided<[8, 1]>>
    %any = memref.cast %half : memref<4x4xi32, strided<[8, 1]>> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    return
  }

  func.func @twice() {
    %host = memref.alloc() : memref<4xi32>
    %any = memref.cast %host : memref<4xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.host_unregister %any : memref<*xi32>
    gpu.host_unregister %any : memref<*xi32>
    return
  }

  func.func @ordinal() {
    %c1 = arith.constant 1 : i32
    gpu.set_default_device %c1
    return
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
  func.func private @printMemrefI16(memref<*xi16>) attributes {llvm.emit_c_interface}
}
