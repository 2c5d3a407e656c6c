# SPDX-License-Identifier: MIT
"""What the Ollama tests ask of a server. Python's own library only.

    client.py text DEVICE CPU MODEL TOKENS PROMPT...   the device's text against the CPU's, by the margin rule below
    client.py embed DEVICE CPU MODEL                   embeddings of both servers, as normalised mean square error
    client.py mixed URL MODEL MODEL PROMPT             three requests at once on two models, against each by itself
    client.py crowd URL SECONDS CLIENTS MODEL...       clients at once for that long; each answer against the first of its kind
    client.py say URL MODEL PROMPT TOKENS              one text; exit 1 and the server's words if it fails
    client.py start URL MODEL                          a long text: prints "started" with its first token, and how it ended
    client.py ps URL                                   a line a model: name, share of it on the GPU in percent
    client.py key IN OUT NAME NUMBER                   a GGUF with one key more; llama.pooling_type 1 (mean) is what embeddings ask for

Exit status 0: as expected; 1: not, the last line says how.

The margin rule. Device and CPU round differently, so where the CPU itself hardly prefers one token, the device may take
another. A token that differs is right when the CPU gives it at most MARGIN nats less than its own choice. From there both go on
from the CPU's text, so that all tokens are compared, not only those before the first that differs.
"""
import json
import struct
import sys
import threading
import time
import urllib.error
import urllib.request

MARGIN = 0.1


def ask(url, path, body=None, timeout=240):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as r:
            return json.load(r)
    except urllib.error.HTTPError as e:
        raise RuntimeError(e.read().decode(errors="replace").strip()) from None


def generate(url, model, prompt, tokens, **more):
    body = {"model": model, "prompt": prompt, "raw": True, "stream": False,
            "options": {"temperature": 0, "num_predict": tokens, "seed": 1}}
    body.update(more)
    r = ask(url, "/api/generate", body)
    if "error" in r:
        raise RuntimeError(r["error"])
    return r


def tokens_of(reply):
    def of(t):  # its bytes; tokens without text of their own have none
        return bytes(t.get("bytes") or t["token"].encode())

    return [(of(t), t["logprob"], {of(c): c["logprob"] for c in t["top_logprobs"]}) for t in reply.get("logprobs", [])]


def text(device, cpu, model, tokens, prompts):
    compared = differ = 0
    worst = 0.0
    for prompt in prompts:
        reference = tokens_of(generate(cpu, model, prompt, tokens, logprobs=True, top_logprobs=20))
        if not reference:
            raise RuntimeError("the CPU server gives no tokens")
        done = 0
        while done < len(reference):
            # the CPU's text so far; its bytes may end inside a character, then one token more belongs to the prompt
            head = b"".join(t[0] for t in reference[:done])
            try:
                head = head.decode()
            except UnicodeDecodeError:
                done += 1
                continue
            mine = tokens_of(generate(device, model, prompt + head, len(reference) - done, logprobs=True, top_logprobs=1))
            same = 0
            while same < min(len(mine), len(reference) - done) and mine[same][0] == reference[done + same][0]:
                same += 1
            compared += same
            done += same
            if done == len(reference) or (same and same == len(mine)):
                continue
            other = mine[same][0] if mine else b"the end"
            _, best, top = reference[done]
            if other not in top:
                raise RuntimeError(f"{prompt!r}, token {done}: {other!r} is not among the CPU's twenty best")
            margin = best - top[other]
            worst = max(worst, margin)
            if margin > MARGIN:
                raise RuntimeError(f"{prompt!r}, token {done}: {other!r} where the CPU prefers {reference[done][0]!r} by {margin:.3f} nats")
            differ += 1
            compared += 1
            done += 1
    print(f"{compared} tokens, {differ} differ where the CPU's own margin is at most {worst:.3f} nats (bound {MARGIN})")


def embed(device, cpu, model):
    lines = ["You may copy and distribute verbatim copies", "This License does not apply", "A cat is a small animal that sleeps",
             "Redistributions of source code must retain the above copyright notice"]
    a, b = (ask(u, "/api/embed", {"model": model, "input": lines})["embeddings"] for u in (device, cpu))
    error = max(sum((x - y) ** 2 for x, y in zip(p, q)) / sum(y * y for y in q) for p, q in zip(a, b))
    # equal texts would make any error small: the lines have to differ from each other as well
    apart = min(sum((x - y) ** 2 for x, y in zip(b[0], q)) for q in b[1:])
    print(f"{len(a)} of {len(a[0])} numbers, NMSE {error:.1e}")
    if not error < 1e-3 or not apart > 10 * error:
        raise RuntimeError(f"embeddings: NMSE {error}, distance between texts {apart}")


def together(calls):
    out = [None] * len(calls)

    def one(i):
        try:
            out[i] = calls[i]()
        except Exception as e:  # what went wrong is the answer
            out[i] = e

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def mixed(url, first, second, prompt):
    # a request by itself and one among others are other batches, whose sums are rounded otherwise: the margin rule, up to the first
    # token that differs
    jobs = [(first, prompt), (second, prompt), (first, prompt[: len(prompt) // 2])]
    say = lambda m, p: tokens_of(generate(url, m, p, 10, logprobs=True, top_logprobs=20))
    alone = [say(m, p) for m, p in jobs]
    got = together([lambda m=m, p=p: say(m, p) for m, p in jobs])
    parted = 0
    for (m, p), a, g in zip(jobs, alone, got):
        if isinstance(g, Exception):
            raise RuntimeError(f"{m}, {p!r}, beside others: {g}")
        if not a or len(a) != len(g):
            raise RuntimeError(f"{m}, {p!r}: {len(g)} tokens beside others, {len(a)} alone")
        i = next((i for i in range(len(a)) if a[i][0] != g[i][0]), None)
        if i is None:
            continue
        margin = a[i][1] - a[i][2].get(g[i][0], -99)
        if margin > MARGIN:
            raise RuntimeError(f"{m}, {p!r}, token {i}: {g[i][0]!r} beside others, {a[i][0]!r} alone, which it prefers by {margin:.3f} nats")
        parted += 1
    print(f"three requests on two models say what they say alone, {parted} up to a token that could as well be the other")


def crowd(url, seconds, clients, models):
    prompts = ["You may copy and distribute", "This License does not", "THE SOFTWARE IS PROVIDED", "Redistributions of source code must"]
    until = time.monotonic() + seconds
    count, lost = [0] * clients, []
    words = {}
    lock = threading.Lock()

    def one(i):
        n = 0
        while time.monotonic() < until:
            model, prompt = models[(i + n) % len(models)], prompts[(i * 3 + n) % len(prompts)]
            n += 1
            try:
                r = generate(url, model, prompt, 16)
            except Exception as e:
                lost.append(f"client {i}, {model}: {e}")
                continue
            if r.get("eval_count", 0) != 16:
                lost.append(f"client {i}, {model}: {r.get('eval_count')} tokens of 16")
            with lock:
                words.setdefault((model, prompt), set()).add(r["response"][:24])
            count[i] += 1

    together([lambda i=i: one(i) for i in range(clients)])
    print(f"{sum(count)} answers to {clients} clients in {seconds} s, {len(lost)} lost, {sum(len(v) for v in words.values())} texts of {len(words)} prompts")
    if lost or min(count) == 0:
        raise RuntimeError(lost[0] if lost else "a client got nothing")
    # batches round differently, but nobody gets somebody else's text
    for (model, prompt), texts in words.items():
        if len(texts) > 3:
            raise RuntimeError(f"{model}, {prompt!r}: {len(texts)} different texts: {sorted(texts)}")


def start(url, model):
    body = json.dumps({"model": model, "prompt": "You may copy and distribute", "raw": True,
                       "options": {"temperature": 0, "num_predict": 100000, "num_ctx": 512}}).encode()
    begun, how = False, "the connection ended"
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "/api/generate", body), timeout=240) as r:
            for line in r:
                m = json.loads(line)
                if "error" in m:
                    how = m["error"]
                    break
                if not begun:
                    print("started", flush=True)
                begun = True
                if m.get("done"):
                    how = "done"
    except Exception as e:
        how = str(e)
    print(" ".join(how.split()))


def key(source, target, name, number):
    """Adds a key-value behind the header's counts; tensor data is aligned anew."""
    data = open(source, "rb").read()
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", data)
    assert magic == b"GGUF" and version == 3
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def string(at):
        return at + 8 + struct.unpack_from("<Q", data, at)[0]

    def value(at, kind):
        if kind == 8:
            return string(at)
        if kind == 9:
            inner, n = struct.unpack_from("<IQ", data, at)
            at += 12
            for _ in range(n):
                at = value(at, inner)
            return at
        return at + sizes[kind]

    at = 24
    for _ in range(keys):
        at = string(at)
        at = value(at + 4, struct.unpack_from("<I", data, at)[0])
    for _ in range(tensors):
        at = string(at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4 + 8
    pair = struct.pack("<Q", len(name)) + name.encode() + struct.pack("<II", 4, int(number))
    head = struct.pack("<4sIQQ", magic, version, tensors, keys + 1) + pair + data[24:at]
    body = data[(at + 31) // 32 * 32:]
    with open(target, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + body)


def main(args):
    what, *a = args
    if what == "text":
        text(a[0], a[1], a[2], int(a[3]), a[4:])
    elif what == "embed":
        embed(*a)
    elif what == "mixed":
        mixed(*a)
    elif what == "crowd":
        crowd(a[0], float(a[1]), int(a[2]), a[3:])
    elif what == "say":
        print(generate(a[0], a[1], a[2], int(a[3]))["response"])
    elif what == "start":
        start(*a)
    elif what == "ps":
        for m in ask(a[0], "/api/ps")["models"]:
            print(m["name"], 100 * m["size_vram"] // max(m["size"], 1))
    elif what == "key":
        key(*a)
    else:
        sys.exit(__doc__)


try:
    main(sys.argv[1:])
except (RuntimeError, OSError) as e:
    print(e)
    sys.exit(1)
