# SPDX-License-Identifier: MIT
"""PyFR, which has NVRTC compile its kernels and multiplies by cuBLASLt and kernels of GiMMiK's: a vortex carried with the flow, through sides
that are joined, by two orders. Mass, momentum and energy stay; a higher order is nearer to the flow's exact solution; single precision is near double."""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from check import check, end

n, half = 8, 10.0
here = os.path.dirname(sys.executable)
os.chdir(tempfile.mkdtemp())
at = lambda i, j: j * (n + 1) + i + 1
lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "5", '1 1 "periodic_0_l"', '1 2 "periodic_0_r"', '1 3 "periodic_1_l"', '1 4 "periodic_1_r"', '2 5 "fluid"', "$EndPhysicalNames", "$Nodes", str((n + 1) ** 2)]
lines += [f"{at(i, j)} {half * (2 * i / n - 1)} {half * (2 * j / n - 1)} 0" for j in range(n + 1) for i in range(n + 1)] + ["$EndNodes"]
elements = []
for k in range(n):
    elements += [(1, 1, at(0, k), at(0, k + 1)), (1, 2, at(n, k), at(n, k + 1)), (1, 3, at(k, 0), at(k + 1, 0)), (1, 4, at(k, n), at(k + 1, n))]
    for i in range(n):
        a, b, c, d = at(i, k), at(i + 1, k), at(i + 1, k + 1), at(i, k + 1)
        elements += [(2, 5, a, b, c), (2, 5, a, c, d)] if (i + k) % 3 == 0 else [(3, 5, a, b, c, d)]
lines += ["$Elements", str(len(elements))] + [f"{k + 1} {t} 2 {p} {p} " + " ".join(map(str, v)) for k, (t, p, *v) in enumerate(elements)] + ["$EndElements", ""]
open("flow.msh", "w").write("\n".join(lines))
subprocess.run([here + "/pyfr", "import", "flow.msh", "flow.pyfrm"], check=True, stdout=subprocess.DEVNULL)


def run(order, precision):
    open("flow.ini", "w").write(f"""[backend]
precision = {precision}
[constants]
gamma = 1.4
S = 13.5
M = 0.4
R = 1.5
[solver]
system = euler
order = {order}
[solver-time-integrator]
scheme = rk45
controller = none
tstart = 0.0
tend = 0.2
dt = 0.005
[solver-interfaces]
riemann-solver = rusanov
[solver-interfaces-line]
flux-pts = gauss-legendre
[solver-elements-quad]
soln-pts = gauss-legendre
[solver-elements-tri]
soln-pts = williams-shunn
[soln-plugin-writer]
dt-out = 0.2
basedir = .
basename = {precision}{order}-{{t:.1f}}
[soln-plugin-integrate]
nsteps = 40
file = {precision}{order}.csv
header = true
quad-deg = 9
int-rho = rho
int-rhou = rho*u
int-rhov = rho*v
int-energy = p/(gamma - 1) + 0.5*rho*(u*u + v*v)
int-off = (u - S*(y - t)*exp((1 - x*x - (y - t)*(y - t))/(2*R*R))/(2*pi*R))*(u - S*(y - t)*exp((1 - x*x - (y - t)*(y - t))/(2*R*R))/(2*pi*R))
[soln-ics]
rho = pow(1 - S*S*M*M*(gamma - 1)*exp((1 - x*x - y*y)/(R*R))/(8*gamma*pi*pi), 1/(gamma - 1))
u = S*y*exp((1 - x*x - y*y)/(2*R*R))/(2*pi*R)
v = 1 - S*x*exp((1 - x*x - y*y)/(2*R*R))/(2*pi*R)
p = 1/(gamma*M*M)*pow(1 - (S*S*M*M*(gamma - 1)*exp((1 - x*x - y*y)/(R*R)))/(8*gamma*pi*pi), gamma/(gamma - 1))
""")
    subprocess.run([here + "/pyfr", "run", "-b", "cuda", "flow.pyfrm", "flow.ini"], check=True, stdout=subprocess.DEVNULL)
    table = np.loadtxt(f"{precision}{order}.csv", delimiter=",", skiprows=1)
    with h5py.File(f"{precision}{order}-0.2.pyfrs") as f:
        found = []
        f.visititems(lambda name, d: found.append(d[...].astype(np.float64).ravel()) if isinstance(d, h5py.Dataset) and d.dtype.kind == "f" and "soln" in name else None)
    return table[:, 1:], np.concatenate(found)


kept, whole = {}, {}
for order, precision in ((2, "double"), (4, "double"), (2, "single")):
    kept[order, precision], whole[order, precision] = run(order, precision)
    first, last = kept[order, precision][0, :4], kept[order, precision][-1, :4]
    check(f"order {order}, {precision}: what stays", last / first[0], first / first[0], 1e-12 if precision == "double" else 1e-5)
off = [kept[o, "double"][-1, 4] for o in (2, 4)]
check("a higher order is nearer", bool(off[1] < off[0] / 2 < 0.1), True)
check("single precision", whole[2, "single"], whole[2, "double"], 2e-5)
end()
