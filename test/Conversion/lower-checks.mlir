// RUN: kimi-opt %s --split-input-file --kimi-mla-gate-lower-checks --verify-diagnostics | FileCheck %s

// CHECK: llvm.mlir.global internal constant @[[WEIGHT:.+]]("kimi-mla-gate: weight is not contiguous\0A")
// CHECK: llvm.mlir.global internal constant @[[HIDDEN:.+]]("kimi-mla-gate: hidden is not contiguous\0A")
// CHECK-NOT: llvm.mlir.global
// CHECK: func.func @two_checks(
// CHECK: cf.cond_br %{{.+}}, ^[[SECOND:.+]], ^[[FAILED:bb[0-9]+]]
// CHECK: ^[[SECOND]]:
// CHECK: cf.cond_br %{{.+}}, ^[[THIRD:.+]], ^
// CHECK: ^[[THIRD]]:
// CHECK: cf.cond_br
// CHECK: cf.assert %{{.+}}, "not ours"
// CHECK: return
// CHECK: ^[[FAILED]]:
// CHECK: llvm.call @fflush(
// CHECK: %[[STDERR:.+]] = llvm.mlir.constant(2 : i32)
// CHECK: %[[TEXT:.+]] = llvm.mlir.addressof @[[HIDDEN]]
// CHECK: %[[SIZE:.+]] = llvm.mlir.constant(40 : i64)
// CHECK: llvm.call @write(%[[STDERR]], %[[TEXT]], %[[SIZE]])
// CHECK: %[[CODE:.+]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @_Exit(%[[CODE]])
// CHECK: llvm.unreachable
func.func @two_checks(%a: i1, %b: i1, %c: i1, %d: i1) {
  cf.assert %a, "kimi-mla-gate: hidden is not contiguous"
  cf.assert %b, "kimi-mla-gate: weight is not contiguous"
  cf.assert %c, "kimi-mla-gate: hidden is not contiguous"
  cf.assert %d, "not ours"
  return
}

// -----

func.func @structured(%a: i1, %b: i1) {
  scf.if %a {
    // expected-error @+1 {{kimi-mla-gate-lower-checks: this check is in a structured region; run convert-scf-to-cf first}}
    cf.assert %b, "kimi-mla-gate: hidden is not contiguous"
  }
  return
}

// -----

func.func private @write(f32)
func.func @taken(%a: i1) {
  // expected-error @+1 {{kimi-mla-gate-lower-checks: the program has a symbol 'write' that is not the C library's function}}
  cf.assert %a, "kimi-mla-gate: hidden is not contiguous"
  return
}

// -----

// expected-error @+1 {{redefinition of function '_Exit' of different type}}
llvm.func @_Exit(f32)
func.func @taken(%a: i1) {
  cf.assert %a, "kimi-mla-gate: hidden is not contiguous"
  return
}
