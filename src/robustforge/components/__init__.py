"""The parts that heuristics are made of: one file per slot, each a dataclass with its compiled behaviour beside it."""

from robustforge.components.baseline import Baseline, Constriction, Inertia
from robustforge.components.clamp import Clamp, NoClamp, WidthClamp
from robustforge.components.descent import DescentDirections
from robustforge.components.inner import Inner, InnerForm, InnerGa, InnerPso, RandomSampling, SurfaceSampling
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
from robustforge.components.relocation import LehRelocation, RandomRelocation, Relocation

__all__ = [
    "Baseline",
    "Capability",
    "Clamp",
    "Clan",
    "Cluster",
    "Constriction",
    "DescentDirections",
    "DescentMovement",
    "DescentSearch",
    "Focal",
    "FullMovement",
    "GaussianMutation",
    "Global",
    "Hierarchical",
    "Inertia",
    "Inner",
    "InnerForm",
    "InnerGa",
    "InnerPso",
    "LehRelocation",
    "LehSearch",
    "Movement",
    "Mutation",
    "Network",
    "NoClamp",
    "NoMutation",
    "Outer",
    "PlainMovement",
    "RandomRelocation",
    "RandomSampling",
    "RelocatingMovement",
    "Relocation",
    "Ring",
    "SurfaceSampling",
    "Swarm",
    "UniformMutation",
    "VonNeumann",
    "WidthClamp",
]
