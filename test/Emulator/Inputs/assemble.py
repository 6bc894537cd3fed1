"""Assembles and links a file of small gfx950 kernels into a code object.

A kernel starts with a line `kernel: NAME [key=value]...` and lasts until the
next one; its other lines are assembly. Lines before the first kernel are
comments. Keys, with their defaults:

    args=1      explicit 8-byte arguments
    lds=0       static LDS, in bytes
    vgprs=16    registers, as .amdhsa_next_free_vgpr and _sgpr say
    sgprs=16
    max=1024    largest workgroup size
    required=   X,Y,Z: required workgroup size
    ids=0       .amdhsa_system_vgpr_workitem_id
    preload=0   preloaded argument dwords
    hidden=     names of hidden arguments (4 bytes each, after the others)
    mcpu        is that of all kernels: --mcpu

Kernels get the argument pointer in s[0:1] and the workgroup ids behind the user
SGPRs.
"""

import argparse
import os
import subprocess
import sys


def parse(text):
    kernels = []
    for line in text.splitlines():
        if line.startswith("kernel:"):
            words = line.split()[1:]
            options = dict(word.split("=", 1) for word in words[1:])
            kernels.append((words[0], options, []))
        elif kernels:
            kernels[-1][2].append(line)
    return kernels


def emit(kernels, mcpu):
    out = [f'.amdgcn_target "amdgcn-amd-amdhsa--{mcpu}"', ".text"]
    metadata = ["amdhsa.version: [1, 2]", "amdhsa.kernels:"]
    for name, options, body in kernels:
        args = int(options.get("args", 1))
        hidden = [h for h in options.get("hidden", "").split(",") if h]
        preload = int(options.get("preload", 0))
        size = 8 * args + 4 * len(hidden)
        size += -size % 8
        out += [f".globl {name}", ".p2align 8", f".type {name},@function", f"{name}:"]
        out += body
        out += [f".size {name}, .-{name}"]
        out += [
            '.section .rodata,"a",@progbits',
            ".p2align 6",
            f".amdhsa_kernel {name}",
            f".amdhsa_group_segment_fixed_size {options.get('lds', 0)}",
            f".amdhsa_kernarg_size {size}",
            ".amdhsa_user_sgpr_kernarg_segment_ptr 1",
            f".amdhsa_user_sgpr_kernarg_preload_length {preload}",
            ".amdhsa_system_sgpr_workgroup_id_x 1",
            ".amdhsa_system_sgpr_workgroup_id_y 1",
            ".amdhsa_system_sgpr_workgroup_id_z 1",
            f".amdhsa_system_vgpr_workitem_id {options.get('ids', 0)}",
            f".amdhsa_next_free_vgpr {options.get('vgprs', 16)}",
            f".amdhsa_next_free_sgpr {options.get('sgprs', 16)}",
            f".amdhsa_accum_offset {(int(options.get('vgprs', 16)) + 3) // 4 * 4}",
            ".end_amdhsa_kernel",
            ".text",
        ]
        metadata += [
            f"  - .name: {name}",
            f"    .symbol: {name}.kd",
            f"    .kernarg_segment_size: {size}",
            "    .kernarg_segment_align: 8",
            f"    .group_segment_fixed_size: {options.get('lds', 0)}",
            "    .private_segment_fixed_size: 0",
            "    .wavefront_size: 64",
            f"    .vgpr_count: {options.get('vgprs', 16)}",
            f"    .sgpr_count: {options.get('sgprs', 16)}",
            f"    .max_flat_workgroup_size: {options.get('max', 1024)}",
        ]
        if "required" in options:
            metadata += [f"    .reqd_workgroup_size: [{options['required']}]"]
        if args or hidden:
            metadata += ["    .args:"]
        for i in range(args):
            metadata += [f"      - {{.offset: {8 * i}, .size: 8, .value_kind: by_value}}"]
        for i, kind in enumerate(hidden):
            metadata += [f"      - {{.offset: {8 * args + 4 * i}, .size: 4, .value_kind: {kind}}}"]
    out += [".amdgpu_metadata", "---"] + metadata + ["...", ".end_amdgpu_metadata", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--mcpu", default="gfx950")
    options = parser.parse_args()
    with open(options.source) as file:
        kernels = parse(file.read())
    assembly, obj = options.output + ".s", options.output + ".o"
    with open(assembly, "w") as file:
        file.write(emit(kernels, options.mcpu))
    subprocess.run(
        ["llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={options.mcpu}",
         "-filetype=obj", assembly, "-o", obj], check=True)
    subprocess.run(["ld.lld", "-shared", obj, "-o", options.output], check=True)
    os.remove(obj)


if __name__ == "__main__":
    sys.exit(main())
