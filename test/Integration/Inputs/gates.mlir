// Two gates of the production shape, and what tests need around them. Programs
// are put behind this file: `cat Inputs/gates.mlir test.mlir | kimi-opt`.

#id = affine_map<(m, n) -> (m, n)>
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// torch.sigmoid: in f32, rounded once.
func.func private @gate_f32(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
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

// The sigmoid as bf16 operations, each of which rounds.
func.func private @gate_bf16(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %result : tensor<1x1536xbf16>
}

// The projection alone, in f32.
func.func private @projection(%hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  return %sums : tensor<1x1536xf32>
}

// Prints the bits of values as integers.
func.func private @printMemrefI32(tensor<*xi32>) attributes {llvm.emit_c_interface}

func.func private @print_bf16(%values: tensor<1x1536xbf16>) {
  %empty = tensor.empty() : tensor<1x1536xi32>
  %bits = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%values : tensor<1x1536xbf16>) outs(%empty : tensor<1x1536xi32>) {
  ^bb0(%value: bf16, %unused: i32):
    %narrow = arith.bitcast %value : bf16 to i16
    %wide = arith.extui %narrow : i16 to i32
    linalg.yield %wide : i32
  } -> tensor<1x1536xi32>
  %any = tensor.cast %bits : tensor<1x1536xi32> to tensor<*xi32>
  call @printMemrefI32(%any) : (tensor<*xi32>) -> ()
  return
}

func.func private @print_f32(%values: tensor<1x1536xf32>) {
  %empty = tensor.empty() : tensor<1x1536xi32>
  %bits = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%values : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xi32>) {
  ^bb0(%value: f32, %unused: i32):
    %bits = arith.bitcast %value : f32 to i32
    linalg.yield %bits : i32
  } -> tensor<1x1536xi32>
  %any = tensor.cast %bits : tensor<1x1536xi32> to tensor<*xi32>
  call @printMemrefI32(%any) : (tensor<*xi32>) -> ()
  return
}

// Pseudo-random integers from 0 to range - 1 at (row, column), times scale,
// plus offset. The hash is the finaliser of MurmurHash3.
func.func private @random(%seed: i32, %row: index, %column: index, %range: i32, %scale: f32, %offset: f32) -> bf16 {
  %columns = arith.constant 7168 : index
  %row_start = arith.muli %row, %columns : index
  %flat = arith.addi %row_start, %column : index
  %flat32 = arith.index_cast %flat : index to i32
  %stride = arith.constant 0x9E3779B9 : i32
  %spread = arith.muli %seed, %stride : i32
  %h0 = arith.addi %flat32, %spread : i32
  %c16 = arith.constant 16 : i32
  %c13 = arith.constant 13 : i32
  %m0 = arith.constant 0x85EBCA6B : i32
  %m1 = arith.constant 0xC2B2AE35 : i32
  %s0 = arith.shrui %h0, %c16 : i32
  %h1 = arith.xori %h0, %s0 : i32
  %h2 = arith.muli %h1, %m0 : i32
  %s1 = arith.shrui %h2, %c13 : i32
  %h3 = arith.xori %h2, %s1 : i32
  %h4 = arith.muli %h3, %m1 : i32
  %s2 = arith.shrui %h4, %c16 : i32
  %h5 = arith.xori %h4, %s2 : i32
  %in_range = arith.remui %h5, %range : i32
  %float = arith.uitofp %in_range : i32 to f32
  %scaled = arith.mulf %float, %scale : f32
  %moved = arith.addf %scaled, %offset : f32
  %value = arith.truncf %moved : f32 to bf16
  return %value : bf16
}

func.func private @random_weight(%seed: i32, %range: i32, %scale: f32, %offset: f32) -> tensor<1536x7168xbf16> {
  %empty = tensor.empty() : tensor<1536x7168xbf16>
  %weight = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<1536x7168xbf16>) {
  ^bb0(%unused: bf16):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %n, %k, %range, %scale, %offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  } -> tensor<1536x7168xbf16>
  return %weight : tensor<1536x7168xbf16>
}

func.func private @random_hidden(%seed: i32, %range: i32, %scale: f32, %offset: f32) -> tensor<1x7168xbf16> {
  %empty = tensor.empty() : tensor<1x7168xbf16>
  %hidden = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<1x7168xbf16>) {
  ^bb0(%unused: bf16):
    %m = linalg.index 0 : index
    %k = linalg.index 1 : index
    %value = func.call @random(%seed, %m, %k, %range, %scale, %offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  } -> tensor<1x7168xbf16>
  return %hidden : tensor<1x7168xbf16>
}

func.func private @random_attention(%seed: i32) -> tensor<1x1536xbf16> {
  %range = arith.constant 65536 : i32
  %scale = arith.constant 3.0517578125e-05 : f32
  %offset = arith.constant -1.0 : f32
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %attention = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%unused: bf16):
    %m = linalg.index 0 : index
    %n = linalg.index 1 : index
    %value = func.call @random(%seed, %m, %n, %range, %scale, %offset) : (i32, index, index, i32, f32, f32) -> bf16
    linalg.yield %value : bf16
  } -> tensor<1x1536xbf16>
  return %attention : tensor<1x1536xbf16>
}
