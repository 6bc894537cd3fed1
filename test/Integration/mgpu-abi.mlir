// The entry points that MLIR declares in the host's LLVM IR have the signatures
// of KimiMlaGate/Runtime/MgpuABI.h, and the runtime exports each of them.
//
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-rocdl{chipset=gfx950 runtime=HIP use-bare-ptr-memref-call-conv=true},reconcile-unrealized-casts),rocdl-attach-target{chip=gfx950},gpu-to-llvm{use-bare-pointers-for-kernels=true},convert-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=isa})' \
// RUN:   | mlir-translate --mlir-to-llvmir -o %t.ll
// RUN: grep -o "declare .*@mgpu.*" %t.ll | sort | FileCheck %s --implicit-check-not=declare
//
// CHECK:      declare ptr @mgpuEventCreate()
// CHECK-NEXT: declare ptr @mgpuMemAlloc(i64, ptr, i8)
// CHECK-NEXT: declare ptr @mgpuModuleGetFunction(ptr, ptr)
// CHECK-NEXT: declare ptr @mgpuModuleLoadJIT(ptr, i32)
// CHECK-NEXT: declare ptr @mgpuStreamCreate()
// CHECK-NEXT: declare void @mgpuEventDestroy(ptr)
// CHECK-NEXT: declare void @mgpuEventRecord(ptr, ptr)
// CHECK-NEXT: declare void @mgpuLaunchKernel(ptr, i64, i64, i64, i64, i64, i64, i32, ptr, ptr, ptr, i64)
// CHECK-NEXT: declare void @mgpuMemFree(ptr, ptr)
// CHECK-NEXT: declare void @mgpuMemHostRegisterMemRef(i64, ptr, i64)
// CHECK-NEXT: declare void @mgpuMemHostUnregisterMemRef(i64, ptr, i64)
// CHECK-NEXT: declare void @mgpuMemcpy(ptr, ptr, i64, ptr)
// CHECK-NEXT: declare void @mgpuMemset16(ptr, i16, i64, ptr)
// CHECK-NEXT: declare void @mgpuMemset32(ptr, i32, i64, ptr)
// CHECK-NEXT: declare void @mgpuModuleUnload(ptr)
// CHECK-NEXT: declare void @mgpuSetDefaultDevice(i32)
// CHECK-NEXT: declare void @mgpuStreamDestroy(ptr)
// CHECK-NEXT: declare void @mgpuStreamSynchronize(ptr)
// CHECK-NEXT: declare void @mgpuStreamWaitEvent(ptr, ptr)
//
// The same for the loading of a binary object.
// RUN: mlir-translate --mlir-to-llvmir %S/Inputs/binary-object.mlir | FileCheck %s --check-prefix=LOAD
// LOAD: declare ptr @mgpuModuleLoad(ptr, i64)
//
// Only these and the device interface are visible.
// RUN: llvm-nm -D --defined-only -C %kimi_lib/libkimi_gpu_runtime.so | FileCheck %s --check-prefix=EXPORTS
// RUN: llvm-nm -D --defined-only -C %kimi_lib/libkimi_gpu_runtime.so | grep " T " | not grep -v "mgpu\|kimi::runtime"
// EXPORTS-DAG: T mgpuEventCreate
// EXPORTS-DAG: T mgpuEventDestroy
// EXPORTS-DAG: T mgpuEventRecord
// EXPORTS-DAG: T mgpuEventSynchronize
// EXPORTS-DAG: T mgpuLaunchClusterKernel
// EXPORTS-DAG: T mgpuLaunchKernel
// EXPORTS-DAG: T mgpuMemAlloc
// EXPORTS-DAG: T mgpuMemFree
// EXPORTS-DAG: T mgpuMemGetDeviceMemRef1dFloat
// EXPORTS-DAG: T mgpuMemGetDeviceMemRef1dInt32
// EXPORTS-DAG: T mgpuMemHostRegister{{$}}
// EXPORTS-DAG: T mgpuMemHostRegisterMemRef
// EXPORTS-DAG: T mgpuMemHostUnregister{{$}}
// EXPORTS-DAG: T mgpuMemHostUnregisterMemRef
// EXPORTS-DAG: T mgpuMemcpy
// EXPORTS-DAG: T mgpuMemset16
// EXPORTS-DAG: T mgpuMemset32
// EXPORTS-DAG: T mgpuModuleGetFunction
// EXPORTS-DAG: T mgpuModuleLoad{{$}}
// EXPORTS-DAG: T mgpuModuleLoadJIT
// EXPORTS-DAG: T mgpuModuleUnload
// EXPORTS-DAG: T mgpuSetDefaultDevice
// EXPORTS-DAG: T mgpuStreamCreate
// EXPORTS-DAG: T mgpuStreamDestroy
// EXPORTS-DAG: T mgpuStreamSynchronize
// EXPORTS-DAG: T mgpuStreamWaitEvent

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%out: memref<4xi32>, %value: i32) kernel { gpu.return }
  }
  func.func @memory(%host: memref<4xi32>, %any: memref<*xi32>, %word: i32, %half: i16) {
    %c1 = arith.constant 1 : index
    gpu.set_default_device %word
    gpu.host_register %any : memref<*xi32>
    %t0 = gpu.wait async
    %wide, %t1 = gpu.alloc async [%t0] () : memref<4xi32>
    %t2 = gpu.memset async [%t1] %wide, %word : memref<4xi32>, i32
    %t3 = gpu.memcpy async [%t2] %host, %wide : memref<4xi32>, memref<4xi32>
    %t4 = gpu.dealloc async [%t3] %wide : memref<4xi32>
    %narrow, %t5 = gpu.alloc async [%t4] () : memref<4xi16>
    %t6 = gpu.memset async [%t5] %narrow, %half : memref<4xi16>, i16
    %t7 = gpu.dealloc async [%t6] %narrow : memref<4xi16>
    gpu.wait [%t7]
    gpu.host_unregister %any : memref<*xi32>
    return
  }
  // A stream that waits for two others.
  func.func @streams(%memory: memref<4xi32>, %word: i32) {
    %c1 = arith.constant 1 : index
    %a0 = gpu.wait async
    %a1 = gpu.launch_func async [%a0] @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%memory : memref<4xi32>, %word : i32)
    %b0 = gpu.wait async
    %b1 = gpu.launch_func async [%b0] @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%memory : memref<4xi32>, %word : i32)
    %c = gpu.wait async [%a1, %b1]
    gpu.wait [%c]
    return
  }
}
