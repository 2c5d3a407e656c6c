# SPDX-License-Identifier: MIT
"""The text that the small model is trained on, and its tokenizer.

The text is what every Debian carries in /usr/share/common-licenses (package base-files): licences. Their
hard line breaks are undone: one paragraph becomes one line. FILES pins what was read, by SHA-256.

The tokenizer is llama's (SentencePiece form): a blank is written U+2581, any character without a token
of its own becomes byte tokens, and encode() merges by the best score first as llama.cpp does. Scores are
the order in which byte pair encoding found the tokens, so that the two agree.
"""
import collections
import hashlib
import re
import sys

FOLDER = "/usr/share/common-licenses"
FILES = {
    "Apache-2.0":
        "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
    "Artistic":
        "b7fd9b73ea99602016a326e0b62e6646060d18febdd065ceca8bb482208c3d88",
    "BSD":
        "5d588eb3b157d52112afea935c88a7ff9efddc1e2d95a42c25d3b96ad9055008",
    "CC0-1.0":
        "a2010f343487d3f7618affe54f789f5487602331c0a8d03f49e9a7c547cf0499",
    "GFDL-1.2":
        "d8e94ae5fdb5433fcae2961aeb1a8cf17174d6f4a0465d24bf37dd8a038bd439",
    "GFDL-1.3":
        "110535522396708cea37c72a802c5e7e81391139f5f7985631c93ef242b206a4",
    "GPL-1":
        "d77d235e41d54594865151f4751e835c5a82322b0e87ace266567c3391a4b912",
    "GPL-2":
        "8177f97513213526df2cf6184d8ff986c675afb514d4e68a404010521b880643",
    "GPL-3":
        "3972dc9744f6499f0f9b2dbf76696f2ae7ad8af9b23dde66d6af86c9dfb36986",
    "LGPL-2":
        "681e386e44a19d7d0674b4320272c90e66b6610b741e7e6305f8219c42e85366",
    "LGPL-2.1":
        "dc626520dcd53a22f727af3ee42c770e56c97a64fe3adb063799d8ab032fe551",
    "LGPL-3":
        "e3a994d82e644b03a792a930f574002658412f62407f5fee083f2555c5f23118",
    "MPL-1.1":
        "f849fc26a7a99981611a3a370e83078deb617d12a45776d6c4cada4d338be469",
    "MPL-2.0":
        "fab3dd6bdab226f1c08630b1dd917e11fcb4ec5e1e020e2c16f83a0a13863e85",
}
BLANK = "\u2581"
UNK, BOS, EOS = 0, 1, 2
FIRST_BYTE, FIRST_WORD = 3, 259
# a word that merges may not leave: letters, digits or other signs, with the blank before them
WORD = re.compile(f"{BLANK}?[A-Za-z]+|{BLANK}?[0-9]+|{BLANK}?[^A-Za-z0-9\n{BLANK}]+|\n|{BLANK}")


def documents(folder=FOLDER):
    """One string per licence: lines are paragraphs. Another edition of a file is named, not refused."""
    out = []
    for name, digest in FILES.items():
        with open(f"{folder}/{name}", "rb") as f:
            raw = f.read()
        if hashlib.sha256(raw).hexdigest() != digest:
            print(f"{folder}/{name} is not the edition that the model in the repository was trained on",
                  file=sys.stderr)
        text = raw.decode("utf-8", "replace").replace("\f", "\n")
        paragraphs = (" ".join(p.split()) for p in re.split(r"\n[ \t]*\n", text))
        # rules of ===== and ----- are not prose
        out.append("\n".join(q for q in (re.sub(r"[-=*_]{4,}", "", p).strip() for p in paragraphs) if q))
    return out


def marked(text):
    """As llama.cpp prepares it: a blank before the text, every blank marked."""
    return BLANK + text.replace(" ", BLANK)


def train_vocab(docs, size):
    """Byte pair encoding: single characters first, then the most frequent pair, again and again."""
    words = collections.Counter(w for d in docs for w in WORD.findall(marked(d)) if w != "\n")
    chars = collections.Counter()
    for w, n in words.items():
        for c in w:
            chars[c] += n
    alphabet = sorted((c for c in set(chars) | {chr(c) for c in range(33, 127)} if ord(c) < 127 or chars[c] > 20),
                      key=lambda c: (-chars[c], c))
    merges, split = [], {w: list(w) for w in words}
    while FIRST_WORD + len(alphabet) + len(merges) < size:
        pairs = collections.Counter()
        for w, s in split.items():
            for a, b in zip(s, s[1:]):
                pairs[a, b] += words[w]
        # two ways to the same token are one token
        pairs = {p: n for p, n in pairs.items() if p[0] + p[1] not in merges}
        a, b = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(a + b)
        for w, s in split.items():
            i, t = 0, []
            while i < len(s):
                if i + 1 < len(s) and s[i] == a and s[i + 1] == b:
                    t.append(a + b)
                    i += 2
                else:
                    t.append(s[i])
                    i += 1
            split[w] = t
    return merges + alphabet


class Tokenizer:
    """words: the tokens from FIRST_WORD on, best score first."""

    def __init__(self, words):
        self.words = words
        self.id = {w: FIRST_WORD + i for i, w in enumerate(words)}
        self.known = {}
        self.size = FIRST_WORD + len(words)

    def scores(self):
        return [0.0] * FIRST_WORD + [-float(i) for i in range(len(self.words))]

    def _word(self, word):
        s = list(word)
        while True:
            best, at = None, 0
            for i in range(len(s) - 1):
                t = self.id.get(s[i] + s[i + 1])
                if t is not None and (best is None or t < best):        # the leftmost of equals
                    best, at = t, i
            if best is None:
                break
            s[at:at + 2] = [s[at] + s[at + 1]]
        out = []
        for piece in s:
            t = self.id.get(piece)
            out += [t] if t is not None else [FIRST_BYTE + b for b in piece.encode()]
        return out

    def encode(self, text):
        out = []
        for w in WORD.findall(marked(text)):
            if w not in self.known:
                self.known[w] = self._word(w)
            out += self.known[w]
        return out

    def decode(self, ids):
        raw = b""
        for t in ids:
            if t >= FIRST_WORD:
                raw += self.words[t - FIRST_WORD].encode()
            elif t >= FIRST_BYTE:
                raw += bytes([t - FIRST_BYTE])
        return raw.decode("utf-8", "replace").replace(BLANK, " ")
