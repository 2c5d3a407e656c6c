# SPDX-License-Identifier: MIT
"""Qiskit Aer: circuits whose amplitudes the device holds, in two precisions, against its CPU's; its own kernels and Thrust's, not cuStateVec's."""
import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit.library import QFT
from qiskit.quantum_info import Pauli
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, depolarizing_error

from check import check, end


def circuit(n, seed=1):
    r, q = np.random.default_rng(seed), QuantumCircuit(n)
    for _ in range(3):
        for i in range(n):
            q.u(*r.uniform(0, 2 * np.pi, 3), i)
        for i in range(n - 1):
            q.cx(i, i + 1)
        if n > 2:
            q.ccx(0, 1, 2)
            q.swap(0, n - 1)
            q.cp(0.3, 1, 2)
            q.rzz(0.7, 0, 2)
    return q


def both(name, make, method, key, near, **options):
    got = []
    for device in ("GPU", "CPU"):
        result = AerSimulator(method=method, device=device, **options).run(make(), shots=4000, seed_simulator=7).result()
        if not result.success or result.results[0].metadata["device"] != device:
            check(f"{name}: {result.status} {result.results[0].status}", False, True)
            return
        got.append(np.asarray(key(result)))
    if np.iscomplexobj(got[0]):
        got = [np.stack([g.real, g.imag]) for g in got]
    check(name, *got, near)


def saved(q, what, *words):
    getattr(q, "save_" + what)(*words)
    return q


def counts(result):
    c = result.get_counts()
    return [c.get(format(k, "05b"), 0) / 4000 for k in range(32)]


for precision, near in (("single", 2e-6), ("double", 1e-13)):
    for n in (1, 3, 9, 14):
        both(f"{precision}, amplitudes of {n}", lambda: saved(circuit(n), "statevector"), "statevector", lambda r: r.get_statevector(), near, precision=precision)
    both(f"{precision}, a Fourier transform", lambda: saved(circuit(10).compose(QFT(10).decompose(reps=3)), "statevector"), "statevector", lambda r: r.get_statevector(), near, precision=precision)
    both(f"{precision}, a density matrix", lambda: saved(circuit(5), "density_matrix"), "density_matrix", lambda r: r.data()["density_matrix"], near, precision=precision)
    both(f"{precision}, a whole matrix", lambda: saved(circuit(5), "unitary"), "unitary", lambda r: r.get_unitary(), near, precision=precision)
    both(f"{precision}, an expectation", lambda: saved(circuit(6), "expectation_value", Pauli("XYZIZX"), range(6)), "statevector", lambda r: r.data()["expectation_value"], near, precision=precision)
    both(f"{precision}, probabilities", lambda: saved(circuit(6), "probabilities", [0, 2, 5]), "statevector", lambda r: r.data()["probabilities"], near, precision=precision)


def measured():
    q = circuit(5)
    q.measure_all()
    return q


noise = NoiseModel()
noise.add_all_qubit_quantum_error(depolarizing_error(0.02, 2), ["cx"])
both("counts", measured, "statevector", counts, 0.03)
both("counts with noise", measured, "density_matrix", counts, 0.03, noise_model=noise)
both("counts with noise, shot by shot", measured, "statevector", counts, 0.04, noise_model=noise)
end()
