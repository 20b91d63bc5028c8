"""The parts that heuristics are made of: one file per slot, each a dataclass with its compiled behaviour beside it."""

from robustforge.components.baseline import Baseline, Constriction, Inertia
from robustforge.components.clamp import Clamp, NoClamp, WidthClamp
from robustforge.components.coordinate import CoordinateSearch
from robustforge.components.descent import DescentDirections
from robustforge.components.final import AsItIs, Final, WorstOfFew
from robustforge.components.gradient import GradientSearch
from robustforge.components.inner import (
    Inner,
    InnerForm,
    InnerGa,
    InnerPso,
    Itself,
    RandomSampling,
    ShellPoint,
    SurfaceSampling,
)
from robustforge.components.middle import (
    FarRestart,
    NoRestart,
    RandomRestart,
    Restart,
    ReturnAverage,
    ReturnBest,
    Returned,
    ReturnMiddle,
)
from robustforge.components.movement import (
    Capability,
    DescentMovement,
    FullMovement,
    Movement,
    PlainMovement,
    RelocatingMovement,
)
from robustforge.components.mutation import GaussianMutation, Mutation, NoMutation, UniformMutation
from robustforge.components.network import (
    Clan,
    Cluster,
    Focal,
    Global,
    Hierarchical,
    Network,
    Ring,
    VonNeumann,
)
from robustforge.components.outer import DescentSearch, LehSearch, Outer, Swarm
from robustforge.components.regression import RegressionSearch
from robustforge.components.relocation import LehRelocation, RandomRelocation, Relocation
from robustforge.components.strategy import EvolutionStrategy
from robustforge.components.structure import AdditivityTest, NoTest, Structure

__all__ = [
    "AdditivityTest",
    "AsItIs",
    "Baseline",
    "Capability",
    "Clamp",
    "Clan",
    "Cluster",
    "Constriction",
    "CoordinateSearch",
    "DescentDirections",
    "DescentMovement",
    "DescentSearch",
    "EvolutionStrategy",
    "FarRestart",
    "Final",
    "Focal",
    "FullMovement",
    "GaussianMutation",
    "Global",
    "GradientSearch",
    "Hierarchical",
    "Inertia",
    "Inner",
    "InnerForm",
    "InnerGa",
    "InnerPso",
    "Itself",
    "LehRelocation",
    "LehSearch",
    "Movement",
    "Mutation",
    "Network",
    "NoClamp",
    "NoMutation",
    "NoRestart",
    "NoTest",
    "Outer",
    "PlainMovement",
    "RandomRelocation",
    "RandomRestart",
    "RandomSampling",
    "RegressionSearch",
    "RelocatingMovement",
    "Relocation",
    "Restart",
    "ReturnAverage",
    "ReturnBest",
    "ReturnMiddle",
    "Returned",
    "Ring",
    "ShellPoint",
    "Structure",
    "SurfaceSampling",
    "Swarm",
    "UniformMutation",
    "VonNeumann",
    "WidthClamp",
    "WorstOfFew",
]
