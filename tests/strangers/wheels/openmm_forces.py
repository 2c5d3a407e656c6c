# SPDX-License-Identifier: MIT
"""OpenMM's CUDA platform, which compiles its kernels by NVRTC as the program runs, against its Reference platform: forces and energies of
eighteen kinds of force in three precisions, 40 steps of six integrators. PME is cuFFT's, and Gay-Berne in doubles writes beyond its own
arrays (of floats, for doubles), which this device says."""
import numpy as np
import openmm as mm

from check import check, end

N = 90
noise = np.random.default_rng(5)
places = np.array([(i % 5, i // 5 % 5, i // 25) for i in range(N)]) * 0.35 + noise.normal(0, 0.03, (N, 3))
forces = {}


def kind(f):
    forces[f.__name__] = f
    return f


def nonbonded(s, r, method):
    f = mm.NonbondedForce()
    f.setNonbondedMethod(method)
    f.setCutoffDistance(0.9)
    for _ in range(N):
        f.addParticle(r.uniform(-0.5, 0.5), 0.25 + 0.05 * r.random(), 0.5)
    for i in range(0, N - 1, 3):
        f.addException(i, i + 1, 0, 1, 0)
    s.addForce(f)


for method in ("NoCutoff", "CutoffPeriodic", "CutoffNonPeriodic", "Ewald"):
    forces[method] = lambda s, r, m=getattr(mm.NonbondedForce, method): nonbonded(s, r, m)


def pairwise(s, expression, parameters=(), values=lambda r: []):
    f = mm.CustomNonbondedForce(expression)
    for p in parameters:
        f.addPerParticleParameter(p)
    f.setNonbondedMethod(f.CutoffPeriodic)
    f.setCutoffDistance(0.9)
    return f


@kind
def bonds(s, r):
    f = mm.HarmonicBondForce()
    for i in range(N - 1):
        f.addBond(i, i + 1, 0.15, 1000)
    s.addForce(f)


@kind
def angles(s, r):
    f = mm.HarmonicAngleForce()
    for i in range(N - 2):
        f.addAngle(i, i + 1, i + 2, 1.9, 300)
    s.addForce(f)


@kind
def torsions(s, r):
    f, g = mm.PeriodicTorsionForce(), mm.RBTorsionForce()
    for i in range(N - 3):
        f.addTorsion(i, i + 1, i + 2, i + 3, 2, 0.3, 10)
        g.addTorsion(i, i + 1, i + 2, i + 3, 1, 2, 3, 0.1, 0.2, 0.3)
    s.addForce(f)
    s.addForce(g)


@kind
def maps(s, r):
    f = mm.CMAPTorsionForce()
    f.addMap(8, [float(x) for x in r.normal(0, 1, 64)])
    for i in range(N - 5):
        f.addTorsion(0, i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3, i + 4)
    s.addForce(f)


@kind
def solvent(s, r):
    nonbonded(s, r, mm.NonbondedForce.NoCutoff)
    f = mm.GBSAOBCForce()
    for _ in range(N):
        f.addParticle(r.uniform(-0.5, 0.5), 0.15, 0.8)
    s.addForce(f)


@kind
def custom_bonds(s, r):
    f = mm.CustomBondForce("k*(r-r0)^2 + sin(r*5)*exp(-r) + step(r-0.3)*log(r+1)")
    f.addPerBondParameter("k")
    f.addPerBondParameter("r0")
    for i in range(N - 1):
        f.addBond(i, i + 1, [100 + i, 0.15])
    s.addForce(f)


@kind
def custom_pairs(s, r):
    f = pairwise(s, "q1*q2*erfc(2*r)/r + atan2(r, 0.3)*tanh(r)", ["q"])
    for _ in range(N):
        f.addParticle([r.uniform(-1, 1)])
    s.addForce(f)


@kind
def tables(s, r):
    f = pairwise(s, "fn(r) + g(r, r*2)")
    f.addTabulatedFunction("fn", mm.Continuous1DFunction(list(np.sin(np.linspace(0, 3, 30))), 0.0, 1.5))
    f.addTabulatedFunction("g", mm.Continuous2DFunction(12, 12, [float(x) for x in r.normal(0, 1, 144)], 0.0, 1.5, 0.0, 3.0))
    for _ in range(N):
        f.addParticle([])
    s.addForce(f)


@kind
def custom_solvent(s, r):
    f = mm.CustomGBForce()
    for p in ("q", "radius"):
        f.addPerParticleParameter(p)
    f.addComputedValue("I", "exp(-r*radius1)*radius2/(r + 0.1)", mm.CustomGBForce.ParticlePairNoExclusions)
    f.addComputedValue("B", "1/(1/radius - tanh(0.1*I)/(radius + 0.1))", mm.CustomGBForce.SingleParticle)
    f.addEnergyTerm("28.39*(radius + 0.14)^2*(radius/B)^6 - 68*q^2/B", mm.CustomGBForce.SingleParticle)
    f.addEnergyTerm("-137*q1*q2/sqrt(r^2 + B1*B2*exp(-r^2/(4*B1*B2)))", mm.CustomGBForce.ParticlePair)
    for _ in range(N):
        f.addParticle([r.uniform(-0.5, 0.5), 0.15])
    s.addForce(f)


@kind
def hydrogen_bonds(s, r):
    f = mm.CustomHbondForce("exp(-10*(distance(a1,d1) - 0.3)^2)*cos(angle(a1,d1,d2))^2")
    f.setNonbondedMethod(f.CutoffPeriodic)
    f.setCutoffDistance(0.8)
    for i in range(0, 40, 2):
        f.addDonor(i, i + 1, -1, [])
    for i in range(41, 80, 2):
        f.addAcceptor(i, i + 1, -1, [])
    s.addForce(f)


@kind
def triples(s, r):
    f = mm.CustomManyParticleForce(3, "1e-4*(1 + 3*cos(angle(p1,p2,p3))*cos(angle(p2,p3,p1)))/(distance(p1,p2)*distance(p1,p3)*distance(p2,p3))^2")
    f.setNonbondedMethod(f.CutoffPeriodic)
    f.setCutoffDistance(0.55)
    for _ in range(N):
        f.addParticle([], 0)
    s.addForce(f)


@kind
def centres(s, r):
    f = mm.CustomCentroidBondForce(2, "0.5*k*distance(g1, g2)^2")
    f.addPerBondParameter("k")
    f.addGroup(range(10))
    f.addGroup(range(20, 35))
    f.addBond([0, 1], [50.0])
    s.addForce(f)


@kind
def ellipsoids(s, r):
    f = mm.GayBerneForce()
    f.setNonbondedMethod(f.CutoffPeriodic)
    f.setCutoffDistance(0.9)
    for i in range(N):
        if i % 3:
            f.addParticle(0.3, 0.5, -1, -1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0)
        else:
            f.addParticle(0.3, 0.5, i + 1, i + 2, 0.1, 0.15, 0.2, 1.0, 1.2, 0.9)
    s.addForce(f)


@kind
def deviation(s, r):
    s.addForce(mm.RMSDForce([mm.Vec3(*p) for p in places + r.normal(0, 0.02, (N, 3))]))


def system():
    s = mm.System()
    for i in range(N):
        s.addParticle(12.0 if i % 3 else 16.0)
    s.setDefaultPeriodicBoxVectors((2.2, 0, 0), (0, 2.2, 0), (0, 0, 2.2))
    return s


def state(name, platform, precision):
    s = system()
    forces[name](s, np.random.default_rng(7))
    options = {"Precision": precision} if platform == "CUDA" else {}
    c = mm.Context(s, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName(platform), options)
    c.setPositions(places)
    got = c.getState(getForces=True, getEnergy=True)
    return got.getForces(asNumpy=True)._value.copy(), got.getPotentialEnergy()._value


for name in forces:
    want, energy = state(name, "Reference", None)
    for precision, tolerance in (("single", 3e-4), ("mixed", 3e-4), ("double", 1e-6)):
        if name == "ellipsoids" and precision == "double":
            continue
        got, e = state(name, "CUDA", precision)
        scale = np.abs(want).max() + 1e-9
        check(f"{name}, {precision}", got / scale, want / scale, tolerance)
        check(f"{name}, {precision}: energy", e / (abs(energy) + 1e-3), energy / (abs(energy) + 1e-3), 3 * tolerance)


def split():
    x = mm.CustomIntegrator(0.0005)
    x.addPerDofVariable("x1", 0)
    x.addUpdateContextState()
    x.addComputePerDof("v", "v + 0.5*dt*f/m")
    x.addComputePerDof("x", "x + dt*v")
    x.addComputePerDof("x1", "x")
    x.addConstrainPositions()
    x.addComputePerDof("v", "v + 0.5*dt*f/m + (x - x1)/dt")
    x.addConstrainVelocities()
    return x


for name, make in (("Verlet", lambda: mm.VerletIntegrator(0.0005)), ("Langevin", lambda: mm.LangevinMiddleIntegrator(0, 1, 0.0005)),
                   ("Brownian", lambda: mm.BrownianIntegrator(0, 100, 0.0002)), ("variable", lambda: mm.VariableVerletIntegrator(1e-5)),
                   ("Nose-Hoover", lambda: mm.NoseHooverIntegrator(100, 1, 0.0005)), ("custom", split)):
    ends = []
    for platform in ("Reference", "CUDA"):
        s, r = system(), np.random.default_rng(7)
        bonds(s, r)
        nonbonded(s, r, mm.NonbondedForce.CutoffPeriodic)
        for i in range(45, 75, 3):
            s.addConstraint(i, i + 1, float(np.linalg.norm(places[i] - places[i + 1])))
        integrator = make()
        c = mm.Context(s, integrator, mm.Platform.getPlatformByName(platform), {"Precision": "double"} if platform == "CUDA" else {})
        c.setPositions(places)
        integrator.step(40)
        ends.append(c.getState(getPositions=True).getPositions(asNumpy=True)._value.copy())
        del c
    check(f"40 steps of {name}", ends[1], ends[0], 1e-4)
end()
