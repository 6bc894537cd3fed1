import os

import lit.formats
import lit.llvm

lit.llvm.initialize(lit_config, config)
from lit.llvm import llvm_config

config.name = "kimi-mla-gate"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".s"]
config.excludes = ["Inputs", "lit.cfg.py", "lit.site.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kimi_build_dir, "test")

# The tools of the build under test come first, then LLVM's own.
tools = [os.path.join(config.kimi_build_dir, "bin"), config.llvm_tools_dir]
for directory in reversed(tools):
    llvm_config.with_environment("PATH", directory, append_path=True)

config.substitutions += [
    ("%kimi_build", config.kimi_build_dir),
    ("%kimi_lib", os.path.join(config.kimi_build_dir, "lib")),
    ("%llvm_lib", config.llvm_lib_dir),
    ("%source", config.kimi_source_dir),
    ("%python", config.python_executable),
    # Runs what kimi-mla-gate-pipeline made.
    ("%mlir_run", "mlir-runner -O3 --entry-point-result=void --shared-libs="
     + ",".join([os.path.join(config.kimi_build_dir, "lib", "libkimi_gpu_runtime.so"),
                 os.path.join(config.llvm_lib_dir, "libmlir_runner_utils.so"),
                 os.path.join(config.llvm_lib_dir, "libmlir_c_runner_utils.so")])),
    # A capture must not leak from one function to the next, and a prefix that
    # no line uses is a typo.
    (r"\bFileCheck\b", "FileCheck -enable-var-scope --allow-unused-prefixes=false"),
]

# Tests leave nothing in the source folder.
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"

# A run must not depend on what the user's shell says about devices.
for name in ("KIMI_GPU_DEVICE", "KIMI_GPU_EMULATOR"):
    config.environment.pop(name, None)
if config.sanitizers:
    config.available_features.add("sanitizers")
    # LLVM's own one-time allocations are not this project's leaks.
    llvm_config.with_environment("ASAN_OPTIONS", "detect_leaks=0")
if os.path.exists(os.path.join(config.kimi_build_dir, "lib", "libkimi_gfx950_emulator.so")):
    config.available_features.add("gfx950-emulator")
