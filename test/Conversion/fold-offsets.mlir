// Kernels take buffers at offset zero; the host adds the offset to the pointer.

// RUN: kimi-opt %s --kimi-mla-gate-fold-offsets | FileCheck %s
// RUN: kimi-opt %s --kimi-mla-gate-fold-offsets --kimi-mla-gate-fold-offsets | FileCheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @offset(
  // CHECK-SAME: %[[BUFFER:.+]]: memref<2x8xbf16, strided<[8, 1], offset: ?>>, %[[STATIC:.+]]: memref<2x8xbf16>)
  func.func @offset(%buffer: memref<2x8xbf16, strided<[8, 1], offset: ?>>, %static: memref<2x8xbf16>) {
    %c1 = arith.constant 1 : index
    // CHECK-DAG: %{{.+}}, %[[OFFSET:.+]], %{{.+}}:2, %{{.+}}:2 = memref.extract_strided_metadata %[[BUFFER]]
    // CHECK-DAG: %[[POINTER:.+]] = memref.extract_aligned_pointer_as_index %[[BUFFER]]
    // CHECK-DAG: %[[BYTES_PER_ELEMENT:.+]] = arith.constant 2 : index
    // CHECK: %[[BYTES:.+]] = arith.muli %[[OFFSET]], %[[BYTES_PER_ELEMENT]]
    // CHECK: %[[SUM:.+]] = arith.addi %[[POINTER]], %[[BYTES]]
    // CHECK: %[[ADDRESS:.+]] = arith.index_cast %[[SUM]] : index to i64
    // CHECK: %[[AT:.+]] = llvm.inttoptr %[[ADDRESS]]
    // CHECK: %[[MOVED:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<2x8xbf16>
    %cast = memref.cast %static : memref<2x8xbf16> to memref<2x8xbf16, strided<[8, 1], offset: ?>>
    // CHECK: gpu.launch_func @gate::@gate
    // CHECK-SAME: args(%[[MOVED]] : memref<2x8xbf16>, %[[STATIC]] : memref<2x8xbf16>)
    gpu.launch_func @gate::@gate blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%buffer : memref<2x8xbf16, strided<[8, 1], offset: ?>>, %cast : memref<2x8xbf16, strided<[8, 1], offset: ?>>)
    // Another kernel is none of this pass's business.
    // CHECK: gpu.launch_func @other::@other
    // CHECK-SAME: args(%[[BUFFER]] : memref<2x8xbf16, strided<[8, 1], offset: ?>>)
    gpu.launch_func @other::@other blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%buffer : memref<2x8xbf16, strided<[8, 1], offset: ?>>)
    return
  }
  gpu.module @gate attributes {kimi_mla_gate.kernel = {}} {
    // CHECK: gpu.func @gate(%[[IN:.+]]: memref<2x8xbf16>, %[[OUT:.+]]: memref<2x8xbf16>) workgroup(%{{.+}} : memref<4xf32, #gpu.address_space<workgroup>>) kernel
    gpu.func @gate(%in: memref<2x8xbf16, strided<[8, 1], offset: ?>>, %out: memref<2x8xbf16, strided<[8, 1], offset: ?>>)
        workgroup(%partials: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      // CHECK: memref.load %[[IN]][%{{.+}}, %{{.+}}] : memref<2x8xbf16>
      %value = memref.load %in[%c0, %c0] : memref<2x8xbf16, strided<[8, 1], offset: ?>>
      // CHECK: memref.store %{{.+}}, %[[OUT]][%{{.+}}, %{{.+}}] : memref<2x8xbf16>
      memref.store %value, %out[%c0, %c0] : memref<2x8xbf16, strided<[8, 1], offset: ?>>
      gpu.return
    }
  }
  gpu.module @other {
    // CHECK: gpu.func @other(%{{.+}}: memref<2x8xbf16, strided<[8, 1], offset: ?>>) kernel
    gpu.func @other(%in: memref<2x8xbf16, strided<[8, 1], offset: ?>>) kernel {
      gpu.return
    }
  }
}
