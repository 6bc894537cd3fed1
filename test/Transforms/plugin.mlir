// kimi-opt, its link mlir-opt, and the plugin in stock mlir-opt do the same.

// Stock mlir-opt has no sanitizer for the plugin to use.
// UNSUPPORTED: sanitizers

// RUN: kimi-opt --kimi-mla-gate-fuse %source/examples/kimi_k3_tp8.mlir -o %t.tool
// RUN: mlir-opt --kimi-mla-gate-fuse %source/examples/kimi_k3_tp8.mlir -o %t.link
// RUN: mlir-opt-22 --load-pass-plugin=%kimi_lib/KimiMlaGatePlugin.so --pass-pipeline='builtin.module(kimi-mla-gate-fuse)' %source/examples/kimi_k3_tp8.mlir -o %t.plugin
// RUN: cmp %t.tool %t.link
// RUN: cmp %t.tool %t.plugin
// RUN: FileCheck %s <%t.plugin
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_f32::

// So it does with the whole path, translation and linking included.
// RUN: kimi-opt --kimi-mla-gate-pipeline %source/examples/kimi_k3_tp8.mlir -o %t.tool
// RUN: mlir-opt-22 --load-pass-plugin=%kimi_lib/KimiMlaGatePlugin.so --pass-pipeline='builtin.module(kimi-mla-gate-pipeline)' %source/examples/kimi_k3_tp8.mlir -o %t.plugin
// RUN: cmp %t.tool %t.plugin

// Both need the shared LLVM and MLIR, and bring no copy of their own.
// RUN: llvm-readelf -d %kimi_lib/KimiMlaGatePlugin.so | FileCheck --check-prefix=NEEDED %s
// NEEDED-DAG: Shared library: [libMLIR.so.22.1]
// NEEDED-DAG: Shared library: [libLLVM.so.22.1]
