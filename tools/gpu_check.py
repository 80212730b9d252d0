#!/usr/bin/env python3
"""Checks and times compiled kernels on a GPU, in one call.

    tools/gpu_check.py compile TILEC DIR [--only WORDS]   no GPU: tilec makes DIR/CASE.cu .h .json
    tools/gpu_check.py run DIR [--only WORDS] [--no-time] [--tsv FILE]
                                                          nvcc, run, compare, time, one table

Correctness: outputs are poisoned with NaN, every buffer stands between canaries, results are compared
with a reference in float64 (relative Frobenius error), and repeats must give the same bits.
Speed: the median of triton's do_bench (cold L2), each kernel right after its baseline, several
rounds; only the ratio counts. WORDS: comma list of substrings of case names.
"""
import argparse, concurrent.futures, ctypes, datetime, json, math, os, statistics, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "tests", "seeds")

CASES = []


class Case:
    """One instance: its text, its -D bindings, and what to do with it on the GPU."""

    def __init__(self, name, seed, kind, bind, repeats=50, baseline=None, target=None, entry=None,
                 flags=()):
        self.name, self.seed, self.kind, self.bind = name, seed, kind, bind
        self.repeats, self.baseline, self.target = repeats, baseline, target
        self.entry, self.flags = entry, list(flags)
        CASES.append(self)

    def command(self, tilec, directory):
        stem = os.path.join(directory, self.name)
        command = [tilec, "--arch=sm_90a", "-o", stem + ".cu", "--manifest=" + stem + ".json"]
        command += [f"-D{k}={v}" for k, v in self.bind.items()]
        command += ["--entry=" + self.entry] if self.entry else []
        return command + self.flags + [os.path.join(SEEDS, self.seed + ".tile")]


def declare():
    Case("add_4m", "vector_add", "add", dict(N=4194304))
    Case("add_ragged", "vector_add", "add", dict(N=1000003))
    schedules = [(64, 64, 32, 2, 128, False), (128, 128, 32, 2, 128, False), (128, 128, 32, 2, 128, True),
                 (128, 128, 32, 3, 128, False), (128, 128, 64, 2, 256, False), (128, 256, 32, 2, 256, False)]
    for m, n, k, s, t, w in schedules:
        knobs = dict(block_M=m, block_N=n, block_K=k, num_stages=s, threads=t, use_swizzle=w)
        tag = f"{m}_{n}_{k}_{s}_{t}" + ("_w" if w else "")
        Case(f"matmul_2048_{tag}", "matmul", "matmul", dict(M=2048, N=2048, K=2048, **knobs))
        for M, N, K in [(503, 1017, 763), (1, 1, 1), (130, 7, 33)]:
            Case(f"matmul_{M}x{N}x{K}_{tag}", "matmul", "matmul", dict(M=M, N=N, K=K, **knobs))
    Case("gelu_4096", "matmul_bias_gelu", "gelu", dict(M=4096, N=4096, K=1024), repeats=10)
    Case("relu_1024", "matmul_relu", "relu", dict(M=1024, N=1024, K=1024, block_M=128, block_N=128, block_K=64))
    Case("softmax_8192x1024", "softmax", "softmax", dict(M=8192, N=1024))
    Case("softmax_1003x1000", "softmax", "softmax", dict(M=1003, N=1000))
    for causal in (False, True):
        tag = "causal" if causal else "full"
        Case(f"attention_1024_{tag}", "flash_attn", "attention",
             dict(batch=4, heads=8, seq_len=1024, dim=64, is_causal=causal))
        Case(f"attention_1000_{tag}", "flash_attn", "attention",
             dict(batch=2, heads=4, seq_len=1000, dim=64, is_causal=causal))
    for c in (160, 256, 320, 512, 640, 1024):
        Case(f"norm_{c}", "rms_norm_silu", "norm", dict(M=8192, C=c))
        Case(f"norm_1003x{c}", "rms_norm_silu", "norm", dict(M=1003, C=c))
    mla = dict(batch=4, heads=128, kv_len=1000, block_H=64, num_split=1, num_stages=1)
    Case("mla_1", "mla_decode", "mla", dict(**mla), entry="make_mla_decode", repeats=20)
    mla.update(num_split=3, kv_len=500)
    Case("mla_split", "mla_decode", "mla", dict(**mla), entry="make_mla_decode", repeats=20)
    mla.update(num_split=4, kv_len=150)
    Case("mla_empty_split", "mla_decode", "mla", dict(**mla), entry="make_mla_decode", repeats=20)
    Case("mla_combine", "mla_decode", "combine", dict(batch=4, heads=128, num_split=4), entry="make_mla_combine")
    declare_speed()


def both(name, seed, kind, bind, baseline, target):
    """The same instance with accurate and with approximate functions."""
    Case(name, seed, kind, bind, 3, baseline, target)
    Case(name + "_fast", seed, kind, bind, 3, baseline, target, flags=["-ffast-math"])


def declare_speed():
    big = 1 << 28
    Case("speed_add_1024", "vector_add", "add", dict(N=big, block_N=1024), 2, "torch", 0.97)
    Case("speed_add_256", "vector_add", "add", dict(N=big), 2, "torch", 0.97)
    square = dict(M=4096, N=4096, K=4096)
    Case("speed_matmul_4096_default", "matmul", "matmul", dict(**square), 5, "torch", 0.53)
    for m, n, k, s, t in [(128, 256, 32, 3, 256), (128, 256, 32, 4, 256), (256, 128, 32, 3, 256)]:
        knobs = dict(block_M=m, block_N=n, block_K=k, num_stages=s, threads=t, use_swizzle=True)
        Case(f"speed_matmul_4096_{m}_{n}_{k}_{s}_{t}", "matmul", "matmul", dict(**square, **knobs), 5, "torch", 0.57)
        Case(f"speed_matmul_2048_{m}_{n}_{k}_{s}_{t}", "matmul", "matmul",
             dict(M=2048, N=2048, K=2048, **knobs), 5, "torch", 0.65)
    for m, n, k, s, t in [(256, 128, 32, 4, 256), (128, 128, 32, 4, 128), (128, 128, 32, 3, 128), (256, 128, 64, 3, 256), (128, 128, 64, 2, 128)]:
        Case(f"speed_matmul_2048_{m}_{n}_{k}_{s}_{t}", "matmul", "matmul",
             dict(M=2048, N=2048, K=2048, block_M=m, block_N=n, block_K=k, num_stages=s, threads=t), 5, "torch", 0.65)
    for causal in (False, True):
        for bm, bn, s, t, fast in [(128, 64, 2, 128, 0), (128, 64, 2, 128, 1), (128, 64, 3, 128, 1), (64, 64, 2, 128, 1),
                                   (128, 128, 2, 128, 1), (128, 64, 2, 256, 1), (256, 64, 2, 256, 1), (128, 32, 2, 128, 1)]:
            tag = f"{'causal' if causal else 'full'}_{bm}_{bn}_{s}_{t}{'_fast' if fast else ''}"
            Case("speed_attention_" + tag, "flash_attn", "attention",
                 dict(batch=4, heads=32, seq_len=4096, dim=64, is_causal=causal, block_M=bm, block_N=bn,
                      num_stages=s, threads=t), 3, "flash", 1.05, flags=["-ffast-math"] if fast else [])
    for M, N, base, target, shapes in [(65536, 1024, "compile", 0.98, [(4, 128), (2, 64), (8, 256)]),
                                       (16384, 8192, "torch", 3.5, [(1, 128), (1, 256), (1, 512)]),
                                       (4096, 32768, "torch", 1.3, [(1, 256), (1, 512), (1, 1024)])]:
        for bm, t in shapes:
            both(f"speed_softmax_{M}x{N}_{bm}_{t}", "softmax", "softmax", dict(M=M, N=N, block_M=bm, threads=t), base, target)
    for M, C, target in [(262144, 1024, 0.9), (838856, 320, 1.4), (1677720, 160, 1.4)]:
        for bm, t in [(4, 128), (8, 128), (16, 128), (8, 256)]:
            both(f"speed_norm_{C}_{bm}_{t}", "rms_norm_silu", "norm", dict(M=M, C=C, block_M=bm, threads=t), "compile", target)


def selected(words):
    return [c for c in CASES if not words or any(w in c.name for w in words.split(","))]


# -- Compiling --------------------------------------------------------------------------------------
def compile_all(args):
    os.makedirs(args.dir, exist_ok=True)
    bad = 0
    for c in selected(args.only):
        done = subprocess.run(c.command(args.tilec, args.dir), capture_output=True, text=True)
        if done.returncode:
            bad += 1
            print(f"{c.name}: tilec gave {done.returncode}\n{done.stderr}")
    print(f"{len(selected(args.only)) - bad} cases compiled, {bad} refused")
    return 1 if bad else 0


def build(case, directory):
    stem = os.path.join(directory, case.name)
    if not os.path.exists(stem + ".cu"):
        return case, "not compiled"
    command = ["nvcc", "-O3", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v",
               "-gencode", "arch=compute_90a,code=sm_90a", stem + ".cu", "-o", stem + ".so"]
    done = subprocess.run(command, capture_output=True, text=True)
    return case, "" if done.returncode == 0 else done.stderr[-2000:]


# -- Running ------------------------------------------------------------------------------------------
class Guarded:
    """A tensor between canaries."""
    PAD = 4096

    def __init__(self, torch, shape, dtype, fill=None):
        size = math.prod(shape) * torch.empty((), dtype=dtype).element_size()
        room = (size + 255) // 256 * 256
        self.raw = torch.full((room + 2 * self.PAD,), 0xA5, dtype=torch.uint8, device="cuda")
        self.size, self.room = size, room
        self.tensor = self.raw[self.PAD:self.PAD + size].view(dtype).view(shape)
        if fill is not None:
            self.tensor.copy_(fill)
        else:
            self.poison()

    def poison(self):
        if self.tensor.is_floating_point():
            self.tensor.fill_(float("nan"))
        else:
            self.tensor.fill_(77)

    def intact(self):
        edge = self.raw[self.PAD + self.size:]
        return bool((self.raw[:self.PAD] == 0xA5).all()) and bool((edge == 0xA5).all())


def frobenius(got, want):
    got, want = got.double(), want.double()
    return float((got - want).norm() / want.norm().clamp_min(1e-30))


TOLERANCE = dict(add=1e-6, matmul=2e-3, gelu=2e-3, relu=2e-3, softmax=2e-3, norm=2e-3, attention=3e-3, mla=3e-3, combine=3e-3)


class Problem:
    """Inputs, outputs and references of a case; argument order is the manifest's."""

    def __init__(self, torch, case):
        self.torch, self.case, self.b = torch, case, case.bind
        torch.manual_seed(1)
        self.inputs, self.outputs = {}, {}
        getattr(self, "make_" + case.kind)()

    def randn(self, *shape, dtype=None, scale=1.0):
        t = self.torch
        return Guarded(t, shape, dtype or t.float16, (t.randn(shape, device="cuda") * scale).to(dtype or t.float16))

    def out(self, *shape, dtype=None):
        return Guarded(self.torch, shape, dtype or self.torch.float16)

    def make_add(self):
        n = self.b["N"]
        f32 = self.torch.float32
        self.inputs = dict(A=self.randn(n, dtype=f32), B=self.randn(n, dtype=f32))
        self.outputs = dict(C=self.out(n, dtype=f32))

    def reference_add(self):
        return dict(C=self.inputs["A"].tensor.double() + self.inputs["B"].tensor.double())

    def torch_add(self):
        a, b, c = self.inputs["A"].tensor, self.inputs["B"].tensor, self.torch.empty_like(self.outputs["C"].tensor)
        return lambda: self.torch.add(a, b, out=c)

    def make_matmul(self):
        m, n, k = (self.b[x] for x in "MNK")
        self.inputs = dict(A=self.randn(m, k), B=self.randn(k, n))
        self.outputs = dict(C=self.out(m, n))

    def product(self):
        return self.inputs["A"].tensor.double() @ self.inputs["B"].tensor.double()

    def reference_matmul(self):
        return dict(C=self.product())

    def torch_matmul(self):
        a, b, c = self.inputs["A"].tensor, self.inputs["B"].tensor, self.torch.empty_like(self.outputs["C"].tensor)
        return lambda: self.torch.mm(a, b, out=c)

    make_relu = make_matmul

    def reference_relu(self):
        return dict(C=self.product().clamp_min(0))

    def make_gelu(self):
        self.make_matmul()
        self.inputs["A"].tensor.mul_(0.2)
        self.inputs["Bias"] = self.randn(self.b["N"])

    def reference_gelu(self):
        x = self.product() + self.inputs["Bias"].tensor.double()
        return dict(C=x / (1 + (-1.5957691216 * (x + 0.044715 * x ** 3)).exp()))

    def make_softmax(self):
        self.inputs = dict(X=self.randn(self.b["M"], self.b["N"]))
        self.outputs = dict(Y=self.out(self.b["M"], self.b["N"]))

    def reference_softmax(self):
        return dict(Y=self.torch.softmax(self.inputs["X"].tensor.float(), -1))

    def torch_softmax(self):
        x = self.inputs["X"].tensor
        return lambda: self.torch.softmax(x, -1)

    def compile_softmax(self):
        x = self.inputs["X"].tensor
        f = self.torch.compile(lambda x: self.torch.softmax(x, -1))
        return lambda: f(x)

    def make_norm(self):
        self.inputs = dict(X=self.randn(self.b["M"], self.b["C"]), gamma=self.randn(self.b["C"]))
        self.outputs = dict(Y=self.out(self.b["M"], self.b["C"]))

    def norm_of(self, x, gamma):
        x = x.float()
        y = x * gamma.float() * self.torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        return y * self.torch.sigmoid(y)

    def reference_norm(self):
        return dict(Y=self.norm_of(self.inputs["X"].tensor, self.inputs["gamma"].tensor))

    def compile_norm(self):
        x, g = self.inputs["X"].tensor, self.inputs["gamma"].tensor
        f = self.torch.compile(lambda x, g: self.norm_of(x, g).half())
        return lambda: f(x, g)

    def make_attention(self):
        shape = (self.b["batch"], self.b["seq_len"], self.b["heads"], self.b["dim"])
        self.inputs = dict(Q=self.randn(*shape), K=self.randn(*shape), V=self.randn(*shape))
        self.outputs = dict(O=self.out(*shape))

    def reference_attention(self):
        t, s = self.torch, self.b["seq_len"]
        q, k, v = (self.inputs[n].tensor.transpose(1, 2) for n in "QKV")
        out = t.empty(q.shape, dtype=t.float32, device="cuda")
        pad = -s % self.b.get("block_N", 64)  # full attention counts the zero keys of the last tile
        for b in range(q.shape[0]):
            for h in range(q.shape[1]):
                kk, vv = k[b, h].float(), v[b, h].float()
                if not self.b["is_causal"] and pad:
                    kk, vv = (t.nn.functional.pad(x, (0, 0, 0, pad)) for x in (kk, vv))
                scores = q[b, h].float() @ kk.T / math.sqrt(self.b["dim"])
                if self.b["is_causal"]:
                    scores = scores.masked_fill(t.ones_like(scores).triu(1).bool(), float("-inf"))
                out[b, h] = t.softmax(scores, -1) @ vv
        return dict(O=out.transpose(1, 2))

    def flash_attention(self):
        t = self.torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q, k, v = (self.inputs[n].tensor.transpose(1, 2) for n in "QKV")

        def call():
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.b["is_causal"])
        return call

    def make_mla(self):
        t, b = self.torch, self.b
        n, h, s, split = b["batch"], b["heads"], b["kv_len"], b["num_split"]
        self.inputs = dict(Q=self.randn(n, h, 512), Q_pe=self.randn(n, h, 64), KV=self.randn(n, s, 512),
                           K_pe=self.randn(n, s, 64))
        self.outputs = dict(partial_O=self.out(split, n, h, 512, dtype=t.float32),
                            partial_lse=self.out(split, n, h, dtype=t.float32))

    def reference_mla(self):
        t, b = self.torch, self.b
        q, qp, kv, kp = (self.inputs[n].tensor.double() for n in ("Q", "Q_pe", "KV", "K_pe"))
        scores = (q @ kv.transpose(1, 2) + qp @ kp.transpose(1, 2)) / math.sqrt(576)
        length = -(-(-(-b["kv_len"] // b["num_split"])) // 64) * 64
        o, lse = (t.zeros(self.outputs[n].tensor.shape, dtype=t.float64, device="cuda") for n in ("partial_O", "partial_lse"))
        for i in range(b["num_split"]):
            part = scores[:, :, i * length:(i + 1) * length]
            if part.shape[2] == 0:
                lse[i] = float("-inf")
                continue
            lse[i] = t.logsumexp(part, -1) / math.log(2)
            o[i] = t.softmax(part, -1) @ kv[:, i * length:(i + 1) * length]
        return dict(partial_O=o, partial_lse=lse)

    def make_combine(self):
        b, f32 = self.b, self.torch.float32
        shape = (b["num_split"], b["batch"], b["heads"])
        self.inputs = dict(partial_O=self.randn(*shape, 512, dtype=f32), partial_lse=self.randn(*shape, dtype=f32, scale=3.0))
        self.inputs["partial_lse"].tensor[2] = float("-inf")
        self.outputs = dict(O=self.out(b["batch"], b["heads"], 512))

    def reference_combine(self):
        o, lse = self.inputs["partial_O"].tensor.double(), self.inputs["partial_lse"].tensor.double()
        weight = self.torch.softmax(lse * math.log(2), 0)
        return dict(O=(weight.unsqueeze(-1) * o).sum(0))

    def reference(self):
        return getattr(self, "reference_" + self.case.kind)()

    def baseline(self):
        return getattr(self, f"{self.case.baseline}_{self.case.kind}")()


C_TYPES = dict(int8=ctypes.c_int8, int16=ctypes.c_int16, int32=ctypes.c_int32, int64=ctypes.c_int64, uint8=ctypes.c_uint8,
               uint16=ctypes.c_uint16, uint32=ctypes.c_uint32, uint64=ctypes.c_uint64, float32=ctypes.c_float,
               float64=ctypes.c_double, bool=ctypes.c_bool)


class Kernel:
    def __init__(self, directory, case):
        stem = os.path.join(directory, case.name)
        entry = json.load(open(stem + ".json"))["kernels"][0]
        self.parameters, self.name = entry["parameters"], entry["name"]
        self.library = ctypes.CDLL(stem + ".so")
        self.launch = self.library[self.name + "_launch"]

        class Args(ctypes.Structure):
            _fields_ = [(p["name"], ctypes.c_void_p if p["role"] == "tensor" else C_TYPES[p["dtype"]]) for p in self.parameters]
        self.args = Args()

    def bind(self, tensors):
        for p in self.parameters:
            if p["role"] == "tensor":
                setattr(self.args, p["name"], tensors[p["name"]].tensor.data_ptr())

    def __call__(self, stream):
        status = self.launch(ctypes.byref(self.args), -1, ctypes.c_void_p(stream))
        if status:
            text = ctypes.create_string_buffer(400)
            self.library[self.name + "_explain"](status, ctypes.byref(self.args), text, ctypes.c_size_t(400))
            raise RuntimeError(f"status {status}: {text.value.decode()}")


def same_finite(torch, got, want):
    """Infinities must agree in place and sign; the rest is compared by norm."""
    inf = torch.isinf(want)
    if not bool((torch.isinf(got) == inf).all()) or not bool((got[inf].sign() == want[inf].sign()).all()):
        return float("inf")
    return frobenius(got.masked_fill(inf, 0), want.masked_fill(inf, 0))


def check(torch, case, problem, kernel, stream):
    """'' or what is wrong, and the error."""
    buffers = {**problem.inputs, **problem.outputs}
    before = {n: g.tensor.clone() for n, g in problem.inputs.items()}
    kernel.bind(buffers)
    kernel(stream)
    torch.cuda.synchronize()
    error, wrong = 0.0, []
    for name, want in problem.reference().items():
        got = problem.outputs[name].tensor
        if bool(torch.isnan(got).any()):
            wrong.append(f"{name}: {int(torch.isnan(got).sum())} elements unwritten or NaN")
        error = max(error, same_finite(torch, got.double(), want.double()))
    if not error <= TOLERANCE[case.kind]:
        wrong.append(f"error {error:.2e} > {TOLERANCE[case.kind]:.0e}")
    first = {n: g.tensor.clone() for n, g in problem.outputs.items()}
    for _ in range(case.repeats):
        for g in problem.outputs.values():
            g.poison()
        kernel(stream)
        torch.cuda.synchronize()
        if any(not torch.equal(g.tensor.view(torch.uint8), first[n].view(torch.uint8)) for n, g in problem.outputs.items()):
            wrong.append("repeats differ")
            break
    wrong += [f"{n}: canary touched" for n, g in buffers.items() if not g.intact()]
    wrong += [f"{n}: input changed" for n, t in before.items() if not torch.equal(t.view(torch.uint8), problem.inputs[n].tensor.view(torch.uint8))]
    return "; ".join(wrong), error


def time_case(case, problem, kernel, stream, rounds=3):
    from triton.testing import do_bench
    base = problem.baseline()
    own, ratios = [], []
    for _ in range(rounds):
        b = do_bench(base, warmup=10, rep=60, return_mode="median")
        t = do_bench(lambda: kernel(stream), warmup=10, rep=60, return_mode="median")
        own.append(t)
        ratios.append(b / t)
    return statistics.median(own), statistics.median(ratios), min(ratios), max(ratios)


def run_case(torch, case, args, stream):
    problem, kernel = Problem(torch, case), Kernel(args.dir, case)
    wrong, error = check(torch, case, problem, kernel, stream)
    row = dict(case=case.name, error=error, wrong=wrong)
    if case.baseline and not args.no_time and not wrong:
        ms, ratio, low, high = time_case(case, problem, kernel, stream)
        row.update(us=ms * 1e3, ratio=ratio, low=low, high=high)
    return row


def show(case, row):
    line = f"{case.name:44s} {'ok' if not row['wrong'] else 'WRONG':6s} error {row['error']:.1e}"
    if "ratio" in row:
        met = "met" if row["ratio"] >= case.target else "below"
        line += f"  {row['us']:9.1f} us  {row['ratio']:.3f} of {case.baseline} [{row['low']:.3f}-{row['high']:.3f}] target {case.target} {met}"
    print(line + (f"  {row['wrong']}" if row["wrong"] else ""), flush=True)


def run_all(args):
    import torch
    cases = selected(args.only)
    workers = max(1, (os.cpu_count() or 2) - 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        built = list(pool.map(lambda c: build(c, args.dir), cases))
    stream = torch.cuda.current_stream().cuda_stream
    device, date = torch.cuda.get_device_name(), datetime.date.today().isoformat()
    bad, rows = 0, []
    for case, failure in built:
        if failure:
            row = dict(error=float("nan"), wrong="nvcc: " + failure.strip().splitlines()[0])
            print(f"{case.name}: {failure}")
        else:
            try:
                row = run_case(torch, case, args, stream)
            except Exception as e:  # a case that fails must not hide the others
                row = dict(error=float("nan"), wrong=f"{type(e).__name__}: {e}".splitlines()[0])
        bad += bool(row["wrong"])
        rows.append((case, row))
        show(case, row)
        torch.cuda.empty_cache()
    if args.tsv:
        write_tsv(args.tsv, rows, device, date)
    print(f"{len(rows) - bad} of {len(rows)} right on {device}")
    return 1 if bad else 0


def write_tsv(path, rows, device, date):
    with open(path, "a") as f:
        for case, row in rows:
            if "ratio" in row:
                knobs = " ".join([f"{k}={v}" for k, v in case.bind.items()] + case.flags)
                f.write(f"{date}\t{device}\t{case.seed}\t{knobs}\t{row['us']:.1f}\t{case.baseline}\t{row['ratio']:.3f}\t{row['low']:.3f}\t{row['high']:.3f}\t{case.target}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    c = commands.add_parser("compile")
    c.add_argument("tilec")
    c.add_argument("dir")
    c.add_argument("--only", default="")
    r = commands.add_parser("run")
    r.add_argument("dir")
    r.add_argument("--only", default="")
    r.add_argument("--no-time", action="store_true")
    r.add_argument("--tsv")
    args = parser.parse_args()
    declare()
    sys.exit(compile_all(args) if args.command == "compile" else run_all(args))


if __name__ == "__main__":
    main()
