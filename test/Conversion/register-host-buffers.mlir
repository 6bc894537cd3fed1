// RUN: kimi-opt %s --kimi-mla-gate-register-host-buffers | FileCheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @in_place(
  // CHECK-SAME: %[[IN:.+]]: memref<8xbf16>, %[[OUT:.+]]: memref<8xbf16>)
  func.func @in_place(%in: memref<8xbf16>, %out: memref<8xbf16>) {
    %c1 = arith.constant 1 : index
    // CHECK: %[[A:.+]] = memref.cast %[[IN]] : memref<8xbf16> to memref<*xbf16>
    // CHECK: gpu.host_register %[[A]]
    // CHECK: %[[B:.+]] = memref.cast %[[OUT]] : memref<8xbf16> to memref<*xbf16>
    // CHECK: gpu.host_register %[[B]]
    // CHECK: %[[C:.+]] = memref.cast %[[OUT]] : memref<8xbf16> to memref<*xbf16>
    // CHECK: gpu.host_register %[[C]]
    // CHECK: gpu.launch_func @gate::@gate
    // CHECK-DAG: gpu.host_unregister %[[A]]
    // CHECK-DAG: gpu.host_unregister %[[B]]
    // CHECK-DAG: gpu.host_unregister %[[C]]
    gpu.launch_func @gate::@gate blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%in : memref<8xbf16>, %out : memref<8xbf16>, %out : memref<8xbf16>)
    // CHECK-NOT: gpu.host_register
    // CHECK: gpu.launch_func @other::@other
    gpu.launch_func @other::@other blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%in : memref<8xbf16>)
    return
  }
  gpu.module @gate attributes {kimi_mla_gate.kernel = {}} {
    gpu.func @gate(%in: memref<8xbf16>, %attention: memref<8xbf16>, %out: memref<8xbf16>) kernel {
      gpu.return
    }
  }
  gpu.module @other {
    gpu.func @other(%in: memref<8xbf16>) kernel {
      gpu.return
    }
  }
}
