#!/usr/bin/env python3
"""Compares the machine model with a GPU, element by element.

    tools/model_check.py prepare TILEC DIR [--programs DIR2]
                                     no GPU: random inputs, the model's outputs, DIR/CASE.cu;
                                     DIR2: .tile files of other programs
    tools/model_check.py run DIR [--tsv FILE]
                                     nvcc, run on the same inputs, compare, one table

The model runs the very Kernel IR that is printed as CUDA. Where the order of operations is fixed
both must give the same bits; functions of CUDA's library and sums inside the tensor cores are
compared by units in the last place of the output's type and by relative Frobenius error.
Needs numpy; `run` needs torch besides, for memory and synchronisation only.
"""
import argparse, concurrent.futures, datetime, json, os, subprocess, sys
import numpy as np
import gpu_check

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "tests", "seeds")
FUNCTIONS = os.path.join(HERE, "..", "tests", "verify", "functions.tile")
EXACT = 0
# exponent and mantissa bits, and the unsigned type that holds the raw value
FLOATS = dict(float64=(11, 52, "u8"), float32=(8, 23, "u4"), float16=(5, 10, "u2"), bfloat16=(8, 7, "u2"),
              float8_e4m3=(4, 3, "u1"), float8_e5m2=(5, 2, "u1"))


class Case:
    """name, file, -D bindings; ulp: how far apart elements may be (EXACT: not at all), or None where
    only the norm counts, and `norm` is its bound."""

    def __init__(self, name, path, bind, ulp=None, norm=None, entry=None, scale=1.0):
        self.name, self.path, self.bind = name, path, bind
        self.ulp, self.norm, self.entry, self.scale = ulp, norm, entry, scale

    def arguments(self):
        quoted = {k: f"'{v}'" if k == "name" else v for k, v in self.bind.items()}
        words = [f"-D{k}={v}" for k, v in quoted.items()] + ["--arch=sm_90a", "-w"]
        return words + (["--entry=" + self.entry] if self.entry else []) + [self.path]


# The most ulp between glibc's value and CUDA's, by CUDA's own table of bounds plus one.
LIBRARY = dict(rsqrt=3, exp=3, exp2=3, exp10=3, log=2, log2=2, log10=3, log1p=2, sin=3, cos=3, tan=5, asin=3, acos=3,
               atan=3, sinh=4, cosh=3, tanh=3, asinh=4, acosh=5, atanh=4, erf=3, sigmoid=4, atan2=4, pow=5, hypot=4)
FIXED = ("floor ceil trunc round rint nearbyint sqrt abs min max fmod copysign nextafter add sub mul div fma").split()


def seed(name):
    return os.path.join(SEEDS, name + ".tile")


def products():
    """Every kind of tensor-core instruction."""
    small = dict(M=70, N=72, K=96, block_M=64, block_N=64, num_stages=2)
    for a, c, norm in [("float16", "float32", 1e-3), ("float16", "float16", 2e-3), ("bfloat16", "float32", 8e-3),
                       ("float32", "float32", 1e-6), ("float64", "float64", 1e-15), ("float8_e4m3", "float32", 4e-2),
                       ("float8_e5m2", "float32", 8e-2), ("int8", "int32", None), ("uint8", "int32", None)]:
        for k in (8, 16, 32):
            ulp = None if norm else EXACT
            yield Case(f"matmul_{a}_{c}_{k}", seed("matmul"), dict(**small, dtype=a, accum_dtype=c, block_K=k), ulp, norm)
            for branch in (False, True):
                yield Case(f"zero_{'branch' if branch else 'gemm'}_{a}_{c}_{k}", FUNCTIONS,
                           dict(dtype=a, accum_dtype=c, block_K=k, by_branch=branch), ulp, norm, entry="make_product")


def programs(directory):
    """Programs of other hands: nothing is known of their sums."""
    for file in sorted(os.listdir(directory)):
        if file.endswith(".tile"):
            yield Case(file[:-5], os.path.join(directory, file), {}, norm=1e-2)


def cases():
    yield Case("vector_add", seed("vector_add"), dict(N=1000), EXACT)
    for name in FIXED + list(LIBRARY):
        for t in ("float32", "float64", "float16"):
            if name != "nextafter" or t != "float16":
                yield Case(f"{name}_{t}", FUNCTIONS, dict(name=name, dtype=t, N=4000), LIBRARY.get(name, EXACT),
                           entry="make_function", scale=3.0)
    wide = ("float64", "float32", "float16", "bfloat16", "int32", "int8", "uint8")
    for a in wide + ("float8_e4m3", "float8_e5m2"):
        for b in wide + ("float8_e4m3", "float8_e5m2"):
            if a != b:
                yield Case(f"{a}_to_{b}", FUNCTIONS, dict(source=a, target=b, N=4000), EXACT, entry="make_conversion",
                           scale=100.0)
    yield from products()
    yield Case("matmul_ragged", seed("matmul"), dict(M=130, N=70, K=97), norm=1e-3)
    yield Case("matmul_relu", seed("matmul_relu"), dict(M=130, N=70, K=96, block_M=64, block_N=64, block_K=32), norm=1e-3)
    yield Case("matmul_bias_gelu", seed("matmul_bias_gelu"), dict(M=130, N=72, K=96), norm=1e-3)
    yield Case("softmax", seed("softmax"), dict(M=37, N=1000), ulp=2)
    yield Case("rms_norm_silu", seed("rms_norm_silu"), dict(M=37, C=320), ulp=2)
    for causal in (False, True):
        yield Case("flash_attn" + "_causal" * causal, seed("flash_attn"),
                   dict(batch=1, heads=2, seq_len=200, dim=64, is_causal=causal), norm=2e-3)
    yield Case("mla_decode", seed("mla_decode"), dict(batch=1, heads=16, kv_len=200, num_split=2), norm=2e-3,
               entry="make_mla_decode")


# -- Arrays -----------------------------------------------------------------------------------------
def random_array(rng, dtype, shape, scale):
    """In the type that a .npy file has for it: the raw bits, where numpy knows no such type."""
    normal = rng.standard_normal(shape) * scale
    if dtype == "bfloat16":
        return (normal.astype("f4").view("u4") >> 16).astype("u2")
    if dtype.startswith("float8"):
        finite = 0x7f if dtype == "float8_e4m3" else 0x7c
        return (rng.integers(0, finite if scale > 1 else finite // 2, shape) | rng.integers(0, 2, shape) << 7).astype("u1")
    if dtype.startswith("float"):
        return normal.astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(dtype)


def values(raw, dtype):
    """As float64."""
    if dtype == "bfloat16":
        return (raw.astype("u4") << 16).view("f4").astype("f8")
    if dtype.startswith("float8"):
        exponent, mantissa, _ = FLOATS[dtype]
        sign, e = np.where(raw >> 7, -1.0, 1.0), (raw >> mantissa & (1 << exponent) - 1).astype(int)
        m, bias = raw & (1 << mantissa) - 1, (1 << exponent - 1) - 1
        value = np.where(e == 0, m * 2.0 ** (1 - bias - mantissa), (1 + m * 2.0 ** -mantissa) * 2.0 ** (e - bias))
        nan = raw & 0x7f == 0x7f if dtype == "float8_e4m3" else (e == 31) & (m > 0)
        return np.where(nan, np.nan, sign * np.where((dtype == "float8_e5m2") & (e == 31), np.inf, value))
    return raw.astype("f8")


def ordered(raw, dtype):
    """Integers whose difference is the distance in units in the last place."""
    if dtype not in FLOATS:
        return raw.astype(np.longdouble)
    bits = raw.view(FLOATS[dtype][2]).astype("i8")
    top = np.int64(1) << (8 * int(FLOATS[dtype][2][1]) - 1)
    magnitude = bits & ~top if top > 0 else bits & np.int64(0x7fffffffffffffff)
    return np.where((bits & top) != 0, -magnitude, magnitude).astype(np.longdouble)


def compare(got, want, dtype):
    """The share of elements with equal bits, the largest distance in ulp, the relative norm."""
    a, b = values(got, dtype), values(want, dtype)
    nan = np.isnan(a) & np.isnan(b)
    same = (got.view("u1").reshape(got.size, -1) == want.view("u1").reshape(got.size, -1)).all(-1) | nan.reshape(-1)
    ulp = np.abs(ordered(got, dtype) - ordered(want, dtype)).reshape(-1)
    ulp = np.where(same, 0, np.where(np.isnan(a) != np.isnan(b), np.inf, ulp.reshape(a.shape)).reshape(-1))
    finite = np.isfinite(a) & np.isfinite(b)
    norm = np.linalg.norm(b[finite])
    return same.mean(), ulp.max(), np.linalg.norm((a - b)[finite]) / norm if norm else 0.0


# -- Preparing ----------------------------------------------------------------------------------------
def scalars(parameters):
    """What the call gives besides tensors."""
    return {p["name"]: 77 if p["role"] == "dimension" else 0.5 if p["dtype"].startswith("float") else 3
            for p in parameters if p["role"] != "tensor"}


def tensors(parameters):
    """(name, dtype, shape, strides in elements, is only read) of each."""
    known = scalars(parameters)
    return [(p["name"], p["dtype"], *([int(eval(d, {}, known)) for d in p[what]] for what in ("dims", "strides")), p["const"])
            for p in parameters if p["role"] == "tensor"]


def prepare_case(case, args):
    """'', or why there is no such case."""
    stem = os.path.join(args.dir, case.name)
    command = [args.tilec, "-o", stem + ".cu", "--manifest=" + stem + ".json"] + case.arguments()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[0]
    rng = np.random.default_rng(1)
    with open(stem + ".json") as f:
        parameters = json.load(f)["kernels"][0]["parameters"]
    command = [args.tilec, "verify"] + [f"-D{n}={v}" for n, v in scalars(parameters).items()]
    for name, dtype, shape, _, const in tensors(parameters):
        path = f"{stem}.{name}.npy"
        np.save(path, random_array(rng, dtype, shape, case.scale))
        command.append(f"--input={name}={path}")
        if not const:
            command.append(f"--output={name}={stem}.{name}.model.npy")
    done = subprocess.run(command + case.arguments(), capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()


def prepare(args):
    os.makedirs(args.dir, exist_ok=True)
    kept, refused = [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        chosen = [c for c in list(cases()) + list(programs(args.programs) if args.programs else []) if args.only in c.name]
        for case, why in zip(chosen, pool.map(lambda c: prepare_case(c, args), chosen)):
            refused += bool(why)
            if why:
                print(f"{case.name}: {why}")
            else:
                kept.append(case)
    with open(os.path.join(args.dir, "cases.json"), "w") as f:
        json.dump([dict(name=c.name, ulp=c.ulp, norm=c.norm) for c in kept], f)
    print(f"{len(kept)} cases prepared, {refused} not")
    return 0


# -- Running --------------------------------------------------------------------------------------------
class Strided:
    """An array on the GPU, with the strides that the kernel expects."""

    def __init__(self, torch, array, strides):
        size = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides)) if array.size else 0
        self.like, self.storage = array, np.zeros(size, array.dtype)
        self.strides = [s * array.itemsize for s in strides]
        self.view()[...] = array
        self.tensor = torch.from_numpy(self.storage.view("u1").copy()).cuda()

    def view(self):
        return np.lib.stride_tricks.as_strided(self.storage, self.like.shape, self.strides)

    def read(self):
        self.storage = self.tensor.cpu().numpy().view(self.like.dtype)
        return np.ascontiguousarray(self.view())


def run_case(torch, case, directory):
    stem = os.path.join(directory, case.name)
    kernel = gpu_check.Kernel(directory, case)
    arrays, buffers = {}, {}
    for name, dtype, _, strides, const in tensors(kernel.parameters):
        buffers[name] = Strided(torch, np.load(f"{stem}.{name}.npy"), strides)
        if not const:
            arrays[name] = (np.load(f"{stem}.{name}.model.npy"), dtype)
    kernel.bind(buffers)
    for name, value in scalars(kernel.parameters).items():
        setattr(kernel.args, name, value)
    kernel(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    rows = []
    for name, (model, dtype) in arrays.items():
        rows.append((name, dtype, model.size, *compare(buffers[name].read(), model, dtype)))
    return rows


def agrees(case, same, ulp, norm):
    if case.ulp == EXACT:
        return same == 1.0
    return ulp <= case.ulp if case.ulp is not None else norm <= case.norm


def run(args):
    import torch
    with open(os.path.join(args.dir, "cases.json")) as f:
        chosen = [Case(c["name"], None, None, c["ulp"], c["norm"]) for c in json.load(f)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        built = list(pool.map(lambda c: gpu_check.build(c, args.dir), chosen))
    bad, lines, date = 0, [], datetime.date.today().isoformat()
    for case, failure in built:
        try:
            rows = [] if failure else run_case(torch, case, args.dir)
        except Exception as e:  # a case that fails must not hide the others
            failure, rows = f"{type(e).__name__}: {e}", []
        if failure:
            bad += 1
            print(f"{case.name:32s} FAILED {failure.strip().splitlines()[0]}")
        for name, dtype, size, same, ulp, norm in rows:
            good = agrees(case, same, ulp, norm)
            bad += not good
            wanted = "bits" if case.ulp == EXACT else f"{case.ulp} ulp" if case.ulp is not None else f"norm {case.norm:.0e}"
            print(f"{case.name:32s} {name:12s} {'ok' if good else 'WRONG':6s} {size:8d} elements, {100 * same:6.2f} % the same bits, "
                  f"{ulp:.0f} ulp, norm {norm:.1e} (allowed: {wanted})")
            lines.append(f"{date}\t{torch.cuda.get_device_name()}\t{case.name}\t{name}\t{dtype}\t{size}\t{100 * same:.3f}\t{ulp:.0f}\t{norm:.1e}\t{wanted}\n")
    if args.tsv:
        with open(args.tsv, "a") as f:
            f.writelines(lines)
    print(f"{len(lines) - bad} of {len(lines)} outputs agree")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("prepare")
    p.add_argument("tilec")
    p.add_argument("dir")
    p.add_argument("--only", default="")
    p.add_argument("--programs")
    r = commands.add_parser("run")
    r.add_argument("dir")
    r.add_argument("--tsv")
    args = parser.parse_args()
    sys.exit(prepare(args) if args.command == "prepare" else run(args))


if __name__ == "__main__":
    main()
